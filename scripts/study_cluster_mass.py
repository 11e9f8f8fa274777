"""Watch the mass of a budgeted one-class machine along a long training.

Rows that are drawn once all have the coefficient C/t, so that removal takes the oldest of equal
ones, and what is left weighs C (B + draws of rows that were there)/t, which falls: in the end
nothing is inside of the domain.
Projection hands the coefficient over, and keeps the mass. The script trains on Aggregation, or on
generated rows where its file is not found in ``DSGKIT_DATA``, each scaled to [0, 1]; it prints the
sum of the coefficients and the share of rows inside along the training, and exits with code 1
unless removal empties the domain while PNN stays as it is without a budget.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dsgkit.report.style import COLUMN_WIDTH, LOOKS, RC
from dsgkit.solvers.clustering.lmoc import BSGDLMOC, SGDLMOC, LargeMarginClustering

LENGTHS = (100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000, 20_000, 30_000)
EMPTY = 0.05
"""Share of the rows inside below which a domain counts as empty."""

CLOSE = 0.1
"""How far PNN's share may be from that without a budget."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A machine after some steps: the sum of its coefficients, and the share of rows inside."""

    mass: float
    inside: float


def scaled_rows() -> tuple[str, Array]:
    """Return the name of the rows, and the rows scaled to [0, 1]."""
    path = Path(os.environ.get("DSGKIT_DATA", "")) / "aggregation" / "Aggregation.txt"
    if path.is_file():
        name, X = "aggregation", np.loadtxt(path)[:, :2]
    else:
        rng = np.random.default_rng(0)
        centers = rng.random((7, 2))
        name = "seven generated groups"
        X = centers[rng.integers(7, size=788)] + 0.05 * rng.normal(size=(788, 2))
    return name, (X - X.min(axis=0)) / np.ptp(X, axis=0)


def machines(
    gamma: float, C: float, budget: int, n_steps: int, seed: int
) -> dict[str, LargeMarginClustering]:
    """Return what is compared, to be trained for some steps."""
    steps: dict[str, Any] = {"tol": 0.0, "max_iter": n_steps, "random_state": seed}
    models: dict[str, LargeMarginClustering] = {
        strategy: BSGDLMOC(gamma, C, budget=budget, strategy=strategy, **steps)
        for strategy in ("removal", "pnn", "prn")
    }
    return models | {"no budget": SGDLMOC(gamma, C, **steps)}


def follow(
    X: Array, gamma: float, C: float, budget: int, lengths: list[int], seeds: int
) -> dict[str, list[Point]]:
    """Return the means over the seeds after each number of steps, for each machine."""
    curves: dict[str, list[Point]] = {}
    for n_steps in lengths:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(seeds):
            for name, model in machines(gamma, C, budget, n_steps, seed).items():
                f = model.fit_domain(X).decision_function(X)
                found.setdefault(name, []).append((model.mass_, float(np.mean(f >= 0))))
        for name, pairs in found.items():
            curves.setdefault(name, []).append(Point(*np.mean(pairs, axis=0)))
    return curves


def draw(curves: dict[str, list[Point]], lengths: list[int], path: Path) -> None:
    """Draw the mass and the share inside against the steps."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.6), layout="constrained")
        mass, inside = figure.subplots(1, 2)
        for (name, points), look in zip(curves.items(), LOOKS, strict=False):
            line = {"color": look.color, "marker": look.marker, "ls": look.linestyle, "ms": 3}
            mass.semilogx(lengths, [p.mass for p in points], label=name, **line)
            inside.semilogx(lengths, [p.inside for p in points], label=name, **line)
        mass.set(xlabel="steps", ylabel=r"$\sum_i \alpha_i$", ylim=(0, None))
        inside.set(xlabel="steps", ylabel="share of rows inside", ylim=(-0.02, 1.02))
        mass.legend()
        figure.savefig(path, dpi=200)


@click.command(help=__doc__)
@click.option("--gamma", default=8.0, show_default=True)
@click.option("--c", "C", default=32.0, show_default=True)
@click.option("--budget", default=50, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--most", default=LENGTHS[-1], show_default=True, help="Largest number of steps.")
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw it here.")
def main(gamma: float, C: float, budget: int, seeds: int, most: int, figure: Path | None) -> None:
    """Print the mass and the share inside after growing numbers of steps."""
    name, X = scaled_rows()
    lengths = [n for n in LENGTHS if n <= most]
    curves = follow(X, gamma, C, budget, lengths, seeds)
    click.echo(f"{name}: {len(X)} rows, gamma {gamma:g}, C {C:g}, budget {budget}, {seeds} seeds")
    click.echo("sum of the coefficients, and share of rows inside")
    click.echo("  steps" + "".join(f"{name:>18}" for name in curves))
    for row, n_steps in enumerate(lengths):
        points = [points[row] for points in curves.values()]
        click.echo(f"{n_steps:7d}" + "".join(f"{p.mass:12.2f}{p.inside:6.2f}" for p in points))
    if figure is not None:
        draw(curves, lengths, figure)
    last = {name: points[-1].inside for name, points in curves.items()}
    missed = []
    if last["removal"] > EMPTY:
        missed.append("removal has not emptied the domain")
    if abs(last["pnn"] - last["no budget"]) > CLOSE:
        missed.append("PNN is not as without a budget")
    if missed:
        click.echo(f"missed: {'; '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

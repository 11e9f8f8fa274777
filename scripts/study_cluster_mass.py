"""Watch the mass of a budgeted one-class machine along a long training.

Rows that are drawn once all have the coefficient C/t, so that removal takes the oldest of equal
ones, and what is left weighs C (B + draws of rows that were there)/t, which falls: fewer rows are
inside of the domain, in the end often none. Projection hands the coefficient over, and keeps the
mass.

The script trains on a dataset in the plane, or on generated rows where its file is not found in
``DSGKIT_DATA``, each scaled to [0, 1]; it prints the sum of the coefficients and the share of rows
inside along the training, means over seeds, and how far the objective of the last iterate is above
its minimum, by the dual quadratic program. It exits with code 1 unless removal loses many rows
while PNN stays as it is without a budget. The figure shows the mass and the share, and the range
over the seeds; a JSON file has both of every seed, and by how much of the minimum the objective is
above it.
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
from kept import json_option, write_json
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from dsgkit.qp import solve_qp
from dsgkit.report.style import DPI, LOOKS, PAGE_WIDTH, RC
from dsgkit.solvers.clustering.lmoc import BSGDLMOC, SGDLMOC, LargeMarginClustering

FILES = {"aggregation": "aggregation/Aggregation.txt", "jain": "jain/jain.txt"}
LENGTHS = (100, 150, 200, 300, 500, 700, 1000, 2000, 3000, 5000, 10_000, 20_000, 30_000)
TITLES = {"removal": "Removal", "pnn": "PNN", "prn": "PRN", "no budget": "No budget"}
LOST = 0.3
"""Of the rows, how many more must have been inside with PNN than with removal in the end."""

CLOSE = 0.1
"""How far PNN's share may be from that without a budget."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A machine along its training, by numbers of steps and by seeds.

    Attributes
    ----------
    mass, inside, objective : ndarray of shape (n_lengths, n_seeds)
        The sum of its coefficients, the share of rows inside, and the value of the objective.
    """

    mass: Array
    inside: Array
    objective: Array


def scaled_rows(dataset: str) -> tuple[str, Array]:
    """Return the name of the rows, and the rows scaled to [0, 1]."""
    path = Path(os.environ.get("DSGKIT_DATA", "")) / FILES[dataset]
    if path.is_file():
        name, X = dataset, np.loadtxt(path)[:, :2]
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
) -> dict[str, Curve]:
    """Return the curve of each machine."""
    shape = len(lengths), seeds
    curves: dict[str, Curve] = {}
    for place in np.ndindex(shape):
        for name, model in machines(gamma, C, budget, lengths[place[0]], place[1]).items():
            curve = curves.setdefault(name, Curve(*(np.empty(shape) for _ in range(3))))
            curve.inside[place] = np.mean(model.fit_domain(X).decision_function(X) >= 0)
            curve.mass[place] = model.mass_
            curve.objective[place] = model.diagnostics(X)["objective"]
    return curves


def minimum(X: Array, gamma: float, C: float) -> float:
    """Return the least value of the objective: that of its dual, which has no gap."""
    n = len(X)
    K = rbf_kernel(X, gamma=gamma)
    box = sparse.vstack([-sparse.eye_array(n), sparse.eye_array(n)])
    limits = np.concatenate([np.zeros(n), np.full(n, C / n)])
    none = sparse.csc_array((0, n)), np.empty(0)
    alpha = solve_qp(sparse.csc_array(K), -np.ones(n), none, (box, limits), dense=True)
    return float(alpha.sum() - alpha @ K @ alpha / 2)


def draw(curves: dict[str, Curve], lengths: list[int], path: Path) -> None:
    """Draw the mass and the share inside against the steps: means, and ranges over the seeds."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(PAGE_WIDTH, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (name, curve), look in zip(curves.items(), LOOKS, strict=False):
            line = {"color": look.color, "marker": look.marker, "ls": look.linestyle, "ms": 3.5}
            if name == "no budget":  # a band, on which the line that keeps to it is seen
                line |= {"ls": "-", "marker": "", "lw": 4, "alpha": 0.45, "zorder": 1}
            for axes, values in ((left, curve.mass), (right, curve.inside)):
                axes.plot(lengths, values.mean(axis=1), label=TITLES[name], **line)
                low, high = values.min(axis=1), values.max(axis=1)
                axes.fill_between(lengths, low, high, color=look.color, alpha=0.12, lw=0)
        left.set(ylabel="Sum of the coefficients", ylim=(0, None))
        right.set(ylabel="Share of rows inside", ylim=(-0.02, 1.02))
        for axes, place in ((left, "a"), (right, "b")):
            axes.set(xscale="log", xlabel="Steps", xlim=(0.9 * lengths[0], 1.1 * lengths[-1]))
            axes.set_title(f"({place})", loc="left")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
        figure.savefig(path, dpi=DPI)


@click.command(help=__doc__)
@click.option("--dataset", type=click.Choice(list(FILES)), default="aggregation", show_default=True)
@click.option("--gamma", default=8.0, show_default=True)
@click.option("--c", "C", default=32.0, show_default=True)
@click.option("--budget", default=50, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--most", default=LENGTHS[-1], show_default=True, help="Largest number of steps.")
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw it here.")
@json_option
def main(
    dataset: str,
    gamma: float,
    C: float,
    budget: int,
    seeds: int,
    most: int,
    figure: Path | None,
    json_file: Path | None,
) -> None:
    """Print the mass and the share inside after growing numbers of steps."""
    name, X = scaled_rows(dataset)
    lengths = [n for n in LENGTHS if n <= most]
    curves = follow(X, gamma, C, budget, lengths, seeds)
    least = minimum(X, gamma, C)
    click.echo(f"{name}: {len(X)} rows, gamma {gamma:g}, C {C:g}, budget {budget}, {seeds} seeds")
    click.echo("sum of the coefficients, share of rows inside, and objective above its minimum")
    click.echo("  steps" + "".join(f"{name:>24}" for name in curves))
    for row, n_steps in enumerate(lengths):
        columns = [
            f"{c.mass[row].mean():8.2f}{c.inside[row].mean():6.2f}"
            f"{c.objective[row].mean() / least - 1:10.1e}"
            for c in curves.values()
        ]
        click.echo(f"{n_steps:7d}" + "".join(columns))
    numbers = {
        "rows": name,
        "n_rows": len(X),
        "steps": lengths,
        "mass": {key: curve.mass.T for key, curve in curves.items()},
        "inside": {key: curve.inside.T for key, curve in curves.items()},
        "above_minimum": {key: curve.objective.T / least - 1 for key, curve in curves.items()},
    }
    write_json(json_file, "study_cluster_mass", numbers)
    if figure is not None:
        draw(curves, lengths, figure)
    last = {name: curve.inside[-1].mean() for name, curve in curves.items()}
    missed = []
    if last["removal"] > last["pnn"] - LOST:
        missed.append("removal has kept its rows")
    if abs(last["pnn"] - last["no budget"]) > CLOSE:
        missed.append("PNN is not as without a budget")
    if missed:
        click.echo(f"missed: {'; '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

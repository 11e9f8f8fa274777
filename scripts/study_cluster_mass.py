"""Follow the mass of a budgeted one-class machine along a long training.

Rows that are drawn once all have the coefficient C/t, so removal takes the oldest of them. The rest
weighs C (B + repeated draws of kept rows)/t, which falls: fewer rows are inside the domain, in the
end often none. Projection transfers the coefficient to others, and keeps the mass.

The script trains on a dataset in the plane, or on generated rows if its file is missing in
``DSGKIT_DATA``, scaled to [0, 1]. It prints means over seeds of the sum of the coefficients and of
the share of rows inside along the training, and the excess of the last iterate's objective over its
minimum, by the dual quadratic program. It exits with code 1 unless removal loses many rows while
PNN stays as without a budget. The figure shows the mass and the share, with ranges over the seeds;
a JSON file has both for every seed, and the relative excess of the objective.

Theorem 7 of the paper bounds the mean of the objectives of all iterates minus the minimum: without
maintenance by O(log T/T), with removal by an additional term for the removed coefficients. A loop
over a kernel matrix, on the rows that the machines draw, computes that mean without a budget, with
removal, and with removal of random vectors. The JSON file has means over the seeds of it and of the
bound, and the numbers of support vectors.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import numpy as np
from kept import json_option, write_json
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from dsgkit.clustering.estimators import BSGDLMOC, SGDLMOC
from dsgkit.clustering.one_class import ROWS
from dsgkit.linalg import Array, solve_qp
from dsgkit.random import draw_with_replacement
from dsgkit.report.style import DPI, LOOKS, PAGE_WIDTH, RC

FILES = {"aggregation": "aggregation/Aggregation.txt", "jain": "jain/jain.txt"}
LENGTHS = (100, 150, 200, 300, 500, 700, 1000, 2000, 3000, 5000, 10_000, 20_000, 30_000)
TITLES = {"removal": "Removal", "pnn": "PNN", "prn": "PRN", "no budget": "No budget"}
MIN_LOST_SHARE = 0.3
"""Least difference in the final share of rows inside, PNN minus removal."""

MAX_SHARE_GAP = 0.1
"""Largest difference of PNN's share to that without a budget."""


@dataclass(frozen=True)
class Curve:
    """A machine along its training, by numbers of steps and by seeds.

    Attributes
    ----------
    mass, inside, objective, support : ndarray of shape (n_lengths, n_seeds)
        The sum of its coefficients, the share of rows inside, the value of the objective, and the
        number of its support vectors.
    """

    mass: Array
    inside: Array
    objective: Array
    support: Array


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


def machines(gamma: float, C: float, budget: int, n_steps: int, seed: int) -> dict[str, SGDLMOC]:
    """Return the compared machines, to be trained for some steps."""
    steps: dict[str, Any] = {"tol": 0.0, "max_iter": n_steps, "random_state": seed}
    models: dict[str, SGDLMOC] = {
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
            curve = curves.setdefault(name, Curve(*(np.empty(shape) for _ in fields(Curve))))
            curve.inside[place] = np.mean(model.fit_domain(X).decision_function(X) >= 0)
            curve.mass[place] = model.mass_
            curve.objective[place] = model.diagnostics(X)["objective"]
            curve.support[place] = len(model.dual_coef_)
    return curves


@dataclass(frozen=True)
class Averaged:
    """The quantities of Theorem 7 along one training.

    Attributes
    ----------
    objective : ndarray of shape (n_lengths,)
        The mean of the objectives of the iterates so far.
    bound : ndarray of shape (n_lengths,)
        Bound of that mean minus the minimum.
    coefficients : ndarray of shape (n,)
        Final coefficients of all rows.
    """

    objective: Array
    bound: Array
    coefficients: Array


def averaged(
    K: Array, C: float, budget: int, strategy: str, lengths: list[int], seed: int
) -> Averaged:
    """Return the mean objective along a training, and its bound.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values of all rows.
    C : float
    budget : int
    strategy : {"none", "removal", "removal_at_random"}
        Vector to remove past the budget: none, the one with the smallest coefficient (the oldest
        of equal ones), or a random one.
    lengths : list of int
    seed : int
    """
    n, rng = len(K), np.random.default_rng(seed)
    drawn = draw_with_replacement(seed, ROWS, 0, lengths[-1], 1, n)[:, 0]
    s, values, norm = np.zeros(n), np.zeros(n), 0.0  # t w, its values and squared norm
    since = np.zeros(n, np.int64)
    total = removed = most = 0.0
    measured = []
    for t, row in enumerate(drawn, start=1):
        before = max(t - 1, 1)
        total += norm / before**2 / 2 + C * np.maximum(0, 1 - values / before).mean()
        if t == 1 or values[row] < t - 1:
            since[row] = since[row] if s[row] else t
            norm += 2 * C * values[row] + C * C
            s[row] += C
            values += C * K[row]
            support = np.flatnonzero(s)
            if strategy != "none" and len(support) > budget:
                gone = rng.choice(support)
                if strategy == "removal":
                    gone = support[np.lexsort((since[support], s[support]))[0]]
                removed, most = removed + s[gone], max(most, s[gone])
                norm += s[gone] ** 2 - 2 * s[gone] * values[gone]
                values -= s[gone] * K[gone]
                s[gone] = 0
        if t in lengths:
            measured.append((total / t, theorem_bound(C, most, removed, t)))
    objective, bound = np.array(measured).T
    return Averaged(objective, bound, s / lengths[-1])


def theorem_bound(C: float, most: float, removed: float, n_steps: int) -> float:
    """Return the right side of Theorem 7 for rows of norm 1.

    Parameters
    ----------
    C : float
    most, removed : float
        The largest and the sum of all removed ``t alpha``.
    n_steps : int
    """
    G, H = 2 * C, most  # Lemmas 3 and 5
    W = H + np.sqrt(H**2 + (G + H) ** 2)
    return float((G + H) ** 2 * (np.log(n_steps) + 1) / (2 * n_steps) + W * removed / n_steps)


def minimum(X: Array, gamma: float, C: float) -> float:
    """Return the minimum of the objective, by its dual, which has no gap."""
    n = len(X)
    K = rbf_kernel(X, gamma=gamma)
    box = sparse.vstack([-sparse.eye_array(n), sparse.eye_array(n)])
    limits = np.concatenate([np.zeros(n), np.full(n, C / n)])
    none = sparse.csc_array((0, n)), np.empty(0)
    alpha = solve_qp(sparse.csc_array(K), -np.ones(n), none, (box, limits), dense=True)
    return float(alpha.sum() - alpha @ K @ alpha / 2)


def draw(curves: dict[str, Curve], lengths: list[int], path: Path) -> None:
    """Draw the mass and the share inside against steps: means, with ranges over the seeds."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(PAGE_WIDTH, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (name, curve), look in zip(curves.items(), LOOKS, strict=False):
            line = {"color": look.color, "marker": look.marker, "ls": look.linestyle, "ms": 3.5}
            if name == "no budget":  # a band, so that a line on top of it stays visible
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
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="File of the figure."
)
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
    named = {key.replace("no budget", "none"): curve for key, curve in curves.items()}
    K = rbf_kernel(X, gamma=gamma)
    means = {
        strategy: [averaged(K, C, budget, strategy, lengths, seed) for seed in range(seeds)]
        for strategy in ("none", "removal", "removal_at_random")
    }
    numbers: dict[str, Any] = {
        "rows": name,
        "n_rows": len(X),
        "budget": budget,
        "steps": lengths,
        "mass": {key: curve.mass.T for key, curve in named.items()},
        "inside": {key: curve.inside.T for key, curve in named.items()},
        "above_minimum": {key: curve.objective.T / least - 1 for key, curve in named.items()},
        "supports": {key: curve.support.mean(axis=1) for key, curve in named.items()},
        "averaged_gaps": {
            key: np.mean([run.objective for run in runs], axis=0) - least
            for key, runs in means.items()
        },
        "bounds": {
            key: np.mean([run.bound for run in runs], axis=0) for key, runs in means.items()
        },
    }
    click.echo("mean objective of the iterates above the minimum, and the bound of Theorem 7")
    for row, n_steps in enumerate(lengths):
        columns = [
            f"{numbers['averaged_gaps'][key][row]:24.2f}{numbers['bounds'][key][row]:12.2f}"
            for key in means
        ]
        click.echo(f"{n_steps:7d}" + "".join(columns))
    write_json(json_file, "study_cluster_mass", numbers)
    if figure is not None:
        draw(curves, lengths, figure)
    last = {name: curve.inside[-1].mean() for name, curve in curves.items()}
    missed = []
    if last["removal"] > last["pnn"] - MIN_LOST_SHARE:
        missed.append("removal has kept its rows")
    if abs(last["pnn"] - last["no budget"]) > MAX_SHARE_GAP:
        missed.append("PNN is not as without a budget")
    if missed:
        click.echo(f"missed: {'; '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

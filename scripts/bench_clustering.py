"""Measure the clustering of Shuttle's 43,500 rows, and of 1,000,000 generated ones.

Times both phases of BSGDLMOC, and each stage of the second one: the function at all rows, the
trajectories of the boundary rows, the segments between equilibria, and the nearest boundary row of
all other rows. Shuttle is read from ``DSGKIT_DATA`` and standardised; without it, only generated
rows are clustered: groups on a grid, in 2 and in 9 columns. The memory is the peak above that of
the process with the rows before the fit.
"""

from __future__ import annotations

import json
import lzma
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.spatial import cKDTree

from dsgkit.clustering.domain import Domain
from dsgkit.clustering.estimators import BSGDLMOC
from dsgkit.clustering.geometry import connected, find_equilibria, labels_of_nearest
from dsgkit.experiment.timing import Clock, peak_memory, reset_peak_memory
from dsgkit.linalg import Array

STRATEGIES = ("removal", "pnn", "prn")
GROUPS = 12


def shuttle() -> Array | None:
    """Return the standardised training rows of Shuttle; None without the file."""
    path = Path(os.environ.get("DSGKIT_DATA", "")) / "shuttle" / "shuttle.trn.xz"
    if not path.is_file():
        return None
    with lzma.open(path, "rt") as lines:
        X = np.loadtxt(lines)[:, :9]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def generated(n_rows: int, n_inputs: int) -> Array:
    """Return rows of normal groups around corners of a grid, in random order."""
    rng = np.random.default_rng(0)
    corners = np.stack(np.meshgrid(*[np.arange(-2.0, 3)] * 2), axis=-1).reshape(-1, 2)
    centers = np.zeros((GROUPS, n_inputs))
    centers[:, :2] = 2 * rng.permutation(corners)[:GROUPS]
    return centers[rng.integers(GROUPS, size=n_rows)] + 0.3 * rng.normal(size=(n_rows, n_inputs))


def stages(model: Any, X: Array) -> dict[str, float]:
    """Repeat the second phase and return the seconds of each stage."""
    clock = Clock()
    domain = Domain(model.support_vectors_, model.dual_coef_, model.gamma_)
    with clock.phase("values"):
        near = np.abs(domain.values(X)) <= model.epsilon_
        rows, others = np.flatnonzero(near), np.flatnonzero(~near)
    with clock.phase("trajectories"):
        points, which, _ = find_equilibria(domain, X[rows])
    with clock.phase("segments"):
        labels = connected(domain, points, model.n_segment)
    with clock.phase("nearest"):
        labels_of_nearest(cKDTree(X[rows]), labels[which], X, others)
    return clock.wall


def measure(X: Array, **params: Any) -> dict[str, Any]:
    """Cluster rows and return the figures."""
    model: Any = BSGDLMOC(**params)
    model.fit(X[:500])  # compiles
    clock, cpu = Clock(), time.process_time()
    reset_peak_memory()
    before = peak_memory()
    with clock.phase("domain"):
        model.fit_domain(X)
    with clock.phase("clusters"):
        model.fit_clusters(X)
    cpu, memory = time.process_time() - cpu, peak_memory()
    return {
        **clock.wall,
        "cpu": cpu,
        "load": os.getloadavg()[0],
        "memory": memory - before,
        "rows_memory": X.nbytes,
        "stages": stages(model, X),
        "steps": model.n_iter_,
        "boundary": model.n_boundary_,
        "unconverged": model.n_unconverged_,
        "equilibria": len(model.equilibria_),
        "clusters_found": model.n_clusters_,
        "inside": model.inside_,
    }


def problems(rows: int, columns: tuple[int, ...]) -> Iterator[tuple[str, Array, dict[str, float]]]:
    """Yield names, rows and parameters of the problems."""
    X = shuttle()
    if X is None:
        click.echo("no shuttle/shuttle.trn.xz in DSGKIT_DATA: Shuttle is left out", err=True)
    else:
        for gamma, C in ((0.5, 32.0), (8.0, 32.0)):
            yield "shuttle", X, {"gamma": gamma, "C": C, "budget": 100}
    for n_inputs in columns:
        name = f"generated, {n_inputs} columns"
        # distances grow with the number of columns
        yield name, generated(rows, n_inputs), {"gamma": 2 / n_inputs, "C": 32.0, "budget": 100}


@click.command(help=__doc__)
@click.option("--rows", default=1_000_000, show_default=True, help="Generated rows.")
@click.option("--columns", multiple=True, default=(2, 9), show_default=True, help="Of these.")
@click.option("--strategy", "only", type=click.Choice(STRATEGIES), multiple=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def main(rows: int, columns: tuple[int, ...], only: tuple[str, ...], as_json: bool) -> None:
    """Measure and print."""
    for name, X, params in problems(rows, columns):
        for strategy in only or STRATEGIES:
            f = measure(X, strategy=strategy, **params)
            if as_json:
                click.echo(json.dumps({"rows": name, "strategy": strategy, **params, **f}))
                continue
            click.echo(f"{name}: {X.shape[0]} x {X.shape[1]}, {strategy}, {params}")
            share = ", ".join(f"{stage} {took:.2f}" for stage, took in f["stages"].items())
            click.echo(
                f"  domain {f['domain']:.2f} s ({f['steps']} steps), clusters {f['clusters']:.2f} s"
                f" ({share}); processor time {f['cpu']:.2f} s, load {f['load']:.1f}\n"
                f"  memory {f['memory'] / 2**20:.0f} MiB beyond the rows' "
                f"{f['rows_memory'] / 2**20:.0f}\n"
                f"  {f['inside']:.0%} inside, {f['boundary']} trajectories"
                f" ({f['unconverged']} did not converge), {f['equilibria']} equilibria,"
                f" {f['clusters_found']} clusters"
            )


if __name__ == "__main__":
    main()

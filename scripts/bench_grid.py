"""Measure a whole QSG-S2AUC grid trained in one pass against fits of one model each.

The grid is the paper's at one sigma: 7 lam x 11 gamma x 5 folds = 385 models. Both sides run the
same number of iterations on the same rows, in turn, after a warm-up; medians of the repeats.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

import click
import numpy as np

from dsgkit import QSGS2AUC

LAM = [2.0**k for k in range(-3, 4)]
GAMMA = [k / 10 for k in range(11)]
N_FOLDS = 5
N_LABELED = 200


def seconds(run: Callable[[], object]) -> float:
    """Return the wall-clock time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(n_inputs: int, n_unlabeled: int, repeats: int) -> tuple[float, float]:
    """Return the median seconds of one fit and of the whole grid."""
    rng = np.random.default_rng(0)
    X = rng.random((N_LABELED, n_inputs), dtype=np.float32)
    y = np.where(X.sum(axis=1) > np.median(X.sum(axis=1)), 1, -1)
    X_unlabeled = rng.random((n_unlabeled, n_inputs), dtype=np.float32)
    folds = np.array_split(rng.permutation(N_LABELED), N_FOLDS)
    points = [{"lam": lam, "gamma": gamma} for lam, gamma in itertools.product(LAM, GAMMA)]
    model = QSGS2AUC(lam=0.125, sigma=1.0)

    def grid(rows: np.ndarray) -> object:
        return model.cv_decision_function(X, y, rows, folds, points)

    model.fit(X, y, X_unlabeled[:100])
    grid(X_unlabeled[:100])
    times = [
        (seconds(lambda: model.fit(X, y, X_unlabeled)), seconds(lambda: grid(X_unlabeled)))
        for _ in range(repeats)
    ]
    one, whole = zip(*times, strict=True)
    return statistics.median(one), statistics.median(whole)


@click.command(help=__doc__)
@click.option("--inputs", multiple=True, type=int, default=(8, 18, 54), show_default=True)
@click.option(
    "--unlabeled", default=51200, show_default=True, help="Unlabelled rows (256 a batch)."
)
@click.option("--repeats", default=3, show_default=True)
def main(inputs: tuple[int, ...], unlabeled: int, repeats: int) -> None:
    """Print the table."""
    n_models = len(LAM) * len(GAMMA) * N_FOLDS
    click.echo(f"{unlabeled} unlabelled rows, {n_models} models, medians of {repeats}")
    click.echo("inputs  one fit (s)  grid (s)  grid / (385 fits)")
    for d in inputs:
        one, grid = measure(d, unlabeled, repeats)
        click.echo(f"{d:6d}  {one:11.3f}  {grid:8.2f}  {grid / (n_models * one):17.3f}")


if __name__ == "__main__":
    main()

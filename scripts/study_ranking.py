"""Separate the limits of QS3ORAO's AUC: grid, unlabelled rows, loss, a single function.

On each dataset and trial the paper's objective is minimised exactly at every point of the paper's
grid and of the wider one, with labelled rows alone (gamma = 1) and with unlabelled ones (gamma =
1/2), by one function for all cuts between the classes, as in QS3ORAO, and by one function per cut,
as in M-SAMULT. SVOREX, which minimises errors, and all-threshold logistic regression are compared
with them.

Printed is, for each method and grid, the point with the highest mean AUC over the trials on rows
that no method is trained on. These rows' labels choose it, so the quality of model selection has no
influence. Last, gamma is chosen in the same way: one for all cuts, then for one cut after the
other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from kept import json_option, write_json

from dsgkit import SVOREX, AllThresholdLogistic
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array
from dsgkit.tasks.metrics import cut_aucs
from dsgkit.tasks.ordinal import Ordinal, OrdinalSpec
from dsgkit.tasks.semi_supervised import Split

N_UNLABELED, MOST_TESTED = 250, 1000
GRIDS = {
    "paper": ([2.0**k for k in range(-3, 4, 2)], [2.0**k for k in range(-3, 4, 2)]),
    "wide": ([2.0**k for k in range(-18, 3, 4)], [2.0**k for k in range(-7, 4, 2)]),
}
"""Grids of lam and sigma, as in the configs."""

C = (1e-2, 1e0, 1e2, 1e4)
LOGISTIC_LAM = (2.0**-26, 2.0**-18, 2.0**-10, 2.0**-2)
GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0)

Kernels = tuple[Array, Array]


def pair_terms(a: Array, b: Array) -> tuple[Array, Array]:
    """Return M and v of the mean of ``(1 - f(x) + f(z))^2`` over pairs, ``f'M f - 2 v'f + 1``.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
        Weights of the rows in the roles of x and z.
    """
    return np.diag(a + b) - np.outer(a, b) - np.outer(b, a), a - b


def cut_terms(y: Array, n_unlabeled: int, cut: int, gamma: float) -> tuple[Array, Array]:
    """Return M and v of one cut's risk; classes up to the cut are negative."""
    rest = np.zeros(n_unlabeled)
    positive, negative = (np.r_[side / side.sum(), rest] for side in (y > cut, y <= cut))
    unlabeled = np.r_[np.zeros(len(y)), rest + 1 / max(1, n_unlabeled)]
    pairs = (positive, negative), (positive, unlabeled), (unlabeled, negative)
    weights = gamma, 1 - gamma, 1 - gamma
    terms = [
        (weight * M, weight * v)
        for weight, (M, v) in zip(weights, itertools.starmap(pair_terms, pairs), strict=True)
    ]
    M, v = (np.sum(of, axis=0) for of in zip(*terms, strict=True))
    return M, v


def minimiser(K: Array, M: Array, v: Array, lam: float) -> Array:
    """Return the coefficients of the function of least risk plus ``lam/2 ||f||^2``."""
    return np.asarray(np.linalg.solve(lam * np.eye(len(K)) + 2 * M @ K, 2 * v), np.float64)


class Trial:
    """The rows of one trial."""

    def __init__(self, split: Split) -> None:
        self.X, self.y = split.X[:].astype(np.float64), split.y.astype(np.float64)
        self.rest = split.X_unlabeled[:N_UNLABELED].astype(np.float64)
        tested = slice(N_UNLABELED, N_UNLABELED + MOST_TESTED)
        self.tested = split.X_unlabeled[tested].astype(np.float64)
        self.y_tested = split.y_unlabeled[tested]
        self.cuts = np.unique(self.y)[:-1]
        self.trained = np.vstack([self.X, self.rest])

    def auc(self, values: Array) -> float:
        """Return the mean AUC over the cuts, for values at the test rows."""
        codes = np.searchsorted(self.cuts, self.y_tested)
        found = cut_aucs(codes, values, len(self.cuts) + 1)
        return float(np.mean([one for one in found if one is not None]))

    def terms(self, gammas: Sequence[float]) -> list[tuple[Array, Array]]:
        """Return M and v of every cut; gamma = 1 is without unlabelled rows."""
        n = 0 if set(gammas) == {1.0} else len(self.rest)
        return [cut_terms(self.y, n, cut, g) for cut, g in zip(self.cuts, gammas, strict=True)]

    def kernels(self, sigma: float) -> tuple[Array, Array]:
        """Return the kernels among the training rows, and between test and training rows."""
        K, K_tested = (
            gaussian_gram(rows, self.trained, sigma) for rows in (self.trained, self.tested)
        )
        return K, K_tested

    def one_function(self, K: Kernels, gammas: Sequence[float], lam: float) -> float:
        """Return the AUC of the minimiser of the mean risk over the cuts."""
        M, v = (np.mean(of, axis=0) for of in zip(*self.terms(gammas), strict=True))
        n = len(v)
        return self.auc(K[1][:, :n] @ minimiser(K[0][:n, :n], M, v, lam))

    def one_per_cut(self, K: Kernels, gammas: Sequence[float], lam: float) -> float:
        """Return the AUC of a separate minimiser per cut."""
        terms = self.terms(gammas)
        n = len(terms[0][1])
        coef = [minimiser(K[0][:n, :n], M, v, lam) for M, v in terms]
        return self.auc(K[1][:, :n] @ np.column_stack(coef))

    def scores(self) -> Iterator[tuple[tuple[str, str, float, float], float]]:
        """Yield the AUC of every method at every point."""
        for grid, (lams, sigmas) in GRIDS.items():
            for sigma in sigmas:
                K = self.kernels(sigma)
                alone, half = [1.0] * len(self.cuts), [0.5] * len(self.cuts)
                for lam in lams:
                    yield ("one function", grid, lam, sigma), self.one_function(K, alone, lam)
                    yield ("one per cut", grid, lam, sigma), self.one_per_cut(K, alone, lam)
                    with_rest = self.one_function(K, half, lam)
                    yield ("one function, unlabelled rows", grid, lam, sigma), with_rest
                for c, lam in zip(C, LOGISTIC_LAM, strict=True):
                    machine = SVOREX(C=c, sigma=sigma).fit_function(self.X, self.y)
                    logistic = AllThresholdLogistic(lam=lam, sigma=sigma).fit_function(
                        self.X, self.y
                    )
                    of_machine, of_logistic = (
                        self.auc(model.score_samples(self.tested)) for model in (machine, logistic)
                    )
                    yield ("SVOREX", grid, c, sigma), of_machine
                    yield ("all-threshold", grid, lam, sigma), of_logistic

    def gain_of_gammas(self, lam: float, sigma: float) -> dict[str, float]:
        """Return the AUC with the best common gamma, and after one pass over the cuts."""
        K = self.kernels(sigma)
        shared = [[gamma] * len(self.cuts) for gamma in GAMMAS]
        aucs = [self.one_function(K, gammas, lam) for gammas in shared]
        chosen = list(shared[int(np.argmax(aucs))])
        for cut in range(len(self.cuts)):
            tried = [[*chosen[:cut], gamma, *chosen[cut + 1 :]] for gamma in GAMMAS]
            chosen = max(tried, key=lambda gammas: self.one_function(K, gammas, lam))
        return {
            "least_gamma": min(aucs),
            "one_gamma": max(aucs),
            "gamma_per_cut": self.one_function(K, chosen, lam),
        }


def study(name: str, labeled: int, trials: int) -> dict[str, Any]:
    """Print and return the results on one dataset."""
    dataset = load_dataset(DATASETS[name])
    spec = OrdinalSpec(kind=Ordinal.kind, labeled=labeled, folds=2)
    drawn = [Trial(Ordinal(dataset, spec, number).split) for number in range(trials)]
    scored = [dict(trial.scores()) for trial in drawn]
    points = pd.MultiIndex.from_tuples(scored[0], names=["method", "grid", "weight", "sigma"])
    table = pd.DataFrame([list(of.values()) for of in scored], columns=points)
    best = table.mean().groupby(level=["method", "grid"], sort=False).idxmax()
    found: dict[str, Any] = {}
    for (method, grid), point in best.items():
        aucs = table[point]
        lines = found.setdefault(grid, {})
        lines[method] = {"auc": aucs.tolist(), "weight": point[2], "sigma": point[3]}
        click.echo(
            f"{name:10} {grid:6} {method:30} {aucs.mean():.4f}  at {point[2]:<9.3g} {point[3]:g}"
        )
    _, _, lam, sigma = best["one function, unlabelled rows", "wide"]
    gammas = pd.DataFrame([trial.gain_of_gammas(lam, sigma) for trial in drawn])
    click.echo(f"{name:10} gamma: " + ", ".join(f"{k} {v:.4f}" for k, v in gammas.mean().items()))
    return {**found, "gammas": gammas.to_dict("list")}


@click.command(help=__doc__)
@click.argument("datasets", nargs=-1, default=("lev", "swd"))
@click.option("--trials", default=2, show_default=True)
@click.option("--labeled", default=500, show_default=True)
@json_option
def main(datasets: tuple[str, ...], trials: int, labeled: int, json_file: Path | None) -> None:
    """Print the best points, and their mean AUC over the trials."""
    numbers = {name: study(name, labeled, trials) for name in datasets}
    write_json(json_file, "study_ranking", numbers)


if __name__ == "__main__":
    main()

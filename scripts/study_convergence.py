"""Check the rates of QSG-S2AUC: 1/t to the minimiser, in features and in data (Theorem 1).

The squared pairwise loss makes the objective quadratic, so its minimiser f* has a closed form
(SAMULT). The proof puts a function h_t between f_t and f* (`replay.py`). Measured along runs with
the theorem's step ``theta / t`` are, relative to f*,

- squared_distances: the mean of ``(f_t - f*)^2``,
- feature_errors: the mean of ``(f_t - h_t)^2`` (Lemma 1),
- data_errors: ``||h_t - f*||^2`` in the RKHS (Lemma 3).

The script exits with code 1 unless each falls with a slope within 0.3 of the theory's -1.
``--ordinal`` takes QS3ORAO on four classes, with the minimiser Exact S2OR.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from replay import Training, replay
from study import Result, show, slope, study

from dsgkit import SAMULT, ExactS2OR
from dsgkit.engine.problem import Data
from dsgkit.features import FourierFeatures
from dsgkit.linalg import Array
from dsgkit.risks.pairwise import OrdinalAUC, SemiSupervisedAUC

N_LABELED, N_UNLABELED, N_INPUTS = 200, 1000, 8
LAM, SIGMA, GAMMA = 0.125, 1.0, 0.5
BATCH, N_FREQUENCIES = 64, 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
FIRST_FITTED = 64  # iteration from which slopes are fitted
TOLERANCE = 0.3  # of a slope
ERRORS = ("squared_distances", "feature_errors", "data_errors")


def synthetic_rows(n_classes: int) -> tuple[NDArray[np.float32], NDArray]:
    """Return rows in the unit cube, and labels 1..k by a nonlinear law."""
    rng = np.random.default_rng(0)
    X = rng.random((N_LABELED + N_UNLABELED, N_INPUTS), dtype=np.float32)
    score = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    bounds = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, 1 + np.searchsorted(bounds, score)


def training(
    X: NDArray, y: NDArray, lam: float, theta_lam: float, n_iterations: int, seed: int
) -> Training:
    """Return the training of one model on the labels of the first rows."""
    labels, codes = np.unique(y[:N_LABELED], return_inverse=True)
    loss: Any = OrdinalAUC(np.full(len(labels) - 1, GAMMA))
    if len(labels) == 2:
        loss, codes = SemiSupervisedAUC(GAMMA), 1 - codes  # the positive class is the first
    data = Data(X[:N_LABELED], codes, X[N_LABELED:], len(labels))
    features = FourierFeatures("gaussian", SIGMA, N_FREQUENCIES, seed)
    return Training(data, loss, features, n_iterations, BATCH, lam, theta_lam)


def minimiser(X: NDArray, y: NDArray, lam: float) -> Array:
    """Return the coefficients of f* at all rows."""
    closed_form: Any = SAMULT if y.max() == 2 else ExactS2OR
    model = closed_form(lam=lam, sigma=SIGMA, gamma=GAMMA)
    getattr(model, "fit_function", model.fit)(X[:N_LABELED], y[:N_LABELED], X[N_LABELED:])
    if not np.array_equal(model.centers_, X):
        raise AssertionError("the minimiser is not expanded on the rows in their order")
    return np.asarray(model.coef_, np.float64)


def errors_of(run: Training, exact: Array, lengths: list[int]) -> list[list[float]]:
    """Return the errors of one run after some iterations, in the order of `ERRORS`."""
    K = run.K
    best = K @ exact
    size, norm = np.mean(best**2), exact @ best
    found = []
    for moment in replay(run, lengths):
        if moment.f is not None:
            off = moment.beta - exact
            pair = np.mean((moment.f - best) ** 2), np.mean((moment.f - moment.h) ** 2)
            found.append((pair[0] / size, pair[1] / size, off @ K @ off / norm))
    return [list(column) for column in zip(*found, strict=True)]


@study
@click.option("--seeds", default=10, show_default=True)
@click.option("--theta-lam", default=1.5, show_default=True)
@click.option("--most", default=4096, show_default=True, type=click.IntRange(128, LENGTHS[-1]))
@click.option("--ordinal", is_flag=True, help="Study QS3ORAO.")
def main(seeds: int, theta_lam: float, most: int, ordinal: bool) -> Result:
    lengths = [t for t in LENGTHS if t <= most]
    X, y = synthetic_rows(4 if ordinal else 2)
    exact = minimiser(X, y, LAM)
    runs = [training(X, y, LAM, theta_lam, lengths[-1], seed) for seed in range(seeds)]
    each = np.array([errors_of(run, exact, lengths) for run in runs])
    errors = dict(zip(ERRORS, each.swapaxes(0, 1), strict=True))
    means = {name: values.mean(axis=0) for name, values in errors.items()}
    slopes = {name: slope(lengths, mean, FIRST_FITTED) for name, mean in means.items()}
    show("means over the seeds, relative to the minimiser", means, lengths)
    show(f"slopes from t = {FIRST_FITTED} on (theory: -1)", [slopes])
    missed = [f"slope of {name}" for name, s in slopes.items() if not abs(s + 1) <= TOLERANCE]
    numbers: dict[str, Any] = {"iterations": lengths, **errors, "slopes": slopes}
    return numbers, missed

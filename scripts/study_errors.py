"""Split the error of QSG-S2AUC into that of random features and that of data (Lemmas 1 and 3).

The proof puts a function h_t between f_t and the minimiser f*: it takes the same steps, with the
run's coefficients and drawn rows, but with kernels in place of random features. Lemma 1 bounds the
mean of ``(f_t(x) - h_t(x))^2``, Lemma 3 that of ``||h_t - f*||^2`` in the RKHS, both by O(1/t). h_t
and f* are sums of kernels at training rows, so the second follows from their Gram matrix. Rows,
setting and minimiser are those of `study_convergence.py`; the step is ``theta / t``.

The script fits the slopes of both errors against t, and exits with code 1 unless each is within 0.3
of -1. ``--ordinal`` takes QS3ORAO on four classes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from kept import json_option, write_json
from numpy.typing import NDArray
from study_convergence import slope, synthetic_rows
from study_gradient_norm import Recorder, Study, problem_of_one, row_numbers

from dsgkit import SAMULT, ExactS2OR
from dsgkit.engine.clock import Clock
from dsgkit.engine.problem import Data, Steps
from dsgkit.features import FourierFeatures
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array
from dsgkit.risks.pairwise import OrdinalAUC, SemiSupervisedAUC

N_LABELED, N_UNLABELED, N_INPUTS = 200, 1000, 8
LAM, SIGMA, GAMMA = 0.125, 1.0, 0.5
BATCH, N_FREQUENCIES = 64, 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
FIRST_FITTED = 64
"""First iteration for fitting slopes."""

TOLERANCE = 0.3
"""Largest difference of a slope to -1."""

TITLES = {
    "feature_errors": "mean (f_t - h_t)^2 / mean f*^2",
    "data_errors": "||h_t - f*||^2 / ||f*||^2",
}


def problem_of(
    X: NDArray[np.float32], y: NDArray, theta_lam: float, n_iterations: int, seed: int
) -> Study:
    """Return the training of one model for the classes 1..k of the first rows."""
    labels, codes = np.unique(y[:N_LABELED], return_inverse=True)
    loss: Any = SemiSupervisedAUC(GAMMA)
    if len(labels) > 2:
        loss = OrdinalAUC(np.full(len(labels) - 1, GAMMA))
    else:
        codes = 1 - codes  # the positive class is the first
    data = Data(X[:N_LABELED], codes, X[N_LABELED:], len(labels))
    problem = problem_of_one(data, loss)
    steps = Steps(*np.array([[LAM], [theta_lam], [0.0], [np.nan]]))
    features = FourierFeatures("gaussian", SIGMA, N_FREQUENCIES, seed)
    return Study(problem, features, steps, n_iterations, BATCH)


def minimiser(X: NDArray[np.float32], y: NDArray) -> Array:
    """Return the coefficients of f* at all rows."""
    closed_form: Any = SAMULT if y.max() == 2 else ExactS2OR
    model = closed_form(lam=LAM, sigma=SIGMA, gamma=GAMMA)
    fit = getattr(model, "fit_function", model.fit)
    fit(X[:N_LABELED], y[:N_LABELED], X[N_LABELED:])
    if not np.array_equal(model.centers_, X):
        raise AssertionError("the minimiser is not expanded on the rows in their order")
    return np.asarray(model.coef_, np.float64)


def errors_of(study: Study, exact: Array, lengths: Sequence[int]) -> tuple[Array, Array]:
    """Return both relative errors after some iterations of one run.

    Parameters
    ----------
    study : Study
    exact : ndarray of shape (n,)
        Coefficients of f* at all rows.
    lengths : sequence of int
        Ascending.

    Returns
    -------
    feature_errors, data_errors : ndarray of shape (len(lengths),)
    """
    X = np.vstack(study.tables)
    K = gaussian_gram(X, X, SIGMA)
    recorder = Recorder(study.problem.loss, [], [])
    f: dict[int, NDArray[np.floating]] = {}

    def observe(t: int, seconds: float, model: Any) -> None:
        f[t] = model.values(X)[:, 0]

    study.train(recorder, clock=Clock(lengths, observe))
    best = K @ exact
    rows = row_numbers(study)
    beta = np.zeros(len(X))
    measured = []
    for t, coefficients in enumerate(recorder.kept, start=1):
        (step,), (decay,) = study.steps(t)
        beta *= decay
        for drawn, c in zip(rows, coefficients, strict=True):
            np.subtract.at(beta, drawn[t - 1], step * c[:, 0])
        if t in f:
            h, off = K @ beta, beta - exact
            feature_error = np.mean((f[t] - h) ** 2) / np.mean(best**2)
            measured.append((feature_error, off @ K @ off / (exact @ best)))
    feature_errors, data_errors = np.array(measured).T
    return feature_errors, data_errors


@click.command(help=__doc__)
@click.option("--seeds", default=10, show_default=True)
@click.option("--theta-lam", default=1.5, show_default=True)
@click.option(
    "--most",
    default=LENGTHS[-1],
    show_default=True,
    type=click.IntRange(min=128),
    help="Largest number of iterations.",
)
@click.option("--ordinal", is_flag=True, help="Study QS3ORAO.")
@json_option
def main(seeds: int, theta_lam: float, most: int, ordinal: bool, json_file: Path | None) -> None:
    """Print both errors and their slopes."""
    lengths = [t for t in LENGTHS if t <= most]
    X, y = synthetic_rows(N_LABELED + N_UNLABELED, N_INPUTS, 0, 4 if ordinal else 2)
    exact = minimiser(X, y)
    problems = [problem_of(X, y, theta_lam, lengths[-1], seed) for seed in range(seeds)]
    every = np.array([errors_of(problem, exact, lengths) for problem in problems])
    errors = dict(zip(TITLES, every.swapaxes(0, 1), strict=True))
    click.echo("      t" + "".join(f"  {title:>30}" for title in TITLES.values()))
    for t, *means in zip(
        lengths, *(values.mean(axis=0) for values in errors.values()), strict=True
    ):
        click.echo(f"{t:7d}" + "".join(f"  {mean:30.3e}" for mean in means))
    slopes = {name: slope(lengths, values, FIRST_FITTED) for name, values in errors.items()}
    for name, fitted in slopes.items():
        click.echo(f"slope of {TITLES[name]} from t = {FIRST_FITTED} on: {fitted:.2f} (theory: -1)")
    write_json(json_file, "study_errors", {"iterations": lengths, **errors, "slopes": slopes})
    missed = [TITLES[name] for name, fitted in slopes.items() if not abs(fitted + 1) <= TOLERANCE]
    if missed:
        click.echo(f"missed: slope not within {TOLERANCE} of -1: {'; '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

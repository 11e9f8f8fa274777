"""Check that QSG-S2AUC converges to the exact solution at the rate 1/t (Theorem 1 of the paper).

The squared pairwise loss makes the objective quadratic, so its minimiser f* has a closed form
(SAMULT). The script trains QSG-S2AUC for growing numbers of iterations with several seeds and the
theorem's step ``theta / t``, and fits the slope of log mean (f_t - f*)^2 against log t. It exits
with code 1 if the slope is not within 0.25 of the theory's -1. ``--ordinal`` takes QS3ORAO on four
classes, with the minimiser Exact S2OR.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from kept import json_option, write_json
from numpy.typing import NDArray

from dsgkit import QS3ORAO, QSGS2AUC, SAMULT, ExactS2OR
from dsgkit.tasks.base import function_of
from dsgkit.tasks.metrics import auc

TOLERANCE = 0.25
"""Largest difference of the slope to -1."""


def synthetic_rows(
    n: int, n_inputs: int, seed: int, n_classes: int = 2
) -> tuple[NDArray[np.float32], NDArray]:
    """Return rows in the unit cube, and labels 1..k by a nonlinear law."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_inputs), dtype=np.float32)
    score = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    bounds = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, 1 + np.searchsorted(bounds, score)


def ranked(y: NDArray, values: NDArray) -> float:
    """Return the AUC, its mean over the cuts between the classes."""
    return float(np.mean([auc(np.where(y > cut, 1, -1), values) for cut in np.unique(y)[:-1]]))


def squared_errors(
    iterations: list[int], seeds: int, lam: float, theta_lam: float, ordinal: bool
) -> NDArray:
    """Return the relative squared error, shape (seeds, len(iterations)), and print the AUCs."""
    solver: Any = QS3ORAO if ordinal else QSGS2AUC
    closed_form: Any = ExactS2OR if ordinal else SAMULT
    X, y = synthetic_rows(1200, 8, 0, 4 if ordinal else 2)
    labeled, rest = slice(0, 200), slice(200, None)
    setting = {"lam": lam, "sigma": 1.0, "gamma": 0.5}
    training = X[labeled], y[labeled], X[rest]
    exact = function_of(closed_form(**setting).fit(*training))(X)
    click.echo(f"exact AUC {ranked(y[rest], exact[rest]):.4f}")
    errors = np.empty((seeds, len(iterations)))
    for seed in range(seeds):
        for column, T in enumerate(iterations):
            model = solver(
                **setting,
                batch_size=64,
                n_features=64,
                n_iterations=T,
                theta_lam=theta_lam,
                t0=0.0,
                random_state=seed,
            )
            getattr(model, "fit_function", model.fit)(*training)
            f = function_of(model)(X)
            errors[seed, column] = np.mean((f - exact) ** 2) / np.mean(exact**2)
        click.echo(
            f"seed {seed}: AUC after {iterations[-1]} iterations {ranked(y[rest], f[rest]):.4f}"
        )
    return errors


def slope(iterations: list[int], errors: NDArray, start: int) -> float:
    """Return the slope of log error against log t from iteration ``start`` on."""
    late = np.array(iterations) >= start
    log_t = np.log(np.array(iterations)[late])
    return float(np.polyfit(log_t, np.log(errors.mean(axis=0))[late], 1)[0])


@click.command(help=__doc__)
@click.option("--seeds", default=5, show_default=True)
@click.option("--lam", default=0.125, show_default=True)
@click.option("--theta-lam", default=1.5, show_default=True)
@click.option(
    "--most",
    default=4096,
    show_default=True,
    type=click.IntRange(min=128),
    help="Largest number of iterations.",
)
@click.option("--ordinal", is_flag=True, help="Study QS3ORAO.")
@json_option
def main(
    seeds: int, lam: float, theta_lam: float, most: int, ordinal: bool, json_file: Path | None
) -> None:
    """Print the errors and the fitted slope."""
    iterations = [t for t in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192) if t <= most]
    errors = squared_errors(iterations, seeds, lam, theta_lam, ordinal)
    click.echo("      t  mean (f_t - f*)^2 / mean f*^2")
    for t, error in zip(iterations, errors.mean(axis=0), strict=True):
        click.echo(f"{t:7d}  {error:.3e}")
    fitted = slope(iterations, errors, 64)
    click.echo(f"slope from t = 64 on: {fitted:.2f} (theory: -1)")
    numbers = {"iterations": iterations, "squared_distances": errors, "slope": fitted}
    write_json(json_file, "study_convergence", numbers)
    if not abs(fitted + 1) <= TOLERANCE:
        click.echo(f"missed: the slope is not within {TOLERANCE} of -1", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Check that unlabelled rows replace a class without bias: R_PU + R_NU - 1/2 = R_PN.

The papers derive it for the 0-1 loss, and train with the squared loss ``(1 - f(a) + f(b))^2``. For
this the constant is 1 instead of 1/2, and the two sides differ by ``2 (pi Var_P f + (1 - pi) Var_N
f)``, pi the share of positive rows: a penalty on the variance of f within the classes.

Functions are fixed: QSG-S2AUC or QS3ORAO, trained on rows that are put aside, and a random
direction with variance 1. R_PN is computed on all other rows of a dataset, for every cut between
its classes. The left side is estimated on random draws of labelled and unlabelled rows, with
replacement: its mean over the draws minus R_PN is the difference. With all rows as positive,
negative and unlabelled ones both equations are exact, which is checked too.

The script exits with code 1 if they are not exact, or if a difference with the 0-1 loss exceeds 4
standard errors (one of 24 cases may be off by 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from study import Result, show, study

from dsgkit import QS3ORAO, QSGS2AUC
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.linalg import Array
from dsgkit.tasks.base import function_of

N_LABELED, N_UNLABELED = 500, 2000
SETTING = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5, "n_iterations": 200, "n_features": 64}
MAX_STANDARD_ERRORS, ROUNDING = 4.0, 1e-9


def zero_one(a: Array, b: Array) -> float:
    """Return the share of pairs in the wrong order, ties counting one half."""
    b = np.sort(b)
    below = np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")
    return float(1 - below.mean() / (2 * len(b)))


def squared(a: Array, b: Array) -> float:
    """Return the mean of ``(1 - a + b)^2`` over all pairs."""
    return float((1 - a.mean() + b.mean()) ** 2 + a.var() + b.var())


# the mean loss of pairs, and what R_PU + R_NU is above R_PN for a constant function
LOSSES: dict[str, tuple[Callable[[Array, Array], float], float]] = {
    "zero_one": (zero_one, 0.5),
    "squared": (squared, 1.0),
}


def cases_of(name: str) -> Iterator[tuple[str, Array, NDArray[np.bool_]]]:
    """Yield a name, the values at all rows, and which are positive, by function and cut."""
    dataset = load_dataset(DATASETS[name])
    rng = np.random.default_rng(0)
    order = rng.permutation(len(dataset.y))
    low, scale = dataset.scaling()
    X, y = ((np.asarray(dataset.X[:]) - low) * scale)[order], dataset.y[order]
    aside, rest = N_LABELED + N_UNLABELED, slice(N_LABELED + N_UNLABELED, None)
    cuts = np.unique(y)[:-1]
    solver: Any = QSGS2AUC if len(cuts) == 1 else QS3ORAO
    model = solver(**SETTING)
    fit = getattr(model, "fit_function", model.fit)
    fit(X[:N_LABELED], y[:N_LABELED], X[N_LABELED:aside])
    direction = X[rest].astype(np.float64) @ rng.normal(size=X.shape[1])
    trained = function_of(model)(X[rest]).astype(np.float64)
    for words, f in (("trained", trained), ("random direction", direction / direction.std())):
        for cut in cuts:
            where = f", above {cut}" if len(cuts) > 1 else ""
            yield f"{name}, {words}{where}", f, y[rest] > cut


def left_side(loss: str, f: Array, positive: NDArray[np.bool_], u: Array) -> float:
    """Return ``R_PU + R_NU`` minus the constant, on values at labelled and unlabelled rows."""
    risk, constant = LOSSES[loss]
    return risk(f[positive], u) + risk(u, f[~positive]) - constant


def measured(loss: str, f: Array, positive: NDArray[np.bool_], draws: int) -> dict[str, float]:
    rng, n = np.random.default_rng(1), len(f)
    risk = LOSSES[loss][0](f[positive], f[~positive])
    off = np.empty(draws)
    for draw in range(draws):
        rows, unlabeled = rng.integers(n, size=N_LABELED), rng.integers(n, size=N_UNLABELED)
        off[draw] = left_side(loss, f[rows], positive[rows], f[unlabeled]) - risk
    error = float(off.std(ddof=1) / np.sqrt(draws))
    share = positive.mean()
    penalty = 2 * (share * f[positive].var() + (1 - share) * f[~positive].var())
    return {
        "risk": risk,
        "difference": float(off.mean()),
        "standard_error": error,
        "standard_errors": float(off.mean() / error),
        "all_rows": left_side(loss, f, positive, f) - risk,
        "penalty": float(penalty) if loss == "squared" else 0.0,
    }


def compared(datasets: tuple[str, ...], draws: int) -> Result:
    """Print and return what is measured, a value per case, and which equations are violated."""
    cases = [case for name in datasets for case in cases_of(name)]
    numbers: dict[str, Any] = {"cases": [name for name, *_ in cases]}
    missed = []
    for loss in LOSSES:
        found = [measured(loss, f, positive, draws) for _, f, positive in cases]
        columns = {name: [of[name] for of in found] for name in found[0]}
        show(f"{loss} loss", columns, numbers["cases"])
        numbers[loss] = columns.pop("standard_errors")
        numbers[f"{loss}_risks"] = columns
        off = np.subtract(columns["all_rows"], columns["penalty"])
        if not np.abs(off).max() <= ROUNDING:
            missed.append(f"the equation of the {loss} loss on all rows")
    if not np.abs(numbers["zero_one"]).max() <= MAX_STANDARD_ERRORS:
        missed.append("the zero_one loss is biased")
    return numbers, missed


@study
@click.option("--binary", multiple=True, default=("codrna", "ijcnn1", "skin", "dota2"))
@click.option("--ordinal", multiple=True, default=("sgemm", "abalone"))
@click.option("--draws", default=4000, show_default=True, type=click.IntRange(min=2))
def main(binary: tuple[str, ...], ordinal: tuple[str, ...], draws: int) -> Result:
    of_two, missed = compared(binary, draws)
    ordered, more = compared(ordinal, draws)
    return {"binary": of_two, "ordinal": ordered}, missed + more

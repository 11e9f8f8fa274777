"""Check that unlabelled rows replace a class without bias: R_PU + R_NU - 1/2 = R_PN.

The papers derive it for the 0-1 loss, and train with the squared loss ``(1 - f(a) + f(b))^2``. For
this the constant is 1 instead of 1/2, and the two sides differ by ``2 (pi Var_P f + (1 - pi) Var_N
f)``, pi the share of positive rows: a penalty on the variance of f within the classes.

Functions are fixed: QSG-S2AUC or QS3ORAO, trained on rows that are put aside, and a random
direction with variance 1. R_PN is computed on all other rows of a dataset, for every cut between
its classes. The left side is estimated on random draws of labelled and unlabelled rows, with
replacement; printed is its mean over the draws minus R_PN, also in standard errors. With all rows
as positive, negative and unlabelled ones both equations are exact, which is checked too.

The script exits with code 1 if they are not exact, or if a difference with the 0-1 loss exceeds 3
standard errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from kept import json_option, write_json
from numpy.typing import NDArray

from dsgkit import QS3ORAO, QSGS2AUC
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.linalg import Array
from dsgkit.tasks.base import function_of

N_LABELED, N_UNLABELED = 500, 2000
SETTING = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5, "n_iterations": 200, "n_features": 64}
MAX_STANDARD_ERRORS = 4.0
"""Standard errors that an unbiased estimate may be off; one of 24 cases may be off by 3."""

ROUNDING = 1e-9


def zero_one(a: Array, b: Array) -> float:
    """Return the share of pairs in the wrong order, ties counting one half."""
    b = np.sort(b)
    below = np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")
    return float(1 - below.mean() / (2 * len(b)))


def squared(a: Array, b: Array) -> float:
    """Return the mean of ``(1 - a + b)^2`` over all pairs."""
    return float((1 - a.mean() + b.mean()) ** 2 + a.var() + b.var())


LOSSES: dict[str, tuple[Callable[[Array, Array], float], float]] = {
    "zero_one": (zero_one, 0.5),
    "squared": (squared, 1.0),
}
"""The mean loss of pairs, and what ``R_PU + R_NU`` is above ``R_PN`` for a constant function."""


@dataclass(frozen=True)
class Case:
    """Values of a fixed function at all rows, and which rows are above a cut."""

    name: str
    f: Array
    positive: NDArray[np.bool_]

    def left_side(self, loss: str, labeled: Any = slice(None), unlabeled: Any = slice(None)) -> Any:
        """Return ``R_PU + R_NU`` minus the constant on some rows."""
        risk, constant = LOSSES[loss]
        f, positive, u = self.f[labeled], self.positive[labeled], self.f[unlabeled]
        return risk(f[positive], u) + risk(u, f[~positive]) - constant

    def right_side(self, loss: str) -> float:
        """Return ``R_PN`` on all rows."""
        return LOSSES[loss][0](self.f[self.positive], self.f[~self.positive])

    def penalty(self) -> float:
        """Return the difference of both sides for the squared loss."""
        share = self.positive.mean()
        variances = self.f[self.positive].var(), self.f[~self.positive].var()
        return float(2 * (share * variances[0] + (1 - share) * variances[1]))


def cases_of(name: str) -> Iterator[Case]:
    """Yield every function and cut of a dataset."""
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
    functions = {
        "trained": function_of(model)(X[rest]).astype(np.float64),
        "random direction": direction / direction.std(),
    }
    for words, f in functions.items():
        for cut in cuts:
            where = f", above {cut}" if len(cuts) > 1 else ""
            yield Case(f"{name}, {words}{where}", f, y[rest] > cut)


def judged(case: Case, draws: int) -> dict[str, dict[str, float]]:
    """Return the risks and differences of a case, by loss."""
    rng = np.random.default_rng(1)
    n = len(case.f)
    rows = [
        (rng.integers(n, size=N_LABELED), rng.integers(n, size=N_UNLABELED)) for _ in range(draws)
    ]
    found = {}
    for loss in LOSSES:
        risk = case.right_side(loss)
        off = np.array([case.left_side(loss, *drawn) for drawn in rows]) - risk
        error = float(off.std(ddof=1) / np.sqrt(draws))
        found[loss] = {
            "risk": risk,
            "difference": float(off.mean()),
            "standard_error": error,
            "standard_errors": float(off.mean() / error),
            "all_rows": case.left_side(loss) - risk,
            "penalty": case.penalty() if loss == "squared" else 0.0,
        }
    return found


def study(datasets: tuple[str, ...], draws: int) -> dict[str, Any]:
    """Print and return the differences on some datasets, as lists with a value per case."""
    cases = [case for name in datasets for case in cases_of(name)]
    found = [judged(case, draws) for case in cases]
    for case, of in zip(cases, found, strict=True):
        columns = "".join(
            f"{of[loss]['risk']:8.4f} {of[loss]['difference']:+8.4f} "
            f"({of[loss]['standard_errors']:+8.1f})"
            for loss in LOSSES
        )
        click.echo(f"{case.name:>40}{columns} {of['squared']['penalty']:8.4f}")
    numbers: dict[str, Any] = {"cases": [case.name for case in cases]}
    for loss in LOSSES:
        numbers[loss] = [of[loss]["standard_errors"] for of in found]
        names = [name for name in found[0][loss] if name != "standard_errors"]
        numbers[f"{loss}_risks"] = {name: [of[loss][name] for of in found] for name in names}
    return numbers


def missed(numbers: dict[str, Any]) -> list[str]:
    """Return descriptions of the violated equations."""
    found = []
    if not np.abs(numbers["zero_one"]).max() <= MAX_STANDARD_ERRORS:
        found.append("the 0-1 loss is biased")
    for loss in LOSSES:
        risks = numbers[f"{loss}_risks"]
        off = np.subtract(risks["all_rows"], risks["penalty"])
        if not np.abs(off).max() <= ROUNDING:
            found.append(f"the equation of the {loss.replace('_', '-')} loss on all rows")
    return found


@click.command(help=__doc__)
@click.option("--binary", multiple=True, default=("codrna", "ijcnn1", "skin", "dota2"))
@click.option("--ordinal", multiple=True, default=("sgemm", "abalone"))
@click.option("--draws", default=4000, show_default=True, type=click.IntRange(min=2))
@json_option
def main(
    binary: tuple[str, ...], ordinal: tuple[str, ...], draws: int, json_file: Path | None
) -> None:
    """Print a row per function and cut."""
    click.echo("of both losses: R_PN, the other side's difference, and that in standard errors;")
    click.echo("and what is expected of the squared loss")
    numbers = {"binary": study(binary, draws), "ordinal": study(ordinal, draws)}
    write_json(json_file, "study_risks", numbers)
    if failed := [one for of in numbers.values() for one in missed(of)]:
        click.echo(f"missed: {'; '.join(failed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

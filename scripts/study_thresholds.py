"""Compare rules for thresholds on the same ranking functions of several datasets.

For each dataset and trial one function is trained (QS3ORAO at fixed hyper-parameters), and its
thresholds are placed by every rule. The paper's rule, the hinge, depends on the scale of the
function; the others do not. ``constant`` predicts the median class of the labelled rows.

Lemma 1 of the paper states that the thresholds with the least hinge loss are unique and strictly
ordered. So the numbers also have, for every trial and cut, the width of the interval of minimisers,
and the distance of each threshold to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from study import Result, show, study

from dsgkit import QS3ORAO
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.estimators.labeled import ConstantMedian
from dsgkit.experiment.timing import Clock
from dsgkit.linalg import Array
from dsgkit.tasks.ordinal import Ordinal

SETTING: dict[str, Any] = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5}
RULES = ("logistic", "absolute", "share", "hinge")
COLUMNS = ["mae", "macro_mae", "accuracy", "never"]
LOSS_TOLERANCE = 1e-9  # relative difference up to which two losses are equal


def minimisers(values: Array, above: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the ends of the interval of minimisers of a cut's hinge loss."""
    # convex and piecewise linear: they lie between the first and last knot with the least loss
    sign = np.where(above, 1.0, -1.0)
    points = np.sort(values - sign)
    loss = np.maximum(0, 1 - sign * (values - points[:, None])).sum(axis=1)
    least = points[loss <= loss.min() * (1 + LOSS_TOLERANCE)]
    return float(least[0]), float(least[-1])


def scores_of(name: str, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the scores of every rule and trial on a dataset."""
    dataset = load_dataset(DATASETS[name])
    for number in range(trials):
        trial = Ordinal(dataset, Ordinal.Spec(kind=Ordinal.kind), number)
        at = {axis: min(size, 2000) for axis, size in trial.sizes.items()}
        training = trial.training(at)
        model = QS3ORAO(**SETTING, random_state=number).fit_function(**training)
        for rule in RULES:
            model.set_params(thresholds=rule).fit_thresholds(**training)
            row: dict[str, Any] = {"dataset": name, "rule": rule}
            row |= trial.judge(model, at, Clock()).scores
            if rule == "hinge":
                values = model.score_samples(training["X"][:]).astype(np.float64)
                ends = [minimisers(values, training["y"] > cut) for cut in model.classes_[:-1]]
                row["widths"] = [high - low for low, high in ends]
                row["gaps"] = np.diff(model.thresholds_).tolist()
            yield row
        constant = ConstantMedian().fit(**training)
        yield {"dataset": name, "rule": "constant", **trial.judge(constant, at, Clock()).scores}


@study
@click.argument("datasets", nargs=-1, default=("sgemm", "abalone", "lev"))
@click.option("--trials", default=3, show_default=True)
def main(datasets: tuple[str, ...], trials: int) -> Result:
    rows = pd.DataFrame([row for name in datasets for row in scores_of(name, trials)])
    means = rows.groupby(["dataset", "rule"], sort=False)[COLUMNS].mean()
    show(f"means over {trials} trials", means.reset_index())
    numbers: dict[str, Any] = {"datasets": datasets}
    numbers |= {str(rule): of[COLUMNS].to_dict("list") for rule, of in means.groupby("rule")}
    for name in ("widths", "gaps"):
        of = rows[rows["rule"] == "hinge"][name].explode().astype(float)
        numbers["hinge"][name] = of
        click.echo(f"{name} of the hinge's thresholds: {of.min():.3g} to {of.max():.3g}")
    return numbers, []

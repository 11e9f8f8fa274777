"""Learning a ranking from labelled and unlabelled rows.

Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
unlabelled ones (Shi et al., IJCAI 2019). Models are judged by AUC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.arrays import Array
from dsgkit.numerics.shapes import checked_shape
from dsgkit.tasks.base import At, Point, Scores
from dsgkit.tasks.convergence import DISTANCE, ConvergenceSpec, ConvergenceTrial
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import auc, average_precision
from dsgkit.tasks.semi_supervised import (
    TEST_ROWS,
    UNLABELED_ROWS,
    SemiSupervisedTask,
)

AUC = Measure.of("auc", "AUC", "AUC", where=UNLABELED_ROWS, better="higher", digits=3)
PRECISION = Measure.of(
    "average_precision",
    "Average precision",
    "average precision",
    where=UNLABELED_ROWS,
    better="higher",
    digits=3,
    output="precision",
    optional=True,
)


class AUCSpec(ConvergenceSpec):
    """The protocol of a ranking."""

    @property
    def selection(self) -> str:
        """Description of how hyper-parameters are chosen."""
        return f"{self.folds}-fold cross-validation by AUC"


class AUCTrial(ConvergenceTrial):
    """A trial of a ranking."""

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the AUC of every point on the held-out labelled rows of every fold."""
        folds, given = self.folds(at), self.given(estimator, at)
        values = estimator.fit_points(points, folds=folds, **given)
        shape = len(points), len(given["y"])
        return fold_scores(checked_shape(values, "fit_points", shape), given["y"], folds)

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the measures of the ranking; None if the rows hold only one class."""
        return ranking_scores(y, predictions)


def ranking_scores(y: Any, values: Any) -> dict[str, float | None]:
    """Return the measures of a ranking by name; None if the rows hold only one class."""
    both = len(np.unique(y)) == 2
    return {
        AUC.name: auc(y, values) if both else None,
        PRECISION.name: average_precision(y, values) if both else None,
    }


def fold_scores(
    values: Array, y: NDArray[np.integer], folds: Sequence[NDArray[np.integer]]
) -> Scores:
    """Score out-of-fold values by AUC.

    Parameters
    ----------
    values : ndarray of shape (n_points, n_labeled)
        NaN for a point without a solution.
    y : ndarray of shape (n_labeled,)
    folds : sequence of int arrays

    Returns
    -------
    list of list of float or None
        Per point and fold; None if the fold holds only one class, or the point has no solution.
    """
    return [[_fold_score(row[fold], y[fold]) for fold in folds] for row in values]


def _fold_score(values: Array, y: NDArray[np.integer]) -> float | None:
    if not np.isfinite(values).all() or len(np.unique(y)) < 2:
        return None
    return auc(y, values)


class SemiSupervisedAUC(SemiSupervisedTask):
    """The learning setting."""

    kind = "semi_supervised_auc"
    version = 1
    Spec = AUCSpec
    Trial = AUCTrial
    measures = (
        AUC,
        AUC.on(TEST_ROWS, "test"),
        PRECISION,
        PRECISION.on(TEST_ROWS, "test"),
        DISTANCE,
    )
    chooses = AUC.name
    outputs = ("auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve")


TASK = SemiSupervisedAUC()

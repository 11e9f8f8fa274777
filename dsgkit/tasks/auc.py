"""Learning a ranking from labelled and unlabelled rows.

Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
unlabelled ones (Shi et al., IJCAI 2019). Models are judged by AUC.

With ``protocol: {convergence: true}``, the trace of a fit holds the mean of ``(f_t - f*)^2`` over
the training rows, relative to that of ``f*^2``, for the exact minimiser f* of the objective. It
needs estimators with ``fit_observed`` and ``exact_minimiser``; both papers prove that it decreases
like 1/t.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from dsgkit.errors import DsgError, DsgWarning
from dsgkit.tasks.base import At, Judgement, is_observable, settled
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import auc
from dsgkit.tasks.semi_supervised import (
    TEST_ROWS,
    UNLABELED,
    UNLABELED_ROWS,
    SemiSupervised,
    SemiSupervisedSpec,
)

_JUDGES: Any = {"where": UNLABELED_ROWS, "better": "higher"}

AUC = Measure("auc", "AUC", "AUC", **_JUDGES)
PRECISION = Measure(
    "average_precision", "Average precision", output="precision", optional=True, **_JUDGES
)
DISTANCE = Measure(
    "squared_distance",
    "Squared distance to the exact minimiser, relative to its square",
    "squared distance",
    where="training rows",
    better="lower",
    digits=5,
    output="convergence",
    optional=True,
    traced=True,
)

MAX_CONVERGENCE_ROWS = 5000  # unlabelled ones: the exact minimiser takes cubic time


class ConvergenceSpec(SemiSupervisedSpec):
    """Protocol of a split whose fits can be compared with the exact minimiser.

    Attributes
    ----------
    convergence : bool
        Whether fits with up to 5,000 unlabelled rows record their distance from the minimiser.
    """

    convergence: bool = False

    only_for_judging: ClassVar[tuple[str, ...]] = ("convergence",)
    unsaid: ClassVar[tuple[str, ...]] = (*SemiSupervisedSpec.unsaid, "convergence")
    chosen_by: ClassVar[str] = "AUC"

    @property
    def selection(self) -> str:
        return f"{self.folds}-fold cross-validation by {self.chosen_by}"


class Convergence(SemiSupervised):
    """A ranking whose fits can be compared with the exact minimiser."""

    Spec = ConvergenceSpec

    def observed(self, estimator: Any, at: At) -> int | None:
        if not (self._compared(at) and is_observable(estimator)):
            return None
        return int(settled(estimator, self.counts(at)).n_iterations)

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        """Score a fitted function, and compare it with the exact minimiser if configured."""
        judgement = super().judge(model, at, clock)
        if self._compared(at) and hasattr(model, "exact_minimiser"):
            judgement.trace = self._distances(model, at)
            if judgement.trace:
                judgement.scores[DISTANCE.name] = judgement.trace[-1][DISTANCE.name]
        return judgement

    def _compared(self, at: At) -> bool:
        return self.spec.convergence and at[UNLABELED.name] <= MAX_CONVERGENCE_ROWS

    def _distances(self, model: Any, at: At) -> list[dict[str, float]]:
        """Return the distance at every checkpoint; none, with a warning, without a minimiser."""
        training = self.given(model, at)
        try:
            minimiser = model.exact_minimiser(**training)
        except DsgError as error:
            warnings.warn(f"no exact minimiser to compare with: {error}", DsgWarning, stacklevel=2)
            return []
        rows = np.concatenate([training["X"][:], training["X_unlabeled"][:]])
        exact = minimiser.decision_function(rows)
        scale = np.mean(exact**2)

        def distance(function: Any) -> float:
            return float(np.mean((function.decision_function(rows) - exact) ** 2) / scale)

        return self.trace(model, DISTANCE.name, distance)


class SemiSupervisedAUC(Convergence):
    """The learning setting."""

    kind = "semi_supervised_auc"
    measures = (
        *(m for each in (AUC, PRECISION) for m in (each, each.on(TEST_ROWS, "test"))),
        DISTANCE,
    )
    chooses = AUC.name
    outputs = ("auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve")

    def fold_score(self, y: Any, values: Any) -> float | None:
        return ranking_scores(y, values)[AUC.name]

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        return ranking_scores(y, predictions)


def ranking_scores(y: Any, values: Any) -> dict[str, float | None]:
    """Return the measures of a ranking by name; None if the rows hold only one class."""
    from sklearn.metrics import average_precision_score

    if len(np.unique(y)) < 2:
        return {AUC.name: None, PRECISION.name: None}
    precision = float(average_precision_score(np.asarray(y) > 0, values))
    return {AUC.name: auc(y, values), PRECISION.name: precision}

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
from dsgkit.tasks.base import At, Clock, Judgement, fit_watched, has, settled
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

AUC = Measure.of("auc", "AUC", "AUC", **_JUDGES)
PRECISION = Measure.of(
    "average_precision", "Average precision", "average precision", output="precision", **_JUDGES
).but(optional=True)


MAX_CONVERGENCE_ROWS = 5000
"""Largest number of unlabelled rows for which the exact minimiser is computed, in cubic time."""

DISTANCE = Measure.of(
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

    @property
    def selection(self) -> str:
        """How hyper-parameters are chosen."""
        return f"{self.folds}-fold cross-validation by AUC"


class Convergence(SemiSupervised):
    """A ranking whose fits can be compared with the exact minimiser."""

    Spec = ConvergenceSpec
    _along: tuple[Any, list[tuple[int, float, Any]]] = (None, [])

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train the function, with checkpoints if convergence is measured and possible."""
        training = self.given(estimator, at)
        self._along = (None, [])
        if self._compared(at) and has(estimator, "fit_observed", "n_iterations"):
            n_iterations = settled(estimator, self.counts(at)).n_iterations
            self._along = estimator, fit_watched(estimator, training, n_iterations, clock)
            return
        with clock.phase("fit"):
            getattr(estimator, "fit_function", estimator.fit)(**training)

    def judge(self, model: Any, at: At, clock: Clock) -> Judgement:
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
        observed, along = self._along
        training = self.given(model, at)
        try:
            minimiser = model.exact_minimiser(**training)
        except DsgError as error:
            warnings.warn(f"no exact minimiser to compare with: {error}", DsgWarning, stacklevel=2)
            return []
        rows = np.concatenate([training["X"][:], training["X_unlabeled"][:]])
        exact = minimiser.decision_function(rows)
        scale = np.mean(exact**2)
        return [
            {
                "iteration": t,
                "seconds": seconds,
                DISTANCE.name: float(np.mean((f.decision_function(rows) - exact) ** 2) / scale),
            }
            for t, seconds, f in (along if observed is model else [])
        ]


class SemiSupervisedAUC(Convergence):
    """The learning setting."""

    kind = "semi_supervised_auc"
    measures = (
        AUC,
        AUC.on(TEST_ROWS, "test"),
        PRECISION,
        PRECISION.on(TEST_ROWS, "test"),
        DISTANCE,
    )
    chooses = AUC.name
    outputs = ("auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve")

    def fold_score(self, y: Any, values: Any) -> float | None:
        """Return the AUC of a fold; None if it holds only one class."""
        return ranking_scores(y, values)[AUC.name]

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the measures of the ranking."""
        return ranking_scores(y, predictions)


def ranking_scores(y: Any, values: Any) -> dict[str, float | None]:
    """Return the measures of a ranking by name; None if the rows hold only one class."""
    from sklearn.metrics import average_precision_score

    if len(np.unique(y)) < 2:
        return {AUC.name: None, PRECISION.name: None}
    precision = float(average_precision_score(np.asarray(y) > 0, values))
    return {AUC.name: auc(y, values), PRECISION.name: precision}

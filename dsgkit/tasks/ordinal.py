"""Learning a ranking and ordered classes from labelled and unlabelled rows.

Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
unlabelled ones. A function is judged by the mean AUC over the cuts between the classes (Shi et al.,
AAAI 2020, Eq. 2), and the classes that its thresholds predict by their absolute error.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.targets import check_kind
from dsgkit.errors import DataError, FitError
from dsgkit.numerics.shapes import checked_shape
from dsgkit.random.seeds import derive_seed, permutation
from dsgkit.tasks.asked import Classifying, Thresholded
from dsgkit.tasks.base import At, Clock, Point, Scores
from dsgkit.tasks.convergence import DISTANCE, ConvergenceSpec, ConvergenceTrial
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import cut_aucs
from dsgkit.tasks.scaling import Scale, scaling_of
from dsgkit.tasks.semi_supervised import (
    TEST_ROWS,
    UNLABELED,
    UNLABELED_ROWS,
    SemiSupervisedTask,
    finite_values,
)
from dsgkit.tasks.splits import SemiSupervisedSplit, split_in_order
from dsgkit.text.specs import Count

CLASS_PROPORTIONS = "class_proportions"
"""Word in configs for the share of rows above each cut."""

AUC = Measure.of(
    "auc", "AUC, mean over the cuts", "AUC", where=UNLABELED_ROWS, better="higher", digits=3
)
MAE = Measure.of(
    "mae", "Mean absolute error", "absolute error", where=UNLABELED_ROWS, better="lower", digits=3
)
MACRO_MAE = MAE.but(
    name="macro_mae",
    title="Mean absolute error, mean over the classes",
    word="macro-averaged absolute error",
)
ACCURACY = Measure.of(
    "accuracy", "Accuracy", "accuracy", where=UNLABELED_ROWS, better="higher", digits=3
)
NEVER = Measure.of(
    "never", "Classes never predicted", "classes never predicted", where=UNLABELED_ROWS, digits=1
)
THRESHOLD_TIME = Measure.of(
    "threshold_seconds",
    "Time for the thresholds",
    "time for the thresholds",
    better="lower",
    unit="seconds",
    output="thresholds",
    clock="thresholds",
    optional=True,
)
JUDGED = (AUC, MAE, MACRO_MAE, ACCURACY, NEVER)


class OrdinalSpec(ConvergenceSpec):
    """Protocol of a split into labelled and unlabelled rows, with scaled features.

    Attributes
    ----------
    labeled : int
        Labelled rows, at most half of all rows.
    scale : tuple of float or "common"
        The interval that every feature is mapped to, or a common scaling of all features, which
        keeps the proportions of features with the same unit.
    folds : int
        Folds of the search.
    """

    labeled: Count = 500
    scale: Scale = (0.0, 1.0)  # type: ignore[assignment]

    @property
    def _labeled_words(self) -> str:
        return f"{self.labeled:,} labelled rows (at most half of all)"

    @property
    def selection(self) -> str:
        """Description of how hyper-parameters are chosen."""
        return f"{self.folds}-fold cross-validation by the mean AUC over the cuts"


class OrdinalTrial(ConvergenceTrial):
    """A trial on ordered classes 1..k."""

    _spec: OrdinalSpec

    def _n_labeled(self) -> int:
        dataset, spec = self._dataset, self._spec
        check_kind(dataset, "ordered")
        labeled = min(spec.labeled, len(dataset.y) // 2)
        if labeled < 2 * spec.folds:
            raise DataError(
                f"dataset {dataset.name}: {len(dataset.y):,} rows give {labeled} labelled ones, at "
                f"most half; {spec.folds} folds need {2 * spec.folds}"
            )
        return labeled

    @functools.cached_property
    def n_classes(self) -> int:
        """Number of classes of the whole training set."""
        return int(self._dataset.y.max())

    @functools.cached_property
    def labeled_classes(self) -> NDArray[np.integer]:
        """Classes of the labelled rows, the only ones that a model can predict."""
        return np.unique(self._dataset.y[self._order()[: self._labeled]])

    @functools.cached_property
    def words(self) -> dict[str, Any]:
        """Share of all rows above each cut between labelled classes."""
        counts = np.bincount(self._dataset.y, minlength=self.n_classes + 1)
        below = np.cumsum(counts)[self.labeled_classes[:-1]] / len(self._dataset.y)
        return {CLASS_PROPORTIONS: tuple((1 - below).tolist())}

    def _order(self) -> NDArray[np.int64]:
        """Return all rows, the labelled ones first."""
        return permutation(len(self._dataset.y), derive_seed(self._seed, "labeled"))

    @functools.cached_property
    def split(self) -> SemiSupervisedSplit:
        """The rows of the trial."""
        dataset, scale, order = self._dataset, self._spec.scale, self._order()
        if len(self.labeled_classes) < 2:
            raise DataError(
                f"dataset {dataset.name}: all {self._labeled} labelled rows drawn are of one "
                "class; raise `labeled`"
            )
        scaling = scaling_of(dataset, scale)
        return split_in_order(dataset, order, self._labeled, self._spec.folds, self._seed, scaling)

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of labelled and unlabelled rows, and of a model's cuts."""
        return {**super().counts(at), "n_cuts": max(1, len(self.labeled_classes) - 1)}

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train the function, and place the thresholds in a second phase."""
        training = self.given(estimator, at)
        self.train(estimator, training, at, clock)
        if isinstance(estimator, Thresholded):
            with clock.phase("thresholds"):
                estimator.fit_thresholds(**training)

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the mean AUC of every point on the held-out labelled rows of every fold."""
        split = self.split
        classes, codes = np.unique(split.y, return_inverse=True)
        shape = len(points), len(split.y)
        values = checked_shape(
            estimator.fit_points(points, folds=split.folds, **self.given(estimator, at)),
            "fit_points",
            shape,
            (*shape, len(classes) - 1),
        )
        return [
            [_mean_auc(codes[fold], row[fold], len(classes)) for fold in split.folds]
            for row in values
        ]

    def predictions(self, model: Any, rows: Any) -> tuple[NDArray[np.floating], NDArray[Any]]:
        """Return values at rows (with a column per cut, if the model has them) and classes.

        If the labelled rows lack classes, cuts share a column.
        """
        classes = np.asarray(model.classes_)
        n = len(rows)
        values = finite_values(model, rows, (n,), (n, len(classes) - 1))
        labels = model.classify(values) if isinstance(model, Classifying) else model.predict(rows)
        predicted = np.asarray(labels)
        if predicted.shape != (n,):
            raise FitError(f"predict returned shape {predicted.shape} for {n:,} rows")
        if values.ndim == 2:
            n_below = np.searchsorted(classes, np.arange(1, self.n_classes), side="right")
            values = values[:, np.clip(n_below - 1, 0, len(classes) - 2)]
        return values, predicted

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the measures of the ranking and of the predicted classes."""
        values, predicted = predictions
        errors = np.abs(predicted - y)
        present = np.unique(y)
        return {
            AUC.name: _mean_auc(y - 1, values, self.n_classes),
            MAE.name: float(np.mean(errors)),
            MACRO_MAE.name: float(np.mean([errors[y == label].mean() for label in present])),
            ACCURACY.name: float(np.mean(errors == 0)),
            NEVER.name: float(len(np.setdiff1d(present, predicted))),
        }


def _mean_auc(codes: Any, values: NDArray[np.floating], n_classes: int) -> float | None:
    """Return the mean AUC over the cuts that have rows on both sides; None without a solution."""
    if not np.isfinite(values).all():
        return None
    aucs = [auc for auc in cut_aucs(codes, values, n_classes) if auc is not None]
    return float(np.mean(aucs)) if aucs else None


class Ordinal(SemiSupervisedTask):
    """The learning setting."""

    kind = "ordinal"
    version = 1
    Spec = OrdinalSpec
    Trial = OrdinalTrial
    axes = (UNLABELED,)
    measures = (
        *JUDGED,
        *(measure.on(TEST_ROWS, "test") for measure in JUDGED),
        THRESHOLD_TIME,
        DISTANCE,
    )
    chooses = AUC.name
    outputs = (
        "auc_table",
        "mae_table",
        "accuracy_table",
        "never_table",
        "time_table",
        "auc_curve",
        "auc_boxplot",
        "time_curve",
    )
    words = (CLASS_PROPORTIONS,)
    calls = ("decision_function", "predict", "fit_points", "cost")


TASK = Ordinal()

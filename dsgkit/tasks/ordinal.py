"""Learning a ranking and ordered classes from labelled and unlabelled rows."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.config.spec import Count
from dsgkit.errors import FitError
from dsgkit.tasks.base import At, Scale
from dsgkit.tasks.measures import MEASURES
from dsgkit.tasks.metrics import cut_aucs
from dsgkit.tasks.semi_supervised import DISTANCE, TEST_ROWS, UNLABELED, AUCSpec, SemiSupervisedAUC

CLASS_PROPORTIONS = "class_proportions"  # in configs: the share of rows above each cut

*JUDGED, THRESHOLD_TIME = MEASURES["ordinal"]


class OrdinalSpec(AUCSpec):
    """Protocol of a split into labelled and unlabelled rows, with scaled features.

    Attributes
    ----------
    labeled : int
        Labelled rows, at most half of all rows.
    scale : tuple of float or "common"
        The interval that every feature is mapped to, or a common scaling of all features, which
        keeps the proportions of features with the same unit.
    """

    labeled: Count = 500
    scale: Scale = (0.0, 1.0)  # type: ignore[assignment]

    labeled_words: ClassVar[str] = "{:,} labelled rows (at most half of all)"
    chosen_by: ClassVar[str] = "the mean AUC over the cuts"


class Ordinal(SemiSupervisedAUC):
    """Learning a ranking and ordered classes 1..k from labelled and unlabelled rows.

    Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
    unlabelled ones. A function is evaluated by the mean AUC over the cuts between the classes (Shi
    et al., AAAI 2020, Eq. 2), and the classes that its thresholds predict by their absolute error.
    """

    kind = "ordinal"
    Spec = OrdinalSpec
    phases: ClassVar = {"fit": "fit_function", "thresholds": "fit_thresholds"}
    axes = (UNLABELED,)
    measures = (*JUDGED, *(m.on(TEST_ROWS, "test") for m in JUDGED), THRESHOLD_TIME, DISTANCE)
    outputs = (
        *("auc_table", "mae_table", "accuracy_table", "never_table", "time_table"),
        *("auc_curve", "auc_boxplot", "time_curve"),
    )
    words = (CLASS_PROPORTIONS,)
    target = "ordered"

    at_most_half = True

    def __init__(self, dataset: Any, spec: Any, seed: int) -> None:
        super().__init__(dataset, spec, seed)
        self.n_classes = int(dataset.y.max())
        if self.n_labeled < 2 * spec.folds:
            raise dataset.error(
                f"{len(dataset.y):,} rows give {self.n_labeled} labelled "
                f"ones, at most half; {spec.folds} folds need {2 * spec.folds}"
            )

    @functools.cached_property
    def labeled_classes(self) -> NDArray[np.integer]:
        """Classes of the labelled rows, the only ones that a model can predict."""
        return np.unique(self.dataset.y[self.order[: self.n_labeled]])

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """Share of all rows above each cut between labelled classes."""
        counts = np.bincount(self.dataset.y, minlength=self.n_classes + 1)
        below = np.cumsum(counts)[self.labeled_classes[:-1]] / len(self.dataset.y)
        return {CLASS_PROPORTIONS: tuple((1 - below).tolist())}

    @functools.cached_property
    def split(self) -> Any:
        if len(self.labeled_classes) < 2:
            raise self.dataset.error(
                f"all {self.n_labeled} labelled rows drawn are of one class; raise `labeled`"
            )
        return super().split

    def counts(self, at: At) -> dict[str, int]:
        return {**super().counts(at), "n_cuts": max(1, len(self.labeled_classes) - 1)}

    def shapes(self, n_rows: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the values of one function, or of one per cut."""
        return (n_rows,), (n_rows, len(self.labeled_classes) - 1)

    def fold_score(self, y: Any, values: Any) -> float | None:
        classes = self.labeled_classes
        return mean_auc(np.searchsorted(classes, y), values, len(classes))

    def predictions(self, model: Any, rows: Any) -> tuple[NDArray[np.floating], NDArray[Any]]:
        """Return values at rows, in columns per cut if the model has them, and classes."""
        values = super().predictions(model, rows)
        labels = model.classify(values) if hasattr(model, "classify") else model.predict(rows)
        predicted = np.asarray(labels)
        if predicted.shape != (len(rows),):
            raise FitError(f"predict returned shape {predicted.shape} for {len(rows):,} rows")
        if values.ndim == 2:  # cuts between classes that no labelled row has share a column
            cuts = np.arange(1, self.n_classes)
            n_below = np.searchsorted(self.labeled_classes, cuts, side="right")
            values = values[:, np.clip(n_below - 1, 0, values.shape[1] - 1)]
        return values, predicted

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        values, predicted = predictions
        errors, present = np.abs(predicted - y), np.unique(y)
        return {
            "auc": mean_auc(y - 1, values, self.n_classes),
            "mae": float(np.mean(errors)),
            "macro_mae": float(np.mean([errors[y == label].mean() for label in present])),
            "accuracy": float(np.mean(errors == 0)),
            "never": float(len(np.setdiff1d(present, predicted))),
        }


def mean_auc(codes: Any, values: NDArray[np.floating], n_classes: int) -> float | None:
    """Return the mean AUC over the cuts that have rows on both sides; None without one."""
    aucs = [auc for auc in cut_aucs(codes, values, n_classes) if auc is not None]
    return float(np.mean(aucs)) if aucs else None

"""Learning a classifier from labelled and unlabelled rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.config.spec import Repetitions
from dsgkit.linalg import checked_shape, row_blocks
from dsgkit.tasks.base import At, Point, Scores, Work, cost_of, settled
from dsgkit.tasks.measures import MEASURES
from dsgkit.tasks.metrics import balanced_accuracy, error_rate
from dsgkit.tasks.semi_supervised import (
    AUC,
    PRECISION,
    SemiSupervised,
    SemiSupervisedSpec,
    ranking_scores,
    with_test,
)

ERROR, BALANCED, *BALANCES = MEASURES["semi_supervised_svm"]

COLLAPSED_SHARE = 0.1  # of its true share, below which a class counts as vanished
THRESHOLD_ROWS = 5000  # unlabelled ones, from whose values a search places a threshold
STANDARD_ERRORS = 1.96  # largest distance of a share of positives from the labelled rows'
_BLOCK_ROWS = 2**16


class SVMSpec(SemiSupervisedSpec):
    """The protocol of a classifier.

    Attributes
    ----------
    select : {"hidden_labels", "labeled_rows"}
        How hyper-parameters are chosen: "hidden_labels" is the paper's search, by labels that no
        user has; "labeled_rows" is cross-validation of the labelled rows with all unlabelled ones
        in training, by the balanced error.
    repeats : int
        Repeats of that cross-validation, each with new folds.
    threshold : {"zero", "labeled_share"}
        "zero" predicts values of at least 0 positive. With "labeled_share", if threshold 0 predicts
        a share of positives among the unlabelled training rows that the labels contradict, the
        threshold moves to the labelled share (`share_cut`). A method that does not use unlabelled
        rows is fitted once, so its threshold is that of the largest size of a sweep.
    """

    select: Literal["hidden_labels", "labeled_rows"] = "hidden_labels"
    repeats: Repetitions = 1
    threshold: Literal["zero", "labeled_share"] = "zero"

    only_for_search: ClassVar[tuple[str, ...]] = ("folds", "select", "repeats")
    only_for_judging: ClassVar[tuple[str, ...]] = ("judged", "threshold")

    @property
    def setting(self) -> str:
        placed = "thresholds by the labelled share of positives"
        parts = [super().setting, placed if self.threshold == "labeled_share" else ""]
        return ", ".join(filter(None, parts))

    @property
    def selection(self) -> str:
        if self.select == "hidden_labels":
            return (
                f"training with each of {self.folds} parts of the unlabelled rows, by the error on "
                "the others, whose labels no user has"
            )
        repeated = f", {self.repeats} times," if self.repeats > 1 else ""
        rows = f"{self.folds}-fold cross-validation of the labelled rows"
        return f"{rows}{repeated} by balanced error"

    @property
    def chooses(self) -> str:
        return BALANCED.name if self.select == "labeled_rows" else ERROR.name

    @property
    def oracle(self) -> str:
        hidden = "hyper-parameters chosen with hidden labels"
        return hidden if self.select == "hidden_labels" else ""


class SemiSupervisedSVM(SemiSupervised):
    """Learning a classifier from labelled and unlabelled rows.

    The paper's search cuts the unlabelled rows into as many parts as there are folds. A model is
    trained on the labelled rows and one part, and tested on the other parts by their hidden labels
    (Geng et al., IJCAI 2019, section 6.1). The other search is cross-validation on the labelled
    rows, with all unlabelled rows in training.
    """

    kind = "semi_supervised_svm"
    version = 2
    Spec = SVMSpec
    measures = (*with_test(ERROR, BALANCED, AUC, PRECISION), *BALANCES)
    chooses = ERROR.name
    outputs = (
        *("error_table", "balanced_table", "time_table", "balance_table"),
        *("error_curve", "error_boxplot", "time_curve"),
    )

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        by_hidden, n = self.spec.select == "hidden_labels", len(points)
        if by_hidden:
            estimator = settled(estimator, self.counts(at))
            # shared parameters are already set and settled, e.g. n_iterations is a number, not null
            varied = [name for name, v in points[0].items() if any(p[name] != v for p in points)]
            points = [{name: point[name] for name in varied} for point in points]
        folds = self._parts(estimator, at) if by_hidden else self._held_out(estimator, at)
        error, scores = error_rate if by_hidden else balanced_error, []
        for training, X, y in folds:
            models = estimator.fit_points(points, **training)
            cuts = self._cuts(models, training["y"], at, n)
            solved = np.array([cut is None or math.isfinite(cut) for cut in cuts])
            positive = np.empty((len(y), n), bool)
            for block in row_blocks(len(y), _BLOCK_ROWS):
                values = _values(models, X[block], n)
                solved &= np.isfinite(values).all(axis=0)
                for column, cut in enumerate(cuts):
                    positive[block, column] = is_positive(values[:, column], cut)
            columns = zip(positive.T, solved & (len(y) > 0), strict=True)
            scores.append([error(y, np.where(c, 1, -1)) if valid else None for c, valid in columns])
        return [list(row) for row in zip(*scores, strict=True)]

    def _bounds(self, at: At) -> Iterator[tuple[int, int]]:
        """Yield where each part of the unlabelled rows begins and ends."""
        n, n_parts = at["unlabeled"], self.spec.folds
        return itertools.pairwise(n * number // n_parts for number in range(n_parts + 1))

    def fold_rows(self, at: At) -> dict[str, list[Any]]:
        """Return the held-out labelled rows; or each part of unlabelled rows, which trains."""
        if self.spec.select == "labeled_rows":
            return super().fold_rows(at)
        rows: Any = self.split.X_unlabeled.index
        return {"unlabeled": [rows[low:high] for low, high in self._bounds(at)]}

    def _held_out(self, estimator: Any, at: At) -> Iterator[tuple[dict[str, Any], Any, Any]]:
        """Yield what a fold trains on, its held-out labelled rows, and their labels."""
        given = self.given(estimator, at)
        X, y = given["X"], given["y"]
        for fold in self.folds(at):
            rest = np.setdiff1d(np.arange(len(y)), fold)
            yield {**given, "X": X[rest], "y": y[rest]}, X[fold], y[fold]

    def folds(self, at: At) -> list[NDArray[np.int64]]:
        return self.repeated_folds(at, self.spec.repeats)

    def _parts(self, estimator: Any, at: At) -> Iterator[tuple[dict[str, Any], Any, Any]]:
        """Yield what is trained with a part, the other unlabelled rows, and their hidden labels."""
        given, n = self.given(estimator, at), at["unlabeled"]
        for low, high in self._bounds(at):
            replaced = self.unlabeled(estimator, slice(low, high))
            others = np.concatenate([np.arange(low), np.arange(high, n)])
            others = others[self.split.known[others]]
            training = {name: replaced.get(name, array) for name, array in given.items()}
            yield training, self.split.X_unlabeled.take(others), self.split.y_unlabeled[others]

    def _cuts(self, models: Any, y: NDArray[Any], at: At, n_models: int) -> Sequence[float | None]:
        """Return the threshold of each model; None for 0."""
        if self.spec.threshold == "zero":
            return [None] * n_models
        step = -(-at["unlabeled"] // THRESHOLD_ROWS)
        sample = self.split.X_unlabeled.take(slice(0, at["unlabeled"], step))
        return [share_cut(column, y) for column in _values(models, sample, n_models).T]

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        folds, n, counts = self.spec.folds, at["unlabeled"], self.counts(at)
        n_fits, n_tested = folds * self.spec.repeats, 0
        if self.spec.select == "hidden_labels":
            estimator = settled(estimator, counts)
            counts["n_unlabeled"] = -(-n // folds)
            n_fits, n_tested = folds, (folds - 1) * n
        n_placing = 0 if self.spec.threshold == "zero" else min(n, THRESHOLD_ROWS)
        cost = cost_of(estimator, self.dataset.n_features, counts, n_points)
        scoring = (n_tested + n_fits * n_placing) * cost.row_flops(n_points)
        return Work(n_fits * cost.flops, scoring, cost.memory, n_fits * n_points)

    def scoring(self, predictions: Any, at: At) -> Callable[[Any, Any], dict[str, float | None]]:
        """Return the scoring function with the threshold from the unlabelled training rows."""
        n_judged = int(np.searchsorted(self.judging, at["unlabeled"]))
        if self.spec.threshold == "zero" or not n_judged:
            return self.score
        return partial(self.score, cut=share_cut(predictions[:n_judged], self.training(at)["y"]))

    def score(self, y: Any, predictions: Any, cut: float | None = None) -> dict[str, float | None]:
        positive = is_positive(predictions, cut)
        signs = np.where(positive, 1, -1)
        share, true = float(np.mean(positive)), float(np.mean(y > 0))
        collapsed = share < COLLAPSED_SHARE * true or 1 - share < COLLAPSED_SHARE * (1 - true)
        return {
            ERROR.name: error_rate(y, signs),
            BALANCED.name: balanced_error(y, signs),
            **ranking_scores(y, predictions),
            "positive": share,
            "positive_true": true,
            "collapsed": float(collapsed),
        }


def _values(models: Any, rows: Any, n_models: int) -> NDArray[Any]:
    method = "decision_function of fit_points"
    return checked_shape(models.decision_function(rows), method, (len(rows), n_models))


def is_positive(values: Any, cut: float | None) -> NDArray[np.bool_]:
    """Return which values are predicted positive: those above a threshold, or of at least 0."""
    values = np.asarray(values, np.float64)  # float32 would round the threshold
    return np.asarray(values >= 0 if cut is None else values > cut)


def share_cut(values: Any, y: NDArray[np.integer]) -> float | None:
    """Return the threshold with which the predicted share of positives agrees with the labels.

    Threshold 0 (None) is kept unless its share is outside the 95% interval (Wilson's) of the share
    that the labels estimate: always moving it would spoil good thresholds by the error of the
    estimate (on skin, the balanced error rose from 1% to 3%). NaN if values are not finite. Of many
    values equal to the threshold, all are above it or none, whichever is nearer to the share.
    """
    values = np.asarray(values, np.float64)
    if not np.isfinite(values).all():
        return np.nan
    share, predicted = float(np.mean(y > 0)), float(np.mean(values >= 0))
    error = math.sqrt(predicted * (1 - predicted) / len(y))
    if abs(predicted - share) <= STANDARD_ERRORS * error:
        return None
    cut = np.quantile(values, 1 - share)
    shortfall, excess = share - np.mean(values > cut), np.mean(values >= cut) - share
    equal_are_above = shortfall > excess + 1 / len(values)  # a single value at it is not above
    return float(np.nextafter(cut, -np.inf) if equal_are_above else cut)


def balanced_error(y: Any, values: Any) -> float | None:
    """Return the mean error over the classes; None with one class."""
    return 1 - balanced_accuracy(y, values) if len(np.unique(y)) > 1 else None

"""What a protocol decides: how a search scores its points, and what a fit is judged by."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.experiment.selection import fold_scores
from dsgkit.kernels.gaussian import row_blocks
from dsgkit.tasks.metrics import auc, error_rate
from dsgkit.tasks.splits import SemiSupervisedSplit

Point = Mapping[str, Any]
Scores = list[list[float | None]]

METRICS = ("auc", "error", "positive", "positive_true")
"""What a fit is judged by, whatever its protocol; with the prefix ``test_`` on the test rows."""

_BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class Size:
    """What a search works on.

    Attributes
    ----------
    n_labeled, n_unlabeled, n_inputs : int
    n_points, n_folds : int
    """

    n_labeled: int
    n_unlabeled: int
    n_inputs: int
    n_points: int
    n_folds: int


@dataclass(frozen=True)
class Cost:
    """About what a search takes: floating-point operations, and bytes at once."""

    training: float
    scoring: float
    memory: int


class ExperimentProtocol(Protocol):
    """A way of searching and judging, under the name of its kind in a config."""

    def search(
        self, estimator: Any, split: SemiSupervisedSplit, n_unlabeled: int, points: Sequence[Point]
    ) -> Scores:
        """Return the metric of every point on every fold; None where it has none.

        Parameters
        ----------
        estimator : estimator
            With what the points agree on set.
        split : SemiSupervisedSplit
        n_unlabeled : int
            Unlabelled rows to search with.
        points : sequence of dict
        """
        ...

    def cost(self, estimator: Any, size: Size) -> Cost:
        """Return about what a search takes."""
        ...

    def judge(
        self, labels: NDArray[np.int8], values: NDArray[np.floating]
    ) -> dict[str, float | None]:
        """Return what is recorded of a fitted function's values at rows, from their labels."""
        ...


class SemiSupervisedAUC:
    """Ranking: cross-validation on the labelled rows, each fold with all unlabelled ones."""

    def search(
        self, estimator: Any, split: SemiSupervisedSplit, n_unlabeled: int, points: Sequence[Point]
    ) -> Scores:
        """Return the AUC of every point on the held-out labelled rows of every fold."""
        rows = split.X_unlabeled.take(slice(n_unlabeled))
        values = estimator.cv_decision_function(split.X[:], split.y, rows, split.folds, points)
        return fold_scores(np.asarray(values), split.y, split.folds)

    def cost(self, estimator: Any, size: Size) -> Cost:
        """Return the cost of training every point on every fold; scoring is nothing beside it."""
        rows = size.n_labeled, size.n_unlabeled, size.n_inputs
        n_models = size.n_points * size.n_folds
        memory = estimator.memory_needed(*rows, n_models=n_models)
        return Cost(estimator.flops(*rows, n_models=n_models), 0.0, memory)

    def judge(
        self, labels: NDArray[np.int8], values: NDArray[np.floating]
    ) -> dict[str, float | None]:
        """Return the AUC; None where the rows hold one class only."""
        return {"auc": auc(labels, values) if len(np.unique(labels)) == 2 else None}


class SemiSupervisedError:
    """Classification: the unlabelled rows are cut into as many parts as there are folds.

    A model is trained on the labelled rows and one part, and tested on the other parts by their
    hidden labels (Geng et al., IJCAI 2019, section 6.1).
    """

    def search(
        self, estimator: Any, split: SemiSupervisedSplit, n_unlabeled: int, points: Sequence[Point]
    ) -> Scores:
        """Return the error of every point, trained with each of the parts."""
        n_parts = len(split.folds)
        bounds = [n_unlabeled * part // n_parts for part in range(n_parts + 1)]
        parts = [np.arange(*ends) for ends in itertools.pairwise(bounds)]
        columns = []
        for part in parts:
            trained_on = split.X_unlabeled.take(slice(part[0], part[-1] + 1))
            models = estimator.fit_points(split.X[:], split.y, trained_on, points)
            others = [other for other in parts if other is not part]
            columns.append(_errors(models, split, others, len(points)))
        return [list(row) for row in zip(*columns, strict=True)]

    def cost(self, estimator: Any, size: Size) -> Cost:
        """Return the cost of training every point with every part, and of testing it."""
        rows = size.n_labeled, -(-size.n_unlabeled // size.n_folds), size.n_inputs
        training = size.n_folds * estimator.flops(*rows, n_models=size.n_points)
        tested = size.n_points * (size.n_folds - 1) * size.n_unlabeled
        return Cost(
            training,
            estimator.predict_flops(tested, *rows),
            estimator.memory_needed(*rows, n_models=size.n_points),
        )

    def judge(
        self, labels: NDArray[np.int8], values: NDArray[np.floating]
    ) -> dict[str, float | None]:
        """Return the error, and the share of rows that are taken for positive."""
        finite = np.isfinite(values).all()
        return {
            "error": error_rate(labels, values) if finite else None,
            "positive": float(np.mean(values >= 0)) if finite else None,
            "positive_true": float(np.mean(labels > 0)),
        }


PROTOCOLS: dict[str, ExperimentProtocol] = {
    "semi_supervised_auc": SemiSupervisedAUC(),
    "semi_supervised_error": SemiSupervisedError(),
}


def _errors(
    models: Any, split: SemiSupervisedSplit, parts: Sequence[NDArray[np.int64]], n_points: int
) -> list[float | None]:
    """Return the error of each of some models on some parts of the unlabelled rows."""
    wrong, finite = np.zeros(n_points), np.ones(n_points, bool)
    for part in parts:
        for block in row_blocks(len(part), _BLOCK_ROWS):
            rows = part[block]
            values = np.asarray(models.decision_function(split.X_unlabeled[rows]))
            positive = split.y_unlabeled[rows] > 0
            wrong += ((values >= 0) != positive[:, None]).sum(axis=0)
            finite &= np.isfinite(values).all(axis=0)
    total = sum(map(len, parts))
    return [float(w / total) if ok else None for w, ok in zip(wrong, finite, strict=True)]

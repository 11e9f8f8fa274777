"""Learning a classifier from labelled and unlabelled rows.

For the search the unlabelled rows are cut into as many parts as there are folds. A model is trained
on the labelled rows and one part, and tested on the other parts by their hidden labels
(Geng et al., IJCAI 2019, section 6.1).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from dsgkit.tasks.base import At, Axis, Point, ProtocolSpec, Scores, Trial, Work
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import error_rate
from dsgkit.tasks.semi_supervised import (
    CLASS_PROPORTION,
    TEST_ROWS,
    UNLABELED,
    UNLABELED_ROWS,
    SemiSupervisedSpec,
    SemiSupervisedTrial,
)

ERROR = Measure(
    name="error",
    title="Error",
    word="error",
    where=UNLABELED_ROWS,
    better="lower",
    digits=2,
    percent=True,
    output="error",
    file="error",
)
BALANCE = Measure(
    name="positive",
    title="Unlabelled rows taken for positive",
    word="share taken for positive",
    digits=2,
    percent=True,
    output="balance",
    file="balance",
)

_BLOCK_ROWS = 2**16


class SVMSpec(SemiSupervisedSpec):
    """The protocol of a classifier."""

    @property
    def selection(self) -> str:
        """How hyper-parameters are chosen."""
        return (
            f"training with each of {self.folds} parts of the unlabelled rows, by the error on "
            "the others"
        )


class SVMTrial(SemiSupervisedTrial):
    """A trial of a classifier."""

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the error of every point, trained with each of the parts."""
        parts = self._parts(at[UNLABELED.name])
        columns = []
        for part in parts:
            training = self.training(at)
            training["X_unlabeled"] = self.split.X_unlabeled.take(part)
            models = estimator.fit_points(points, **training)
            others = [other for other in parts if other is not part]
            columns.append(self._errors(models, others, len(points)))
        return [list(row) for row in zip(*columns, strict=True)]

    def _parts(self, n_unlabeled: int) -> list[slice]:
        n_parts = self._spec.folds
        bounds = [n_unlabeled * part // n_parts for part in range(n_parts + 1)]
        return [slice(*ends) for ends in itertools.pairwise(bounds)]

    def _errors(self, models: Any, parts: Sequence[slice], n_points: int) -> list[float | None]:
        """Return the error of each of some models on some parts of the unlabelled rows."""
        wrong, finite = np.zeros(n_points), np.ones(n_points, bool)
        for rows in _blocks(parts):
            values = np.asarray(models.decision_function(self.split.X_unlabeled[rows]))
            positive = self.split.y_unlabeled[rows] > 0
            wrong += ((values >= 0) != positive[:, None]).sum(axis=0)
            finite &= np.isfinite(values).all(axis=0)
        total = sum(part.stop - part.start for part in parts)
        return [float(w / total) if ok else None for w, ok in zip(wrong, finite, strict=True)]

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the cost of training every point with every part, and of testing it."""
        folds, n_unlabeled = self._spec.folds, at[UNLABELED.name]
        counts = self.counts({UNLABELED.name: -(-n_unlabeled // folds)})
        cost = estimator.cost(self._dataset.n_features, n_models=n_points, **counts)
        n_tested = n_points * (folds - 1) * n_unlabeled
        return Work(folds * cost.flops, n_tested * cost.flops_per_row, cost.memory)

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the error, and the shares of rows that are taken for positive and are."""
        return {
            ERROR.name: error_rate(y, predictions),
            BALANCE.name: float(np.mean(predictions >= 0)),
            f"{BALANCE.name}_true": float(np.mean(y > 0)),
        }


def _blocks(parts: Sequence[slice]) -> Iterator[slice]:
    """Yield parts in pieces whose values fit in memory."""
    for part in parts:
        for start in range(part.start, part.stop, _BLOCK_ROWS):
            yield slice(start, min(start + _BLOCK_ROWS, part.stop))


class SemiSupervisedSVM:
    """The learning setting."""

    kind: ClassVar[str] = "semi_supervised_svm"
    version: ClassVar[int | str] = 1
    Spec: ClassVar[type[ProtocolSpec]] = SVMSpec
    axes: ClassVar[tuple[Axis, ...]] = (UNLABELED,)
    measures: ClassVar[tuple[Measure, ...]] = (ERROR, ERROR.on(TEST_ROWS, "test"), BALANCE)
    chooses: ClassVar[str] = ERROR.name
    outputs: ClassVar[tuple[str, ...]] = (
        "error_table",
        "time_table",
        "balance_table",
        "error_boxplot",
        "time_curve",
    )
    words: ClassVar[tuple[str, ...]] = (CLASS_PROPORTION,)

    def trial(self, dataset: Any, spec: Any, seed: int) -> Trial:
        """Return a trial of a dataset."""
        return SVMTrial(dataset, spec, seed)


TASK = SemiSupervisedSVM()

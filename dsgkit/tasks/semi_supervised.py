"""Base of the tasks on labelled and unlabelled rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dsgkit.data.datasets import Dataset
from dsgkit.errors import FitError
from dsgkit.progress import part
from dsgkit.specs import LARGEST_INTEGER, Count, Interval, problem
from dsgkit.tasks.base import At, Axis, Clock, Judgement, Point, ProtocolSpec, Scores, Work
from dsgkit.tasks.scaling import scale_words
from dsgkit.tasks.splits import SemiSupervisedSplit, check_split, semi_supervised_split

UNLABELED = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")
UNLABELED_ROWS = "unlabelled rows"
TEST_ROWS = "official test rows"

CLASS_PROPORTION = "class_proportion"
"""In a config, the value of a parameter that is the share of positives in the training set."""


class SemiSupervisedSpec(ProtocolSpec):
    """How rows are split and scaled.

    Attributes
    ----------
    labeled : int
        Labelled rows; all others serve as unlabelled rows, and to judge by.
    scale : tuple of float
        The interval that every feature is mapped to.
    folds : int
        Folds of the search.
    """

    labeled: Count = 200
    scale: Interval = (0.0, 1.0)
    folds: Annotated[int, Field(ge=2, le=LARGEST_INTEGER)] = 5

    only_for_search: ClassVar[tuple[str, ...]] = ("folds",)

    @model_validator(mode="after")
    def _consistent(self) -> SemiSupervisedSpec:
        if self.labeled < self.folds:
            raise problem(f"{self.labeled} rows cannot be cut into {self.folds} folds", "labeled")
        return self

    @property
    def setting(self) -> str:
        """The labelled rows."""
        return f"{self.labeled:,} labelled rows"

    @property
    def protocol(self) -> str:
        """How rows are used."""
        return f"{self.kind} with {self.setting}, {scale_words(self.scale)}"


class SemiSupervisedTrial:
    """A random choice of the labelled rows; subclasses search with it and score by it.

    Parameters
    ----------
    dataset : Dataset
    spec : SemiSupervisedSpec
    seed : int

    Raises
    ------
    DataError
        If the dataset has too few rows for it.
    """

    def __init__(self, dataset: Dataset, spec: SemiSupervisedSpec, seed: int) -> None:
        self._dataset = dataset
        self._spec = spec
        self._seed = seed
        self._labeled = self._n_labeled()
        self.sizes = {UNLABELED.name: len(dataset.y) - self._labeled}

    def _n_labeled(self) -> int:
        """Return the number of labelled rows, or raise `DataError` if there are too few rows."""
        check_split(self._dataset, self._spec.labeled, self._spec.folds)
        return self._spec.labeled

    @functools.cached_property
    def words(self) -> dict[str, Any]:
        """The share of positives."""
        return {CLASS_PROPORTION: float(np.mean(self._dataset.y == 1))}

    @functools.cached_property
    def split(self) -> SemiSupervisedSplit:
        """The rows of the trial."""
        spec = self._spec
        return semi_supervised_split(
            self._dataset,
            labeled=spec.labeled,
            folds=spec.folds,
            seed=self._seed,
            scale=spec.scale,
        )

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of labelled and of unlabelled rows."""
        return {"n_labeled": self._labeled, "n_unlabeled": at[UNLABELED.name]}

    def training(self, at: At) -> dict[str, Any]:
        """Return the labelled rows, their labels, and the first of the unlabelled rows."""
        split = self.split
        unlabeled = split.X_unlabeled.take(slice(at[UNLABELED.name]))
        return {"X": split.X[:], "y": split.y, "X_unlabeled": unlabeled}

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train an estimator."""
        training = self.training(at)
        with clock.phase("fit"):
            estimator.fit(**training)

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return about what it takes to train, and to judge by all rows."""
        cost = estimator.cost(self._dataset.n_features, **self.counts(at))
        y_test = self._dataset.y_test
        n_scored = self.sizes[UNLABELED.name] + (0 if y_test is None else len(y_test))
        return Work(cost.flops, n_scored * cost.flops_per_row, cost.memory)

    def judge(self, model: Any, at: At, clock: Clock) -> Judgement:
        """Score a fitted function on all unlabelled rows, and on the official test rows."""
        split = self.split
        n_test = 0 if split.X_test is None else len(split.X_test)
        tested = n_test / (n_test + len(split.y_unlabeled))
        on_test = None
        with clock.phase("predict"):
            with part(0, tested):
                if n_test:
                    on_test = self.predictions(model, split.X_test)
            with part(tested, 1):
                predictions = self.predictions(model, split.X_unlabeled)
        with clock.phase("evaluate"):
            scores = self.score(split.y_unlabeled, predictions)
            test_scores = {} if on_test is None else self.score(split.y_test, on_test)
            return Judgement(scores | {f"test_{name}": test_scores.get(name) for name in scores})

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return what a fitted model says of rows, as `score` takes it: its values."""
        return finite_values(model, rows, (len(rows),))

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return what predictions are worth, by the rows' labels."""
        raise NotImplementedError

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the score of every point on every fold."""
        raise NotImplementedError

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return about what `search` takes."""
        raise NotImplementedError


def finite_values(model: Any, rows: Any, *shapes: tuple[int, ...]) -> NDArray[np.floating]:
    """Return a fitted function's values at some rows: finite numbers, of one of some shapes.

    Raises
    ------
    FitError
        If they are not.
    """
    values = np.asarray(model.decision_function(rows))
    if values.shape not in shapes:
        raise FitError(f"decision_function returned shape {values.shape} for {len(rows):,} rows")
    if not np.isfinite(values).all():
        raise FitError("decision_function returned values that are not finite")
    return values

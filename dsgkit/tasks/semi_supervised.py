"""Base classes of tasks on labelled and unlabelled rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from dsgkit.data.datasets import Dataset
from dsgkit.data.targets import Kind
from dsgkit.errors import FitError
from dsgkit.numerics.costs import MEASURING_FLOPS
from dsgkit.random.folds import stratified_folds
from dsgkit.random.seeds import derive_seed
from dsgkit.system.progress import part
from dsgkit.tasks.base import At, Axis, Clock, Judgement, ProtocolSpec, Task, Work
from dsgkit.tasks.base import Trial as SearchedTrial
from dsgkit.tasks.given import HIDDEN, depends_on, named_by_fit
from dsgkit.tasks.scaling import scale_words
from dsgkit.tasks.splits import (
    Positions,
    SemiSupervisedSplit,
    check_labeled,
    check_split,
    semi_supervised_split,
)
from dsgkit.text.specs import Count, Folds, Interval, problem
from dsgkit.users_code.origin import bracketed, place_of

UNLABELED = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")
LABELED = Axis(name="labeled", title="Labelled rows", noun="labelled", drawn=True)
UNLABELED_ROWS = "unlabelled rows"
TEST_ROWS = "official test rows"

ARRAYS = {LABELED.name: ("X", "y"), UNLABELED.name: ("X_unlabeled", HIDDEN)}
"""Arrays that grow along each axis."""

EXTRA = ("X_unlabeled",)
"""Arrays for ``fit`` in addition to labelled rows."""

GIVEN = ("X", "y", *EXTRA, HIDDEN)
"""Names of all arrays for ``fit``."""

CLASS_PROPORTION = "class_proportion"
"""Word in configs for the share of positives in the training set."""


class SemiSupervisedSpec(ProtocolSpec):
    """Protocol of a split into labelled and unlabelled rows, with scaled features.

    Attributes
    ----------
    labeled : int
        Labelled rows; all others are unlabelled rows, on which fits are judged. A sweep of labelled
        rows overrides it by its largest point.
    unlabeled : int or None
        Largest number of unlabelled rows in training; None is all. All of them judge.
    scale : tuple of float
        The interval that every feature is mapped to.
    folds : int
        Folds of the search.
    """

    labeled: Count = 200
    unlabeled: Count | None = None
    scale: Interval = (0.0, 1.0)
    folds: Folds = 5

    only_for_search: ClassVar[tuple[str, ...]] = ("folds",)
    unsaid: ClassVar[tuple[str, ...]] = ("unlabeled",)

    @model_validator(mode="after")
    def _consistent(self) -> SemiSupervisedSpec:
        if why_not := self.why_not(LABELED, self.labeled):
            raise problem(why_not, "labeled")
        return self

    def why_not(self, axis: Axis, size: int) -> str:
        """Return the problem if there are fewer labelled rows than folds."""
        too_few = axis == LABELED and size < self.folds
        return f"{size} rows cannot be cut into {self.folds} folds" if too_few else ""

    @property
    def setting(self) -> str:
        """The labelled rows, if they are not swept, and the bound of the others."""
        labeled = "" if self.sweeps(LABELED) else self._labeled_words
        bound = f"at most {self.unlabeled:,} unlabelled rows in training" if self.unlabeled else ""
        return ", ".join(filter(None, [labeled, bound]))

    @property
    def _labeled_words(self) -> str:
        return f"{self.labeled:,} labelled rows"

    @property
    def protocol(self) -> str:
        """Description of how rows are used."""
        words = f"{self.kind} with {self.setting}" if self.setting else self.kind
        return f"{words}, {scale_words(self.scale)}"


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
        If the dataset has too few rows.
    """

    target: ClassVar[Kind] = "binary"
    """Required kind of target."""

    def __init__(self, dataset: Dataset, spec: SemiSupervisedSpec, seed: int) -> None:
        self._dataset = dataset
        self._spec = spec
        self._seed = seed
        self._labeled = self._n_labeled()
        self._judged = len(dataset.y) - self._labeled
        self.sizes = {UNLABELED.name: min(self._judged, spec.unlabeled or self._judged)}

    def _n_labeled(self) -> int:
        """Return the number of labelled rows, or raise `DataError` if there are too few rows."""
        check_split(self._dataset, self._spec.labeled, self._spec.folds, self.target)
        return self._spec.labeled

    @functools.cached_property
    def words(self) -> dict[str, Any]:
        """Share of positives."""
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
            nested=spec.sweeps(LABELED),
        )

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of labelled and of unlabelled rows."""
        n_labeled = at.get(LABELED.name, self._labeled)
        check_labeled(n_labeled, self._spec.folds)
        return {"n_labeled": n_labeled, "n_unlabeled": at[UNLABELED.name]}

    def training(self, at: At) -> dict[str, Any]:
        """Return the first labelled rows, their labels, and the first unlabelled rows."""
        split, n_labeled = self.split, at.get(LABELED.name, self._labeled)
        unlabeled = split.X_unlabeled.take(slice(at[UNLABELED.name]))
        return {"X": split.X[:n_labeled], "y": split.y[:n_labeled], "X_unlabeled": unlabeled}

    def given(self, estimator: Any, at: At) -> dict[str, Any]:
        """Return the arrays that an estimator's ``fit`` names, including hidden labels."""
        hidden = self.split.y_unlabeled[: at[UNLABELED.name]]
        return named_by_fit(estimator, {**self.training(at), HIDDEN: hidden})

    def depends_on(self, estimator: Any, axis: str) -> bool:
        """Return whether a fit depends on the number of rows on an axis."""
        return depends_on(estimator, ARRAYS[axis])

    def folds(self, at: At, repeat: int = 0) -> list[Positions]:
        """Return the held-out positions of labelled rows in each fold, stratified by class."""
        y = self.split.y[: at.get(LABELED.name, self._labeled)]
        seed = derive_seed(self._seed, "folds", *([repeat] if repeat else []))
        return stratified_folds(y, self._spec.folds, seed)

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train an estimator."""
        training = self.given(estimator, at)
        with clock.phase("fit"):
            estimator.fit(**training)

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return the approximate cost of training, and of judging on all rows."""
        cost = estimator.cost(self._dataset.n_features, **self.counts(at))
        y_test = self._dataset.y_test
        n_scored = self._judged + (0 if y_test is None else len(y_test))
        scoring, measuring = n_scored * cost.flops_per_row, n_scored * MEASURING_FLOPS
        return Work(cost.flops, scoring, cost.memory, measuring=measuring)

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
            score = self.scoring(predictions, at)
            scores = score(split.y_unlabeled, predictions)
            test_scores = {} if on_test is None else score(split.y_test, on_test)
            return Judgement(scores | {f"test_{name}": test_scores.get(name) for name in scores})

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return a fitted model's predictions for `score`: its values at rows."""
        return finite_values(model, rows, (len(rows),))

    def scoring(self, predictions: Any, at: At) -> Callable[[Any, Any], dict[str, float | None]]:
        """Return the scoring function, which may depend on predictions at unlabelled rows."""
        return self.score

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the scores of predictions, given the rows' labels."""
        raise NotImplementedError

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the cost of training every point on every fold; scoring is negligible."""
        n_models = n_points * self._spec.folds
        cost = estimator.cost(self._dataset.n_features, n_models=n_models, **self.counts(at))
        return Work(cost.flops, 0.0, cost.memory, n_models)


def finite_values(model: Any, rows: Any, *shapes: tuple[int, ...]) -> NDArray[np.floating]:
    """Return a fitted function's values at rows, which must be finite and of one of some shapes.

    Raises
    ------
    FitError
        If they are not.
    """
    values = np.asarray(model.decision_function(rows))
    location = bracketed(place_of(model.decision_function))
    if values.shape not in shapes:
        raise FitError(
            f"decision_function returned shape {values.shape} for {len(rows):,} rows{location}"
        )
    if not np.isfinite(values).all():
        raise FitError(f"decision_function returned values that are not finite{location}")
    return values


class SemiSupervisedTask(Task):
    """Base class of tasks on labelled and unlabelled rows; ``Trial`` is the class of its trials."""

    Trial: ClassVar[type[Any]]
    axes: ClassVar[tuple[Axis, ...]] = (UNLABELED, LABELED)
    words: ClassVar[tuple[str, ...]] = (CLASS_PROPORTION,)
    calls: ClassVar[tuple[str, ...]] = ("decision_function", "fit_points", "cost")
    gives = GIVEN
    extra = EXTRA

    def trial(self, dataset: Any, spec: Any, seed: int) -> SearchedTrial:
        """Return a trial of a dataset."""
        trial: SearchedTrial = self.Trial(dataset, spec, seed)
        return trial

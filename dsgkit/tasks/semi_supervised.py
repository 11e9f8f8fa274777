"""Learning settings on labelled and unlabelled rows: their base class, and a ranking."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from dsgkit.config.spec import Count, Folds, Interval, Problem
from dsgkit.costs import MEASURING_FLOPS
from dsgkit.data.dataset import Rows
from dsgkit.data.targets import Kind
from dsgkit.errors import DsgError, DsgWarning
from dsgkit.linalg import checked_shape
from dsgkit.seeds import derive_seed, permutation, stratified_folds
from dsgkit.system.progress import part
from dsgkit.tasks import base
from dsgkit.tasks.base import HIDDEN, At, Judgement, Point, Scores, Task
from dsgkit.tasks.measures import MEASURES, Axis, Measure
from dsgkit.tasks.metrics import auc

UNLABELED = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")
LABELED = Axis(name="labeled", title="Labelled rows", noun="labelled", drawn=True)
UNLABELED_ROWS, TEST_ROWS = "unlabelled rows", "official test rows"

CLASS_PROPORTION = "class_proportion"  # in configs: the share of positives in the training set
MIN_PER_CLASS = 2  # labelled rows, so that both classes remain if a fold is held out

AUC, PRECISION, DISTANCE = MEASURES["semi_supervised_auc"]
MAX_CONVERGENCE_ROWS = 5000  # unlabelled ones: the exact minimiser takes cubic time


def with_test(*measures: Measure) -> list[Measure]:
    """Return measures, each followed by that on official test rows."""
    return [m for each in measures for m in (each, each.on(TEST_ROWS, "test"))]


class SemiSupervisedSpec(base.ProtocolSpec):
    """Protocol of a split into labelled and unlabelled rows, with scaled features.

    Attributes
    ----------
    labeled : int
        Labelled rows; all others are unlabelled rows, on which fits are evaluated. In a
        sweep of labelled rows it is the largest size.
    unlabeled : int or None
        Largest number of unlabelled rows in training; None is all. The evaluation uses all
        of them.
    judged : int or None
        Largest number of unlabelled rows on which fits are evaluated, those in training first, and
        of official test rows, at equal distances in their file; None is all.
    scale : tuple of float
        The interval that every feature is mapped to.
    folds : int
        Folds of the search.
    """

    labeled: Count = 200
    unlabeled: Count | None = None
    judged: Count | None = None
    scale: Interval = (0.0, 1.0)
    folds: Folds = 5

    only_for_search: ClassVar[tuple[str, ...]] = ("folds",)
    only_for_judging: ClassVar[tuple[str, ...]] = ("judged",)
    unsaid: ClassVar[tuple[str, ...]] = ("unlabeled", "judged")
    labeled_words: ClassVar[str] = "{:,} labelled rows"

    @model_validator(mode="after")
    def _consistent(self) -> SemiSupervisedSpec:
        n = self.labeled
        if n < self.folds:
            raise Problem(f"{n} rows cannot be cut into {self.folds} folds", "labeled")
        if n < 2 * MIN_PER_CLASS:
            text = f"{n} rows are too few: {MIN_PER_CLASS} of each class are needed"
            raise Problem(text, "labeled")
        return self

    @property
    def setting(self) -> str:
        swept, bound = self._swept == LABELED.name, self.unlabeled
        labeled = "" if swept else self.labeled_words.format(self.labeled)
        unlabeled = f"at most {bound:,} unlabelled rows in training" if bound else ""
        judged = f"evaluated on at most {self.judged:,} rows" if self.judged else ""
        return ", ".join(filter(None, [labeled, unlabeled, judged]))

    @property
    def protocol(self) -> str:
        return f"{super().protocol}, {base.scale_words(self.scale)}"


class Split(NamedTuple):
    """The scaled rows of a trial: labelled, unlabelled, and test rows that judge, if any."""

    X: Rows
    y: NDArray[Any]
    # in a random order, so that subsets are nested; labels are hidden, and mean nothing if unknown
    X_unlabeled: Rows
    y_unlabeled: NDArray[Any]
    known: NDArray[np.bool_]
    X_test: Rows | None
    y_test: NDArray[Any] | None


class SemiSupervised(Task):
    """A random choice of labelled rows; the others are unlabelled, and used for evaluation.

    Rows without a label in the dataset (``Dataset.unlabeled_rows``) are among the unlabelled ones,
    but not used for evaluation. A subclass states its measures and has `score`; and its own
    `fold_score` or `search`, if points are not chosen by `score` on held-out labelled rows.
    """

    Spec = SemiSupervisedSpec
    axes: ClassVar[tuple[Axis, ...]] = (UNLABELED, LABELED)
    words = (CLASS_PROPORTION,)
    draws = "labelled rows"
    target: ClassVar[Kind | None] = "binary"
    gives, extra = ("X", "y", "X_unlabeled", HIDDEN), ("X_unlabeled",)
    grows: ClassVar = {LABELED.name: ("X", "y"), UNLABELED.name: ("X_unlabeled", HIDDEN)}
    measuring_flops = MEASURING_FLOPS
    at_most_half: ClassVar[bool] = False  # of the rows are labelled

    def __init__(self, dataset: Any, spec: Any, seed: int) -> None:
        super().__init__(dataset, spec, seed)
        y, y_test = dataset.y, dataset.y_test
        self.n_labeled = min(spec.labeled, len(y) // 2) if self.at_most_half else spec.labeled
        if self.n_labeled >= len(y):
            labels = " with a label" if len(dataset.unlabeled_rows) else ""
            raise dataset.error(
                f"{self.n_labeled:,} labelled rows asked for, but it has "
                f"{len(y):,} rows{labels} and some must stay unlabelled; lower `labeled`"
            )
        for label in (-1, 1) if self.target == "binary" else ():
            if (count := int(np.count_nonzero(y == label))) < MIN_PER_CLASS:
                raise dataset.error(
                    f"class {label:+d} has {count} of the rows; the "
                    f"labelled ones need {MIN_PER_CLASS} of each class"
                )
        n_unlabeled = len(dataset.X) - self.n_labeled
        self.sizes = {UNLABELED.name: min(n_unlabeled, spec.unlabeled or n_unlabeled)}
        n_judged = len(y) - self.n_labeled
        n_test = 0 if y_test is None else len(y_test)
        # of the official test rows, every so many-th one judges
        self.step = max(1, -(-n_test // (spec.judged or n_test or 1)))
        self.n_scored = min(n_judged, spec.judged or n_judged) + -(-n_test // self.step)

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        return {CLASS_PROPORTION: float(np.mean(self.dataset.y == 1))}

    @functools.cached_property
    def order(self) -> NDArray[np.int64]:
        """All rows with a label in a random order, the labelled ones first.

        If fewer than ``MIN_PER_CLASS`` of a class are labelled (in a sweep, of the smallest number
        of labelled rows), its next rows are swapped with the last labelled ones of the other class.
        """
        y = self.dataset.y
        order = permutation(len(y), derive_seed(self.seed, "labeled"))
        first = 2 * MIN_PER_CLASS if self.spec._swept == LABELED.name else self.n_labeled
        for label in (-1, 1) if self.target == "binary" else ():
            of_class = y[order] == label
            missing = MIN_PER_CLASS - int(np.count_nonzero(of_class[:first]))
            if missing > 0:
                added = first + np.flatnonzero(of_class[first:])[:missing]
                removed = np.flatnonzero(~of_class[:first])[-missing:]
                order[removed], order[added] = order[added], order[removed]
        return order

    @functools.cached_property
    def split(self) -> Split:
        dataset, missing = self.dataset, self.dataset.unlabeled_rows
        first, others = self.order[: self.n_labeled], self.order[self.n_labeled :]
        y, y_unlabeled = dataset.y[first], dataset.y[others]
        if len(missing):
            seed = derive_seed(self.seed, "unlabeled")
            others, y_unlabeled = with_others(others, y_unlabeled, missing, seed)
        y.flags.writeable = y_unlabeled.flags.writeable = False  # cells share the labels
        scaling = dataset.scaling(self.spec.scale)
        X, X_unlabeled = (Rows(dataset.X, rows, *scaling) for rows in (first, others))
        X_test = y_test = None
        if dataset.X_test is not None:
            tested = None if self.step == 1 else np.arange(0, len(dataset.y_test), self.step)
            X_test, y_test = Rows(dataset.X_test, tested, *scaling), dataset.y_test[:: self.step]
        return Split(X, y, X_unlabeled, y_unlabeled, others < len(dataset.y), X_test, y_test)

    @functools.cached_property
    def judging(self) -> NDArray[np.int64]:
        """Positions of the unlabelled rows that judge, all of known labels."""
        return np.flatnonzero(self.split.known)[: self.spec.judged]

    def drawn_rows(self) -> dict[str, Any]:
        return {"labeled": self.split.X.index, "unlabeled": self.split.X_unlabeled.index}

    def fold_rows(self, at: At) -> dict[str, list[Any]]:
        rows: Any = self.split.X.index
        return {"labeled": [rows[fold] for fold in self.folds(at)]}

    def counts(self, at: At) -> dict[str, int]:
        n_labeled = at.get("labeled", self.n_labeled)
        return {"n_labeled": n_labeled, "n_unlabeled": at["unlabeled"]}

    def training(self, at: At) -> dict[str, Any]:
        """Return the first labelled rows, their labels, and the first unlabelled rows."""
        split, n = self.split, at.get("labeled", self.n_labeled)
        unlabeled = split.X_unlabeled.take(slice(at["unlabeled"]))
        return {"X": split.X[:n], "y": split.y[:n], "X_unlabeled": unlabeled}

    def given(self, estimator: Any, at: At) -> dict[str, Any]:
        unlabeled = self.unlabeled(estimator, slice(at["unlabeled"]))
        return base.named_by_fit(estimator, {**self.training(at), **unlabeled})

    def unlabeled(self, estimator: Any, chosen: slice) -> dict[str, Any]:
        """Return some unlabelled rows, and hidden labels; a fit with these gets no row without."""
        split = self.split
        X, y = split.X_unlabeled.take(chosen), split.y_unlabeled[chosen]
        known = split.known[chosen]
        if base.takes(estimator, HIDDEN) and not known.all():
            X, y = X.take(np.flatnonzero(known)), y[known]
        return {"X_unlabeled": X, HIDDEN: y}

    def folds(self, at: At) -> list[NDArray[np.int64]]:
        """Return the held-out positions of labelled rows in each fold, stratified by class."""
        return self.repeated_folds(at, 1)

    def repeated_folds(self, at: At, n_repeats: int) -> list[NDArray[np.int64]]:
        """Return the folds of several random orders of the labelled rows."""
        y = self.split.y[: at.get("labeled", self.n_labeled)]
        parts = [[], *([repeat] for repeat in range(1, n_repeats))]
        seeds = (derive_seed(self.seed, "folds", *part) for part in parts)
        return [fold for seed in seeds for fold in stratified_folds(y, self.spec.folds, seed)]

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Score every point by cross-validation of the labelled rows, with all unlabelled ones."""
        folds, given = self.folds(at), self.given(estimator, at)
        values = estimator.fit_points(points, folds=folds, **given)
        shapes = [(len(points), *shape) for shape in self.shapes(len(given["y"]))]
        values = checked_shape(values, "fit_points", *shapes)
        return fold_scores(given["y"], values, folds, self.fold_score)

    def shapes(self, n_rows: int) -> tuple[tuple[int, ...], ...]:
        return ((n_rows,),)

    def fold_score(self, y: Any, values: Any) -> float | None:
        """Return the score of a fold, by the measure that chooses; None if it has none."""
        return self.score(y, values)[self.chooses]

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        """Score a fitted function on the unlabelled rows, and on the official test rows."""
        split, tested = self.split, 1 - len(self.judging) / self.n_scored  # share of the progress
        with clock.phase("predict"):
            with part(0, tested):
                on_test = None if split.X_test is None else self.predictions(model, split.X_test)
            with part(tested, 1):
                predictions = self.predictions(model, split.X_unlabeled.take(self.judging))
        with clock.phase("evaluate"):
            score = self.scoring(predictions, at)
            scores = score(split.y_unlabeled[self.judging], predictions)
            test_scores = {} if on_test is None else score(split.y_test, on_test)
        return Judgement(scores | {f"test_{name}": test_scores.get(name) for name in scores})

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return a fitted model's predictions for `score`: its values at rows."""
        return base.finite_values(model, rows, *self.shapes(len(rows)))

    def scoring(self, predictions: Any, at: At) -> Callable[[Any, Any], dict[str, float | None]]:
        """Return the scoring function, which may depend on predictions at unlabelled rows."""
        return self.score

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the scores of predictions by measure, given the rows' labels."""
        raise NotImplementedError


class AUCSpec(SemiSupervisedSpec):
    """Protocol of a ranking, whose fits can be compared with the exact minimiser.

    Attributes
    ----------
    convergence : bool
        Whether fits with up to 5,000 unlabelled rows record their distance from the minimiser.
    """

    convergence: bool = False

    only_for_judging: ClassVar[tuple[str, ...]] = ("judged", "convergence")
    unsaid: ClassVar[tuple[str, ...]] = (*SemiSupervisedSpec.unsaid, "convergence")
    chosen_by: ClassVar[str] = "AUC"

    @property
    def selection(self) -> str:
        return f"{self.folds}-fold cross-validation by {self.chosen_by}"


class SemiSupervisedAUC(SemiSupervised):
    """Learning a ranking from labelled and unlabelled rows.

    Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
    unlabelled ones (Shi et al., IJCAI 2019). Models are evaluated by AUC.

    With ``protocol: {convergence: true}``, the trace of a fit holds the mean of ``(f_t - f*)^2``
    over the training rows, relative to that of ``f*^2``, for the exact minimiser f* of the
    objective. It needs estimators with ``fit_observed`` and ``exact_minimiser``; both papers prove
    that it decreases like 1/t.
    """

    kind = "semi_supervised_auc"
    Spec = AUCSpec
    measures = (*with_test(AUC, PRECISION), DISTANCE)
    chooses = AUC.name
    outputs: ClassVar[tuple[str, ...]] = (
        *("auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve"),
    )

    def _compared(self, at: At) -> bool:
        return self.spec.convergence and at["unlabeled"] <= MAX_CONVERGENCE_ROWS

    def observed(self, estimator: Any, at: At) -> int | None:
        if not (self._compared(at) and base.is_observable(estimator)):
            return None
        return int(base.settled(estimator, self.counts(at)).n_iterations)

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        judgement = super().judge(model, at, clock)
        if not (self._compared(at) and hasattr(model, "exact_minimiser")):
            return judgement
        training = self.given(model, at)
        try:
            minimiser = model.exact_minimiser(**training)
        except DsgError as error:
            warnings.warn(f"no exact minimiser to compare with: {error}", DsgWarning, stacklevel=2)
            return judgement
        rows = np.concatenate([training["X"][:], training["X_unlabeled"][:]])
        exact = base.function_of(minimiser)(rows)
        scale = np.mean(exact**2)

        def distance(function: Any) -> float:
            return float(np.mean((base.function_of(function)(rows) - exact) ** 2) / scale)

        judgement.trace = self.trace(model, DISTANCE.name, distance)
        if judgement.trace:
            judgement.scores[DISTANCE.name] = judgement.trace[-1][DISTANCE.name]
        return judgement

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        return ranking_scores(y, predictions)


def ranking_scores(y: Any, values: Any) -> dict[str, float | None]:
    """Return the measures of a ranking by name; None if the rows hold only one class."""
    from sklearn.metrics import average_precision_score

    if len(np.unique(y)) < 2:
        return {AUC.name: None, PRECISION.name: None}
    precision = float(average_precision_score(np.asarray(y) > 0, values))
    return {AUC.name: auc(y, values), PRECISION.name: precision}


def with_others(
    rows: NDArray[Any], y: NDArray[Any], missing: NDArray[Any], seed: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows, and others without a label, in a random order, with labels: 0 for the others."""
    order = permutation(len(rows) + len(missing), seed)
    labels = np.concatenate([y, np.zeros(len(missing), y.dtype)])
    return np.concatenate([rows, missing])[order], labels[order]


def fold_scores(
    y: Any, values: Any, folds: Sequence[NDArray[Any]], score: Callable[[Any, Any], float | None]
) -> Scores:
    """Score out-of-fold values, a row per point; None for a fold on which they are not finite."""
    return [
        [score(y[fold], row[fold]) if np.isfinite(row[fold]).all() else None for fold in folds]
        for row in values
    ]

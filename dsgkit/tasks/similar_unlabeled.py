"""Learning a classifier from pairs of rows of the same class, and unlabelled rows.

Without labels, hyper-parameters are searched by cross-validation of a risk that is estimated from
pairs and unlabelled rows (Bao, Niu & Sugiyama, ICML 2018). Models are judged by their accuracy on
labelled test rows (Shi et al., Machine Learning 2021).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from dsgkit.data.datasets import Dataset
from dsgkit.errors import DataError
from dsgkit.numerics.shapes import checked_shape
from dsgkit.objectives.similar_unlabeled import MIN_PRIOR_GAP
from dsgkit.priors import checked_similar_prior
from dsgkit.random.folds import stratified_folds
from dsgkit.random.seeds import derive_seed
from dsgkit.tasks.asked import Observable
from dsgkit.tasks.base import At, Clock, Judgement, Point, ProtocolSpec, Scores, Task, Trial, Work
from dsgkit.tasks.given import takes
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import balanced_accuracy, error_rate, su_risk
from dsgkit.tasks.observed import N_CHECKPOINTS, Along, fit_watched
from dsgkit.tasks.pairs import PairSplit, pair_sizes, pair_split
from dsgkit.tasks.scaling import Scale, scale_words, scaling_of
from dsgkit.tasks.semi_supervised import UNLABELED, finite_values
from dsgkit.text.specs import Count, Folds, is_finite, problem

TEST_ROWS = "test rows"

CLASS_PRIOR = "class_prior"
"""Word in configs for the share of positives with which rows are drawn."""

ESTIMATE = "estimate"
"""Value of a solver's parameter ``prior`` that requests an estimate."""

COLLAPSED_SHARE = 0.99
"""A model with at least this share of rows in one class counts as collapsed."""

ACCURACY = Measure.of(
    "accuracy",
    "Accuracy",
    "accuracy",
    where=TEST_ROWS,
    better="higher",
    digits=2,
    percent=True,
    traced=True,
)
BALANCED = ACCURACY.but(
    name="balanced_accuracy",
    title="Accuracy, mean over the classes",
    word="balanced accuracy",
    output="balanced",
    file="balanced",
    traced=False,
)
POSITIVE = Measure.of(
    "positive",
    "Test rows taken for positive",
    "share taken for positive",
    digits=2,
    percent=True,
    output="balance",
)
ONE_CLASS = Measure.of(
    "collapsed",
    f"Trials with {COLLAPSED_SHARE:.0%} of the test rows in one class",
    "share of collapsed trials",
    digits=0,
    percent=True,
    output="balance",
)
CORRECTED = Measure.of(
    "corrected",
    "Batches with a negative part of the risk",
    "share of corrected batches",
    digits=1,
    percent=True,
    optional=True,
)
PRIOR = Measure.of("prior", "Class prior that was used", "prior", digits=3, optional=True)
PAIRS = Measure.of("pairs", "Similar pairs", "pairs", digits=0, output="rows")
TESTED = Measure.of("tested", "Test rows", "test rows", digits=0, output="rows")
RISK = Measure.of("risk", "Cross-validated risk", "risk", better="lower", digits=3, optional=True)
"""Measure that chooses hyper-parameters; None for a fit."""


def _prior(value: Any) -> float | None:
    if value is None:
        return None
    if not is_finite(value) or not 0 < value < 1:
        raise problem("must be a number above 0 and below 1, or null for the dataset's own")
    if abs(value - 0.5) <= MIN_PRIOR_GAP:
        raise problem(
            f"must differ from 1/2 by more than {MIN_PRIOR_GAP:g}: with two classes of the same "
            "size, pairs and unlabelled rows have the same distribution"
        )
    return float(value)


class SimilarUnlabeledSpec(ProtocolSpec):
    """Protocol of drawing pairs, unlabelled rows and test rows.

    Attributes
    ----------
    pairs : int
        Pairs of rows of one class, or as many as the dataset has.
    prior : float or None
        Share of positives with which rows are drawn; None is the dataset's own.
    test : int
        Largest number of test rows; they are a third of the number of unlabelled rows.
    scale : tuple of float or "common"
        The interval that every feature is mapped to, or a common scaling of all features.
    folds : int
        Folds of pairs and of unlabelled rows.
    select : {"zero_one", "squared"}
        Loss of the risk that chooses hyper-parameters.
    """

    pairs: Count = 5000
    prior: Annotated[float | None, BeforeValidator(_prior)] = None
    test: Count = 10_000
    scale: Scale = (0.0, 1.0)
    folds: Folds = 5
    select: Literal["zero_one", "squared"] = "zero_one"

    only_for_search: ClassVar[tuple[str, ...]] = ("folds", "select")

    @property
    def setting(self) -> str:
        """The pairs and the prior."""
        drawn = "the dataset's own prior" if self.prior is None else f"a prior of {self.prior:g}"
        return f"{self.pairs:,} similar pairs (or as many as there are) at {drawn}"

    @property
    def protocol(self) -> str:
        """Description of how rows are used."""
        return f"{self.kind} with {self.setting}, {scale_words(self.scale)}"

    @property
    def selection(self) -> str:
        """Description of how hyper-parameters are chosen."""
        loss = {"zero_one": "zero-one", "squared": "squared"}[self.select]
        return (
            f"{self.folds}-fold cross-validation of pairs and unlabelled rows by their {loss} "
            "risk, which uses no label; what is given labels, by its error"
        )

    def oracle_data(self, solver: Any, values: Iterable[Any]) -> str:
        """Return a text if a solver is given labels, which this setting does not have."""
        return "labels" if takes(solver, "y") else ""


class SimilarUnlabeledTrial:
    """A random choice of pairs, unlabelled rows and test rows.

    A solver with labels, by ``fit(X, y)``, is an upper bound: it gets as many unlabelled rows with
    their labels as pairs have points, or all of them, and is searched by its errors.

    An estimate of the prior is always that of the larger class, without knowing which one that is.
    So solvers with ``prior="estimate"`` get the estimate for the positive class from the trial,
    made once from all rows.
    """

    def __init__(self, dataset: Dataset, spec: SimilarUnlabeledSpec, seed: int) -> None:
        self._dataset = dataset
        self._spec = spec
        self._seed = seed
        self._sizes = pair_sizes(dataset, pairs=spec.pairs, test=spec.test, prior=spec.prior)
        if abs(self._sizes.prior - 0.5) <= MIN_PRIOR_GAP:
            raise DataError(
                f"dataset {dataset.name}: its classes are of the same size, and with a prior of "
                "1/2 pairs are uninformative; set `protocol.prior`"
            )
        if min(self._sizes.n_similar, self._sizes.n_unlabeled) < spec.folds:
            raise DataError(
                f"dataset {dataset.name}: {self._sizes.n_similar} pairs and "
                f"{self._sizes.n_unlabeled} unlabelled rows cannot be cut into {spec.folds} folds"
            )
        self.sizes = {UNLABELED.name: self._sizes.n_unlabeled}
        self._along: tuple[Any, Along] = (None, [])
        self._estimates: dict[int, float] = {}

    @property
    def words(self) -> dict[str, float | tuple[float, ...]]:
        """Share of positives with which rows are drawn."""
        return {CLASS_PRIOR: self._sizes.prior}

    @functools.cached_property
    def split(self) -> PairSplit:
        """The rows of the trial."""
        scaling = scaling_of(self._dataset, self._spec.scale)
        return pair_split(self._dataset, self._sizes, self._seed, scaling)

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of pairs and of unlabelled rows."""
        return {"n_similar": self._sizes.n_similar, "n_unlabeled": at[UNLABELED.name]}

    def training(self, at: At) -> dict[str, Any]:
        """Return the pairs and the first unlabelled rows."""
        split = self.split
        pairs = split.similar[:].reshape(-1, 2, self._dataset.n_features)
        unlabeled = split.X_unlabeled.take(slice(at[UNLABELED.name]))
        return {"X_similar": pairs, "X_unlabeled": unlabeled}

    def labeled(self, at: At) -> dict[str, Any]:
        """Return unlabelled rows with labels, as many as there are points in pairs, or all."""
        n = min(2 * self._sizes.n_similar, at[UNLABELED.name])
        return {"X": self.split.X_unlabeled[:n], "y": self.split.y_unlabeled[:n]}

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the held-out risk (with labels, the error) of every point on every fold."""
        if takes(estimator, "y"):
            return self._search_labeled(estimator, at, points)
        training, folds = self.training(at), list(self._folds(at))
        self._set_prior(estimator, training)
        points = [self._with_prior(point, training) for point in points]
        similar, unlabeled = estimator.fit_points(points, folds=folds, **training)
        n, n_pairs, n_rows = len(points), len(training["X_similar"]), len(training["X_unlabeled"])
        similar = checked_shape(similar, "fit_points, for pairs,", (n, n_pairs, 2))
        unlabeled = checked_shape(unlabeled, "fit_points, for unlabelled rows,", (n, n_rows))
        known = estimator.get_params().get("prior", self._sizes.prior)
        priors = [point.get("prior", known) for point in points]
        return [
            [
                _risk(similar[g, pairs], unlabeled[g, rows], priors[g], self._spec.select)
                for pairs, rows in folds
            ]
            for g in range(len(points))
        ]

    def _search_labeled(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        labeled = self.labeled(at)
        y = labeled["y"]
        folds = stratified_folds(y, self._spec.folds, derive_seed(self._seed, "folds"))
        values = estimator.fit_points(points, folds=folds, **labeled)
        values = checked_shape(values, "fit_points", (len(points), len(y)))
        return [
            [
                error_rate(y[fold], row[fold]) if np.isfinite(row[fold]).all() else None
                for fold in folds
            ]
            for row in values
        ]

    def _folds(self, at: At) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the positions of the pairs and the rows of a fold; their order is random."""
        sizes = self._sizes.n_similar, at[UNLABELED.name]
        for fold in range(self._spec.folds):
            pairs, rows = (np.arange(fold, n, self._spec.folds) for n in sizes)
            yield pairs, rows

    def _set_prior(self, estimator: Any, training: Mapping[str, Any]) -> None:
        """Set the prior of an estimator with ``prior="estimate"``."""
        if estimator.get_params().get("prior") == ESTIMATE:
            estimator.set_params(prior=self._estimate(training))

    def _with_prior(self, point: Point, training: Mapping[str, Any]) -> Point:
        """Replace ``prior="estimate"`` in a point by the estimate."""
        if point.get("prior") != ESTIMATE:
            return point
        return {**point, "prior": self._estimate(training)}

    def _estimate(self, training: Mapping[str, Any]) -> float:
        """Return the estimated share of the positive class."""
        n = len(training["X_unlabeled"])
        if n not in self._estimates:
            larger, _ = checked_similar_prior(training["X_similar"], training["X_unlabeled"])
            self._estimates[n] = larger if self._sizes.prior > 0.5 else 1 - larger
        return self._estimates[n]

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the cost of training every point on every fold; scoring is negligible."""
        n_models = n_points * self._spec.folds
        cost = estimator.cost(self._dataset.n_features, n_models=n_models, **self.counts(at))
        return Work(cost.flops, 0.0, cost.memory, n_models)

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train an estimator, with checkpoints if it can be observed."""
        training = self.labeled(at) if takes(estimator, "y") else self.training(at)
        with clock.phase("prior"):
            self._set_prior(estimator, training)
        along: Along = []
        if isinstance(estimator, Observable):
            along = fit_watched(estimator, training, estimator.n_iterations, clock)
        else:
            with clock.phase("fit"):
                estimator.fit(**training)
        self._along = estimator, along

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return the approximate cost of training, and of judging on the test rows."""
        cost = estimator.cost(self._dataset.n_features, **self.counts(at))
        n_evaluations = N_CHECKPOINTS if isinstance(estimator, Observable) else 1
        scoring = n_evaluations * self._sizes.n_test * cost.flops_per_row
        return Work(cost.flops, scoring, cost.memory)

    def judge(self, model: Any, at: At, clock: Clock) -> Judgement:
        """Score a fitted function on the test rows, and its checkpoints."""
        X_test, y = self.split.X_test, self.split.y_test
        with clock.phase("predict"):
            values = finite_values(model, X_test, (len(y),))
        observed, along = self._along
        with clock.phase("evaluate"):
            trace = [
                {"iteration": t, "seconds": seconds, **self._scores(function.decision_function)}
                for t, seconds, function in (along if observed is model else [])
            ]
        positive = float(np.mean(values >= 0))
        return Judgement(
            {
                ACCURACY.name: 1 - error_rate(y, values),
                BALANCED.name: balanced_accuracy(y, values),
                POSITIVE.name: positive,
                ONE_CLASS.name: float(max(positive, 1 - positive) >= COLLAPSED_SHARE),
                CORRECTED.name: getattr(model, "corrected_", None),
                PRIOR.name: getattr(model, "prior_", None),
                PAIRS.name: float(self._sizes.n_similar),
                TESTED.name: float(len(y)),
                RISK.name: None,
            },
            trace,
        )

    def _scores(self, function: Any) -> dict[str, float]:
        """Return the scores of a function at a checkpoint."""
        values = np.asarray(function(self.split.X_test))
        return {ACCURACY.name: 1 - error_rate(self.split.y_test, values)}


def _risk(similar: Any, unlabeled: Any, prior: float, loss: Any) -> float | None:
    """Return the risk on held-out pairs and rows; None without a solution."""
    if not (np.isfinite(similar).all() and np.isfinite(unlabeled).all()):
        return None
    return su_risk(similar, unlabeled, prior, loss)


class SimilarUnlabeled(Task):
    """The learning setting."""

    kind = "similar_unlabeled"
    version = 1
    Spec = SimilarUnlabeledSpec
    axes = (UNLABELED,)
    measures = (ACCURACY, BALANCED, POSITIVE, ONE_CLASS, CORRECTED, PRIOR, PAIRS, TESTED, RISK)
    chooses = RISK.name
    outputs = (
        "accuracy_table",
        "balanced_table",
        "balance_table",
        "corrected_table",
        "prior_table",
        "rows_table",
        "time_table",
        "accuracy_trace_table",
        "accuracy_curve",
        "accuracy_trace",
        "accuracy_boxplot",
        "time_curve",
    )
    words = (CLASS_PRIOR,)
    calls = ("decision_function", "fit_points", "cost")
    gives = ("X_similar", "X_unlabeled", "X", "y")

    def trial(self, dataset: Any, spec: Any, seed: int) -> Trial:
        """Return a trial of a dataset."""
        return SimilarUnlabeledTrial(dataset, spec, seed)


TASK = SimilarUnlabeled()

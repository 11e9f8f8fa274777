"""Learning a classifier from pairs of rows of the same class, and unlabelled rows."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from dsgkit.config.spec import Count, Folds, Problem, is_finite
from dsgkit.data.dataset import Rows
from dsgkit.linalg import checked_shape
from dsgkit.priors import checked_similar_prior
from dsgkit.risks.similar import MIN_PRIOR_GAP, similar_share
from dsgkit.seeds import derive_seed, permutation, stratified_folds
from dsgkit.tasks import base
from dsgkit.tasks.base import At, Judgement, Point, Scores, Task, Work, takes
from dsgkit.tasks.measures import MEASURES
from dsgkit.tasks.metrics import balanced_accuracy, error_rate, su_risk
from dsgkit.tasks.semi_supervised import UNLABELED, fold_scores, with_others

CLASS_PRIOR = "class_prior"  # in configs: the share of positives with which rows are drawn
ESTIMATE = "estimate"  # of a solver's parameter ``prior``: to be estimated

COLLAPSED_SHARE = 0.99  # least share of rows in one class with which a model counts as collapsed
MAX_PAIR_SHARE = 2 / 3  # of the rows of a class in pairs; the rest is for unlabelled rows
RESERVE_DEVIATIONS = 3  # rows of a class in reserve, in standard deviations of the drawn number
MIN_ROWS = 10  # fewest pairs and unlabelled rows


def _prior(value: Any) -> float | None:
    if value is None:
        return None
    if not is_finite(value) or not 0 < value < 1:
        raise Problem("must be a number above 0 and below 1, or null for the dataset's own")
    if abs(value - 0.5) <= MIN_PRIOR_GAP:
        raise Problem(
            f"must differ from 1/2 by more than {MIN_PRIOR_GAP:g}: with two classes of the same "
            "size, pairs and unlabelled rows have the same distribution"
        )
    return float(value)


class SimilarUnlabeledSpec(base.ProtocolSpec):
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
    scale: base.Scale = (0.0, 1.0)
    folds: Folds = 5
    select: Literal["zero_one", "squared"] = "zero_one"

    only_for_search: ClassVar[tuple[str, ...]] = ("folds", "select")
    told: ClassVar[Mapping[str, str]] = {"y": "labels"}

    @property
    def setting(self) -> str:
        drawn = "the dataset's own prior" if self.prior is None else f"a prior of {self.prior:g}"
        return f"{self.pairs:,} similar pairs (or as many as there are) at {drawn}"

    @property
    def protocol(self) -> str:
        return f"{super().protocol}, {base.scale_words(self.scale)}"

    @property
    def selection(self) -> str:
        loss = self.select.replace("_", "-")
        return (
            f"{self.folds}-fold cross-validation of pairs and unlabelled rows by their {loss} "
            "risk, which uses no label; what is given labels, by its error"
        )


class PairSplit(NamedTuple):
    """The scaled rows of a trial; points of a pair are adjacent, and no label is 0."""

    similar: Rows
    X_unlabeled: Rows
    y_unlabeled: NDArray[np.integer]
    X_test: Rows
    y_test: NDArray[np.integer]


class SimilarUnlabeled(Task):
    """Learning a classifier from pairs of rows of the same class, and unlabelled rows.

    Without labels, hyper-parameters are searched by cross-validation of a risk that is estimated
    from pairs and unlabelled rows (Bao, Niu & Sugiyama, ICML 2018). Models are evaluated by
    their accuracy on labelled test rows (Shi et al., Machine Learning 2021).

    If the dataset has similar pairs, the pairs are chosen among them, and the other rows are of no
    pair. Rows without a label are unlabelled rows, unless rows are drawn by another prior.

    A solver with labels, by ``fit(X, y)``, is an upper bound, searched by its errors. An estimate
    of the prior does not tell which class is the larger one: solvers with ``prior="estimate"`` get
    that for the positive class from the trial.
    """

    kind = "similar_unlabeled"
    Spec = SimilarUnlabeledSpec
    axes = (UNLABELED,)
    measures = MEASURES[kind]
    chooses = "risk"
    outputs = (
        *("accuracy_table", "balanced_table", "balance_table", "corrected_table", "prior_table"),
        *("rows_table", "time_table", "accuracy_curve", "accuracy_trace"),
        *("accuracy_boxplot", "time_curve"),
    )
    words = (CLASS_PRIOR,)
    draws = "pairs, unlabelled and test rows"
    target = "binary"
    gives = ("X_similar", "X_unlabeled", "X", "y")

    def __init__(self, dataset: Any, spec: Any, seed: int) -> None:
        super().__init__(dataset, spec, seed)
        pairs = dataset.similar_pairs
        in_pairs = np.empty(0, np.int64) if pairs is None else np.unique(pairs)
        rows = np.setdiff1d(np.arange(len(dataset.y)), in_pairs)
        self._left = {label: rows[dataset.y[rows] == label] for label in (1, -1)}
        # rows without a label have the dataset's own share of positives
        others = dataset.unlabeled_rows[: None if spec.prior is None else 0]
        self.without_label = np.setdiff1d(others, in_pairs)
        self.prior = float(np.mean(dataset.y == 1)) if spec.prior is None else spec.prior
        # probability that a similar pair is positive
        self.positive_pairs = float(self.prior**2 / similar_share(self.prior))
        self.n_similar, self.n_drawn = self._largest_numbers()
        self.n_scored = min(self.n_drawn // 3, spec.test)
        if abs(self.prior - 0.5) <= MIN_PRIOR_GAP:
            raise dataset.error(
                "its classes are of the same size, and with a prior of "
                "1/2 pairs are uninformative; set `protocol.prior`"
            )
        if min(self.n_similar, self.n_drawn) < spec.folds:
            raise dataset.error(
                f"{self.n_similar} pairs and {self.n_drawn} unlabelled "
                f"rows cannot be cut into {spec.folds} folds"
            )
        self.sizes = {"unlabeled": self.n_drawn + len(self.without_label)}
        self._estimates: dict[int, float] = {}

    def _largest_numbers(self) -> tuple[int, int]:
        """Return the largest possible numbers of pairs, up to ``pairs``, and then of drawn rows.

        ``2 n_S pi_c^2/pi_S + (n_U + n_test) pi_c`` rows of class c are expected, plus a reserve.
        """
        share, q, given = self.prior, self.positive_pairs, self.dataset.similar_pairs
        of_pairs, of_rows = np.array([q, 1 - q]), np.array([share, 1 - share])
        counts = np.array([len(rows) for rows in self._left.values()])

        def too_many(n_similar: int, n_drawn: int, most: float) -> bool:
            n_single = n_drawn + min(n_drawn // 3, self.spec.test)
            spread = 4 * n_similar * q * (1 - q) + n_single * share * (1 - share)
            needed = 2 * n_similar * of_pairs + n_single * of_rows
            return bool(np.any(needed + RESERVE_DEVIATIONS * math.sqrt(spread) > most * counts))

        def largest(most: int, is_too_large: Callable[[int], bool]) -> int:
            return bisect.bisect_left(range(1, most + 1), True, key=is_too_large)

        if given is None:
            n_taken = n_similar = largest(self.spec.pairs, lambda n: too_many(n, 0, MAX_PAIR_SHARE))
        else:
            n_taken, n_similar = 0, min(self.spec.pairs, len(given))
        n_drawn = largest(int(counts.sum()), lambda n: too_many(n_taken, n, 1.0))
        if min(n_similar, n_drawn) < MIN_ROWS:
            raise self.dataset.error(
                f"{counts[0]:,} positive and {counts[1]:,} negative "
                f"rows, drawn by a prior of {share:.3g}, give {n_similar} similar pairs and "
                f"{n_drawn} unlabelled rows; {MIN_ROWS} of each are needed"
            )
        return n_similar, n_drawn

    @property
    def values(self) -> dict[str, float | tuple[float, ...]]:
        return {CLASS_PRIOR: self.prior}

    @functools.cached_property
    def split(self) -> PairSplit:
        """The rows of the trial: classes are drawn first, then rows of these, each used once."""
        dataset, left = self.dataset, dict(self._left)
        for label, rows in left.items():
            left[label] = rows[permutation(len(rows), derive_seed(self.seed, "class", label))]

        def draw(kind: str, n: int, probability: float, each: int = 1) -> NDArray[np.int64]:
            words = np.random.PCG64(derive_seed(self.seed, kind)).random_raw(n)
            successes = int(np.count_nonzero(words < np.uint64(probability * 2.0**64)))
            fewest, most = max(0, n - len(left[-1]) // each), len(left[1]) // each
            n_positive = int(np.clip(successes, fewest, most))
            counts = {1: each * n_positive, -1: each * (n - n_positive)}
            rows = np.concatenate([left[label][:count] for label, count in counts.items()])
            for label, count in counts.items():
                left[label] = left[label][count:]
            order = permutation(n, derive_seed(self.seed, kind, "order"))
            return rows.reshape(n, each)[order].ravel()

        if dataset.similar_pairs is None:
            similar = draw("similar", self.n_similar, self.positive_pairs, 2)
        else:
            seed = derive_seed(self.seed, "similar", "order")
            order = permutation(len(dataset.similar_pairs), seed)
            similar = dataset.similar_pairs[order[: self.n_similar]].ravel()
        unlabeled = draw("unlabeled", self.n_drawn, self.prior)
        test = draw("test", self.n_scored, self.prior)
        y_unlabeled = dataset.y[unlabeled]
        if len(self.without_label):
            seed = derive_seed(self.seed, "without label")
            unlabeled, y_unlabeled = with_others(unlabeled, y_unlabeled, self.without_label, seed)
        y_unlabeled.flags.writeable = False  # cells share the labels
        scaling = dataset.scaling(self.spec.scale)
        S, U, T = (Rows(dataset.X, rows, *scaling) for rows in (similar, unlabeled, test))
        return PairSplit(S, U, y_unlabeled, T, dataset.y[test])

    def drawn_rows(self) -> dict[str, Any]:
        split = self.split
        parts = {"similar": split.similar, "unlabeled": split.X_unlabeled, "test": split.X_test}
        return {name: rows.index for name, rows in parts.items()}

    def fold_rows(self, at: At) -> dict[str, list[Any]]:
        """Return the held-out rows of pairs and unlabelled rows; and, for ``y``, labelled ones."""
        similar: Any = self.split.similar.index
        unlabeled: Any = self.split.X_unlabeled.index
        pairs = similar.reshape(-1, 2)
        labeled, y = self._labeled(at)
        return {
            "similar": [pairs[fold].ravel() for fold in self._dealt(self.n_similar)],
            "unlabeled": [unlabeled[fold] for fold in self._dealt(at["unlabeled"])],
            "labeled": [unlabeled[labeled[fold]] for fold in self._by_class(y)],
        }

    def _labeled(self, at: At) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """Return which unlabelled rows are labelled for a ``fit`` with ``y``, and their labels."""
        y = self.split.y_unlabeled[: at["unlabeled"]]
        rows = np.flatnonzero(y)[: 2 * self.n_similar]
        return rows, y[rows]

    def _dealt(self, n: int) -> list[NDArray[np.int64]]:
        """Return the held-out positions of each fold of what is in a random order."""
        return [np.arange(fold, n, self.spec.folds) for fold in range(self.spec.folds)]

    def _by_class(self, y: NDArray[np.integer]) -> list[NDArray[np.int64]]:
        return stratified_folds(y, self.spec.folds, derive_seed(self.seed, "folds"))

    def counts(self, at: At) -> dict[str, int]:
        return {"n_similar": self.n_similar, "n_unlabeled": at["unlabeled"]}

    def training(self, at: At) -> dict[str, Any]:
        """Return the pairs, shape (n_similar, 2, d), and the first unlabelled rows."""
        pairs = self.split.similar[:].reshape(-1, 2, self.dataset.n_features)
        unlabeled = self.split.X_unlabeled.take(slice(at["unlabeled"]))
        return {"X_similar": pairs, "X_unlabeled": unlabeled}

    def given(self, estimator: Any, at: At) -> dict[str, Any]:
        """Return the pairs and unlabelled rows; or, for a ``fit`` with ``y``, labelled rows."""
        if not takes(estimator, "y"):
            return self.training(at)
        rows, y = self._labeled(at)
        return {"X": self.split.X_unlabeled[rows], "y": y}

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the held-out risk (with labels, the error) of every point on every fold."""
        given = self.given(estimator, at)
        if takes(estimator, "y"):
            y = given["y"]
            by_class = self._by_class(y)
            values = estimator.fit_points(points, folds=by_class, **given)
            values = checked_shape(values, "fit_points", (len(points), len(y)))
            return fold_scores(y, values, by_class, error_rate)
        n, n_pairs, n_rows = len(points), len(given["X_similar"]), len(given["X_unlabeled"])
        folds = list(zip(self._dealt(n_pairs), self._dealt(n_rows), strict=True))
        self._set_prior(estimator, given)
        points = [
            {**point, "prior": self._estimate(given)} if point.get("prior") == ESTIMATE else point
            for point in points
        ]
        similar, unlabeled = estimator.fit_points(points, folds=folds, **given)
        similar = checked_shape(similar, "fit_points, for pairs,", (n, n_pairs, 2))
        unlabeled = checked_shape(unlabeled, "fit_points, for unlabelled rows,", (n, n_rows))
        known = estimator.get_params().get("prior", self.prior)

        def risk(g: int, of_pairs: Any, of_rows: Any) -> float | None:
            at_pairs, at_rows = similar[g, of_pairs], unlabeled[g, of_rows]
            if not (np.isfinite(at_pairs).all() and np.isfinite(at_rows).all()):
                return None  # no solution
            return su_risk(at_pairs, at_rows, points[g].get("prior", known), self.spec.select)

        return [[risk(g, *fold) for fold in folds] for g in range(n)]

    def _set_prior(self, estimator: Any, training: Mapping[str, Any]) -> None:
        if estimator.get_params().get("prior") == ESTIMATE:
            estimator.set_params(prior=self._estimate(training))

    def _estimate(self, training: Mapping[str, Any]) -> float:
        n = len(training["X_unlabeled"])
        if n not in self._estimates:
            larger, _ = checked_similar_prior(training["X_similar"], training["X_unlabeled"])
            self._estimates[n] = larger if self.prior > 0.5 else 1 - larger
        return self._estimates[n]

    def fit(self, estimator: Any, at: At, clock: Any) -> None:
        """Train an estimator, in phases of its own for an estimate of the prior and training."""
        training = self.given(estimator, at)
        with clock.phase("prior"):
            self._set_prior(estimator, training)
        del training  # the pairs are in memory once
        super().fit(estimator, at, clock)

    def observed(self, estimator: Any, at: At) -> int | None:
        return estimator.n_iterations if base.is_observable(estimator) else None

    def fit_work(self, estimator: Any, at: At) -> Work:
        work, observed = super().fit_work(estimator, at), base.is_observable(estimator)
        return replace(work, scoring=work.scoring * (base.N_CHECKPOINTS if observed else 1))

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        X, y = self.split.X_test, self.split.y_test
        with clock.phase("predict"):
            values = base.finite_values(model, X)
        with clock.phase("evaluate"):
            trace = self.trace(
                model, "accuracy", lambda f: 1 - error_rate(y, f.decision_function(X))
            )
        positive = float(np.mean(values >= 0))
        scores = {
            "accuracy": 1 - error_rate(y, values),
            "balanced_accuracy": balanced_accuracy(y, values),
            "positive": positive,
            "collapsed": float(max(positive, 1 - positive) >= COLLAPSED_SHARE),
            "corrected": getattr(model, "corrected_", None),
            "prior": getattr(model, "prior_", None),
            "pairs": float(self.n_similar),
            "tested": float(len(y)),
            "risk": None,
        }
        return Judgement(scores, trace)

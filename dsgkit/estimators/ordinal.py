"""Ordinal regression: a ranking function, and thresholds between the classes."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Columns, Expansion, one_by_one
from dsgkit.engine.problem import Data, Fold, Problem, Sizes
from dsgkit.engine.streaming import stream, streaming_cost
from dsgkit.errors import DataError, DivergedError, FitError, warn
from dsgkit.estimators import thresholds as rules
from dsgkit.estimators.auc import (
    SINGULAR_BLOCK,
    by_sweeps,
    by_sweeps_cost,
    decreasing,
    one_pass,
    random_features_cost,
)
from dsgkit.estimators.base import (
    SemiSupervisedEstimator,
    blocks_of,
    by_own_fit,
    fit_observed,
    held_out,
    memory_for,
)
from dsgkit.estimators.inputs import naming_bad_rows
from dsgkit.estimators.parameters import (
    NOT_NEGATIVE,
    T0,
    Classes,
    Count,
    Frequencies,
    GammaPerCut,
    GaussianOrLinear,
    GramKernelName,
    HingeWeight,
    KernelName,
    Lam,
    MaxMemory,
    PassIterations,
    RandomState,
    Sigma,
    ThetaLam,
    ThresholdRule,
    Tolerance,
)
from dsgkit.exact.explicit import random_features
from dsgkit.exact.quadratic import SINGULAR, Dual, dual_cost, minimise
from dsgkit.exact.svor import OrdinalProgram, ordinal_program, program_cost
from dsgkit.linalg import Array, spaced, training_rows
from dsgkit.risks.pairwise import (
    OrdinalAUC,
    above_cuts,
    for_cuts,
    open_cuts,
)
from dsgkit.seeds import stratified_folds
from dsgkit.tasks.metrics import cut_aucs

OwnOrRule = Literal["own"] | ThresholdRule

THRESHOLD_FOLDS = 5
"""Folds for the out-of-fold values that thresholds are fitted on."""

FARTHEST = 1e9
"""Distance to a threshold that is infinite; scikit-learn wants finite values."""

REFERENCE_ROWS, SHARE_ROWS = 2000, 20_000
"""Unlabelled rows whose mean value is subtracted from a fold's values; those for the rule
"share"."""


class OrdinalEstimator(SemiSupervisedEstimator):
    """Base of the estimators that rank rows of ordered classes.

    A fit has two steps: the function (`fit_function`), and the thresholds on its values that
    separate the classes (`fit_thresholds`). Cut j has the classes up to the j-th below and the
    others above. In a fold some classes may have no rows: a cut with an empty side is left out.

    A class outside of the package defines ``_fit(X, codes, X_unlabeled)``, with codes 0, 1, .., and
    ``_values(X)``, of shape (n,), or (n, n_cuts) if it sets ``per_cut``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels as scikit-learn sorts them: numbers by size, text alphabetically.
    ordered_classes_ : ndarray of shape (n_classes,)
        The labels from the lowest class to the highest.
    sigma_ : float
        The sigma in use.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between the classes, on the values of the function.
    """

    tasks = ("ordinal",)
    per_cut: ClassVar[bool] = False
    _: KW_ONLY
    classes: Classes = None

    def learn(self, problem: Problem) -> Any:
        """Train a class of one's own, by its ``_fit`` and ``_values``."""
        n_columns = problem.data.n_sources - 1 if self.per_cut else 1
        functions = by_own_fit(problem, lambda data: (data.X, data.codes, data.U), n_columns)
        return Columns(functions, n_columns) if self.per_cut else functions

    @naming_bad_rows
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function and the thresholds.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Labels of two or more classes in the order of ``classes``; without it, of an ordered
            pandas Categorical in its order, and else of numbers by size. Without ``X_unlabeled``,
            rows with the label ``unlabeled_label`` are the unlabelled ones; if there are none, the
            labelled rows are used as unlabelled rows too.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs), optional
        """
        data = self._training(X, y, X_unlabeled)
        return self._fit_to(data)._set_thresholds(data)

    def data(self, X: Any, y: Any, X_unlabeled: Any = None) -> Data:
        data = super().data(X, y, X_unlabeled)
        order = np.argsort(self._places(y))
        self.ordered_classes_ = self.classes_[order]
        n_marked, mark = self._n_given - len(data.X), self.unlabeled_label
        numbers = self.classes_.dtype.kind in "if"  # a mark above one of them may be a class, too
        if n_marked and (n_marked < len(data.X) or (numbers and self.classes_[0] < mark)):
            warn(
                f"{n_marked:,} of {self._n_given:,} rows count as unlabelled, those labelled "
                f"{mark}: if it is a class, name another unlabeled_label"
            )
        return replace(data, codes=np.argsort(order)[data.codes])

    def _places(self, y: Any) -> NDArray[np.integer]:
        """Return the place of each of ``classes_`` in the order from the lowest to the highest."""
        labels, order = self.classes_.tolist(), self.classes
        if order is None and getattr(getattr(y, "dtype", None), "ordered", False):
            order = y.dtype.categories
        if order is None:
            if len(labels) > 2 and isinstance(labels[0], str | bytes):
                raise DataError(
                    f"text does not say the order of its {len(labels)} classes: pass classes=[..] "
                    "from the lowest to the highest, or labels of an ordered pandas Categorical"
                )
            return np.arange(len(labels))
        if np.ndim(order) != 1 or len(set(order)) < len(order):
            raise DataError(f"classes must be a list of different labels, got {order!r}")
        places = {label: place for place, label in enumerate(order)}
        if unknown := [label for label in labels if label not in places]:
            raise DataError(f"classes must hold all labels of y, but not {unknown[:5]}")
        return np.array([places[label] for label in labels])

    @naming_bad_rows
    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function alone, without thresholds: `predict` is not available yet."""
        return self._fit_to(self._training(X, y, X_unlabeled))

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Place the thresholds of a fitted function by the rule ``thresholds``.

        ``logistic`` and ``absolute`` are fitted on out-of-fold values, as values at training rows
        are too optimistic. The mean value at unlabelled rows is subtracted from every fold's
        values, because the origin of a ranking is arbitrary. If a fold would leave only one class,
        they are fitted on the values at the training rows. ``own`` are the thresholds that some
        estimators fit with their function.
        """
        if self._rule == "own":
            self.thresholds_ = self.own_thresholds_
            return self
        checked = clone(self)
        data = checked.data(X, y, X_unlabeled)
        if not np.array_equal(checked.ordered_classes_, self.ordered_classes_):
            raise DataError("fit_thresholds needs the classes that the function was fitted on")
        return self._set_thresholds(data)

    @property
    def _rule(self) -> str:
        return str(getattr(self, "thresholds", "logistic"))

    def _set_thresholds(self, data: Data) -> Self:
        """Place the thresholds by the rule."""
        rule = self._rule
        if rule == "own":
            self.thresholds_ = self.own_thresholds_
            return self
        cuts: NDArray[Any] = above_cuts(data.codes, data.n_sources)
        place: Any = rules.share if rule == "share" else rules.SUPERVISED[rule]
        if rule == "share":
            values, cuts = self._values(spaced(data.U, SHARE_ROWS)), 1 - cuts.mean(axis=0)
        else:
            values = self._values(data.X[:]) if rule == "hinge" else self._held_out(data)
        if values.ndim == 1:
            self.thresholds_ = place(values, cuts)
        else:
            parts = [place(f, cuts[..., [j]]) for j, f in enumerate(values.T)]
            self.thresholds_ = np.concatenate(parts)
        return self

    def _held_out(self, data: Data) -> Array:
        """Return out-of-fold values, or those of training if a fold leaves only one class."""
        folds = stratified_folds(data.codes, min(THRESHOLD_FOLDS, len(data.codes)), 0)
        if any(len(np.unique(np.delete(data.codes, fold))) < 2 for fold in folds):
            return self._values(data.X[:])
        centre, held = spaced(data.U, REFERENCE_ROWS), [Fold(fold) for fold in folds]
        of_folds = copy.copy(self)  # training sets attributes
        functions = of_folds.learn(Problem.of([of_folds], data, held, values_only=False))
        values: Array = held_out(functions, data, held, centre)[0][0]
        if np.isnan(values).any():
            raise FitError("no solution when a fold of the labelled rows is held out")
        return values + self._values(centre).mean(axis=0)

    def _value_shape(self, data: Data) -> tuple[int, ...]:
        return (data.n_sources - 1,) if self.per_cut else ()

    def score_samples(self, X: Any) -> Array:
        """Return the values of the function, shape (n,); of one per cut, shape (n, n_cuts)."""
        values = super().decision_function(X)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def decision_function(self, X: Any) -> Array:
        """Return how far inside each class rows are, in the form that scikit-learn expects.

        That is the distance of the value to the nearest threshold of the class, negative outside.

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            In the order of ``classes_``; largest for the class that `predict` returns. Of two
            classes that of the second one, positive if it is predicted.
        """
        values = self.score_samples(X)
        columns = values if values.ndim == 2 else values[:, None]
        above = np.clip(-np.sort(self.thresholds_ - columns), -FARTHEST, FARTHEST)
        above = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (FARTHEST, -FARTHEST)))
        inside = np.minimum(above[:, :-1], -above[:, 1:])[:, np.argsort(self.ordered_classes_)]
        return inside if inside.shape[1] > 2 else inside[:, 1]

    @property
    def predict_proba(self) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba: "
            "sklearn.calibration.CalibratedClassifierCV adds probabilities to it"
        )

    def uses(self, name: str) -> bool:
        """Return whether the function, or the rule "share", depends on the array of this name.

        The other rules use unlabelled rows only for the common origin of the folds' values.
        """
        return super().uses(name) or self._rule == "share"

    def _values(self, X: Any) -> Array:
        values: Array = self.function_.values(X)[:, 0].astype(np.float64)
        return values

    def _coded(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], NDArray[np.integer]]:
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                f"labels must hold at least two classes, got 1 class: {classes.tolist()}{hint}"
            )
        return classes, codes

    def _folds(self, folds: Any, data: Data) -> list[Fold]:
        held = super()._folds(folds, data)
        for fold in held:
            if len(np.unique(data.codes[training_rows(fold.labeled, len(data.codes))])) < 2:
                raise DataError("labels must hold at least two classes outside of every fold")
        return held

    def classify(self, values: Array) -> NDArray[Any]:
        """Return the classes of rows from their values, as `score_samples` returns them."""
        columns = values if values.ndim == 2 else values[:, None]
        return self.ordered_classes_[(columns > self.thresholds_).sum(axis=1)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        return self.classify(self.score_samples(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean over the cuts of the area under the ROC curve.

        Unlabelled rows are left out, and so are cuts with no row on one side. A label that the
        model was not fitted on, rows of one class and weights raise `DataError`.
        """
        if sample_weight is not None:
            raise DataError("score takes no sample_weight")
        X, y, _ = self._labeled_part(X, y, None)
        codes = (y[:, None] == self.ordered_classes_).argmax(axis=1)
        aucs = cut_aucs(codes, self.score_samples(X), len(self.classes_))
        known = [auc for auc in aucs if auc is not None]
        if not known:
            raise DataError("score needs labels of at least two classes")
        return float(np.mean(known))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


class QS3ORAO(OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by quadruply stochastic functional gradients.

    Minimises the mean over the cuts between the classes of the semi-supervised AUC risk of
    `QSGS2AUC`, plus ``lam/2 ||f||^2``, over the functions of a kernel, by default
    ``exp(-sigma ||x - x'||^2)``; then places thresholds on the values of the function. Each
    iteration draws a batch of every class, one of unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). With two classes it is QSG-S2AUC. Memory is O(T m),
    whatever the number of rows.

    Parameters
    ----------
    lam, sigma, kernel, n_features, frequencies, n_iterations, theta_lam, t0
        As in `QSGS2AUC`.
    random_state, unlabeled_label
        As in `QSGS2AUC`.
    gamma : float between 0 and 1, or a tuple of these, default 0.5
        Weight of the supervised risk, that of the labelled pairs; 1 uses no unlabelled row. A tuple
        has one number per cut, beginning with the cut above the lowest class.
    batch_size : int >= 1, default 256
        Rows of each class, and unlabelled rows, per iteration.
    thresholds : {"logistic", "absolute", "share", "hinge"}, default "logistic"
        Rule that places the thresholds between the classes on the function's values
        (`dsgkit.estimators.thresholds`). "hinge" is the paper's; it is the only one that depends on
        the scale of the function.
    classes : list of labels, optional
        The labels from the lowest class to the highest, which text needs; None is the order of an
        ordered pandas Categorical, and else that of numbers. Not for configs.

    Attributes
    ----------
    classes_, ordered_classes_, sigma_, thresholds_
        As in `OrdinalEstimator`; so of all ordinal estimators.
    function_, n_iter_
        As in `QSGS2AUC`.
    n_cuts_ : int
        Cuts in the objective's mean: those with training rows on both sides.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.
    """

    version = 2
    pace = Pace(training=1.1)
    failure = DivergedError(
        "diverged with lam={lam:g}: the first steps are too long; set t0='stable'"
    )

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Count = 256
    n_features: Count = 256
    frequencies: Frequencies = "independent"
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    thresholds: ThresholdRule = "logistic"

    fit_observed = fit_observed

    def risk(self, data: Any) -> OrdinalAUC:
        return ordinal_auc(self, data)

    def learn(self, problem: Problem) -> Any:
        self.n_iter_ = one_pass(self, len(problem.data.U))
        self.n_cuts_ = int(open_cuts(problem.data.counts).sum())
        steps = decreasing(self, problem)
        return stream(problem, blocks_of(self), steps, self.n_iter_, int(self.batch_size))

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        T = one_pass(self, n.unlabeled)
        return streaming_cost(blocks_of(self, sigma=1.0), n, T, int(self.batch_size), n_models)

    def settled(self, **counts: int) -> Self:
        return clone(self).set_params(n_iterations=one_pass(self, counts["n_unlabeled"]))

    def exact_minimiser(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Return the exact minimiser of the fitted objective, in O(n^3) for n rows."""
        exact = ExactS2OR(self.lam, self.sigma_, self.gamma, kernel=self.kernel)
        exact.set_params(unlabeled_label=self.unlabeled_label, classes=self.classes)
        return exact.fit_function(X, y, X_unlabeled)


class QS3ORAOP(OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QS3ORAO` as `QSGS2AUCP` does for two classes; then places thresholds
    on the values of the function. With all unlabelled rows in a batch, sweeps converge to the
    minimiser over the ``n_blocks n_features`` frequencies. The paper has no such method.

    Parameters
    ----------
    lam, sigma, gamma, kernel, frequencies, random_state, thresholds, unlabeled_label, classes
        As in `QS3ORAO`.
    batch_size, n_features, n_blocks, n_sweeps
        As in `QSGS2AUCP`.
    """

    pace = Pace(training=0.9)
    failure = SINGULAR_BLOCK

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Count = 1024
    n_features: Count = 256
    frequencies: Frequencies = "independent"
    n_blocks: Count = 16
    n_sweeps: Count = 2
    random_state: RandomState = 0
    thresholds: ThresholdRule = "logistic"

    def risk(self, data: Any) -> OrdinalAUC:
        return ordinal_auc(self, data)

    def learn(self, problem: Problem) -> Any:
        return by_sweeps(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return by_sweeps_cost(self, n, n_models)


class ExactS2OR(OrdinalEstimator):
    """Exact minimiser of the semi-supervised ordinal risk with a kernel.

    Minimises the mean over the cuts between k ordered classes of
    ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f))``, plus ``lam/2 ||f||^2``, over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``. R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs; rows of the classes above a cut are its positives, those
    below its negatives. This is the problem that `QS3ORAO` approximates; with two classes it
    is that of `SAMULT`. One Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and
    unlabelled rows.

    Parameters
    ----------
    lam, sigma, gamma, thresholds, unlabeled_label, classes
        As in `QS3ORAO`.
    kernel, max_memory
        As in `SAMULT`.

    Attributes
    ----------
    centers_, coef_, function_
        As in `SAMULT`.
    """

    has_intercept = False
    pace = Pace(training=0.6, per_model=2)
    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: ThresholdRule = "logistic"
    max_memory: MaxMemory = None

    def risk(self, data: Any) -> OrdinalAUC:
        return ordinal_auc(self, data)

    def learn(self, problem: Problem) -> Any:
        return minimise(problem, Dual(self.kernel, self.sigma_), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        n_rows = n.labeled + bool(np.min(self.gamma) < 1) * n.unlabeled
        return with_thresholds(self, dual_cost(n, n_rows, n_models), n_models)


class RFFS2OR(OrdinalEstimator):
    """Minimiser of the semi-supervised ordinal risk over a fixed set of random features.

    The objective of `ExactS2OR` and `QS3ORAO`, with the kernel replaced by ``2 n_features`` random
    features: O(n n_features^2) time in one pass over the unlabelled rows, which are read in
    blocks, and O(n_features^2) memory.

    Parameters
    ----------
    lam, sigma, gamma, kernel, frequencies, thresholds, unlabeled_label, classes
        As in `QS3ORAO`.
    n_features, max_memory, random_state
        As in `RFFS2AUC`.

    Attributes
    ----------
    coef_, features_, function_
        As in `RFFS2AUC`.
    """

    has_intercept = False
    pace = Pace(training=0.9)
    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: Count = 1000
    frequencies: Frequencies = "independent"
    thresholds: ThresholdRule = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def risk(self, data: Any) -> OrdinalAUC:
        return ordinal_auc(self, data)

    def learn(self, problem: Problem) -> Any:
        self.features_ = blocks_of(self)
        return minimise(problem, random_features(self.features_), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return with_thresholds(self, random_features_cost(self, n, n_models), n_models)


def ordinal_auc(estimator: Any, data: Any) -> OrdinalAUC:
    gamma = for_cuts("gamma", estimator.gamma, data.n_sources - 1)
    return OrdinalAUC(np.array(gamma, np.float64))


def with_thresholds(estimator: Any, cost: Cost, n_models: int) -> Cost:
    """Return the cost with a second system, for the values that thresholds are fitted on."""
    if n_models > 1 or estimator.thresholds not in ("logistic", "absolute"):
        return cost
    return replace(cost, flops=2 * cost.flops)


class SVOREX(OrdinalEstimator):
    """Ordinal support vector machine with explicit constraints on the thresholds.

    Over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, and thresholds b it
    minimises ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i = j} H(b_j - f(x_i)) + sum_{y_i = j+1} H(f(x_i) - b_j) ]

    with the hinge ``H(r) = max(0, 1 - r)``, subject to ``b_1 <= b_2 <= ..``: the loss of a row
    depends only on the two thresholds of its class. Unlabelled rows are not used. With two classes
    it is the support vector machine with the decision function ``f - b_1``.

    The dual is solved by sequential minimal optimisation, with steps in all free variables in
    between (``dsgkit.exact.svor``). A fit takes O(n^2 n_inputs) for the kernel matrix of the n
    labelled rows, and O(n n_classes) per step, of which there are usually 2 n to 10 n. The matrix,
    or as many of its columns as memory allows, is kept in single precision (4 n^2 bytes): the
    result is the same.

    Parameters
    ----------
    C : float > 0, default 10.0
        Weight of the sum of the losses. A row is in two of them, whatever the number of classes, so
        that with many classes a C that suits `SVORIM` leaves most thresholds equal. No value suits
        all: 10 is for classes that the rows tell apart, and fits the noise of others. Search it.
    sigma, unlabeled_label, classes
        As in `QS3ORAO`.
    kernel : {"gaussian", "linear"}, default "gaussian"
        As in `BLS3VM`.
    ridge : float >= 0, default 0.0
        Added to the diagonal of the kernel matrix of the training rows; the program of Chu and
        Keerthi adds 0.001.
    tol : float > 0, default 0.001
        Violation of the optimality conditions, in units of f, at which a problem is solved.
    max_iter : int >= 1, default 10000000
        Most steps; beyond them the fit fails.
    thresholds : {"own", "logistic", "absolute", "share", "hinge"}, default "own"
        The thresholds of the objective, or a rule that places others after training
        (`dsgkit.estimators.thresholds`).
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.

    Attributes
    ----------
    centers_ : ndarray of shape (n_support, n_inputs)
        Support vectors: rows whose coefficient is not 0.
    coef_ : ndarray of shape (n_support,)
        Their coefficients.
    n_iter_ : int
        Steps.
    own_thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds of the objective, for every rule. If an interval of thresholds is optimal, its
        middle.

    Notes
    -----
    Mean absolute errors of C = 1, 2, 3 and 10 (means of 5 splits): scikit-learn's diabetes in five
    classes, 200 rows, .90, .88, .88 and .93 (median class 1.20, all-threshold logistic .82); digits
    as ten ordered classes, 500 rows, 1.60, 1.27, .95 and .51. With C = 1 the function ranks the
    diabetes as well as others, but its thresholds lie badly: ``thresholds="logistic"`` has .81.

    References
    ----------
    .. [1] Chu & Keerthi, "Support vector ordinal regression", Neural Computation 19, 2007.
    """

    pace = Pace(training=0.2, per_model=0.6)
    labeled_only = True
    folds_in_one_pass = False  # each has its own kernel matrix
    explicit: ClassVar[bool] = True

    C: HingeWeight = 10.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    ridge: Annotated[float, NOT_NEGATIVE] = 0.0
    tol: Tolerance = 0.001
    max_iter: Count = 10**7
    thresholds: OwnOrRule = "own"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        # a larger C starts from the solution for a smaller one
        order = np.lexsort((problem.each("C"), problem.pool))
        return one_by_one(problem, self._solve, self._program, order)

    def _program(self, data: Data) -> OrdinalProgram:
        shape = self.kernel, self.sigma_, self.explicit, self.ridge
        return ordinal_program(data, *shape, memory_for(self))

    def _solve(self, part: Problem, program: OrdinalProgram) -> Expansion:
        program.solve(float(part.each("C")[0]), self.tol, int(self.max_iter))
        self.n_iter_ = program.n_steps
        # cuts between the same two of the classes that occur share a threshold
        cuts = np.arange(part.data.n_sources - 1)
        n_below = np.searchsorted(np.unique(part.data.codes), cuts, side="right")
        self.own_thresholds_ = np.concatenate([[-np.inf], program.thresholds(), [np.inf]])[n_below]
        return program.function(self.kernel, self.sigma_)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return program_cost(n, n_models, memory_for(self), explicit=self.explicit)


class SVORIM(SVOREX):
    """Ordinal support vector machine whose thresholds are ordered without constraints.

    As `SVOREX`, but every threshold has losses of all classes, which keeps them in order ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i <= j} H(b_j - f(x_i)) + sum_{y_i > j} H(f(x_i) - b_j) ]

    The loss of a row bounds the number of classes that it is off by. Attributes and reference are
    those of `SVOREX`.

    Parameters
    ----------
    C : float > 0, default 1.0
        Weight of the sum of the losses, as in LIBSVM.
    sigma, kernel, ridge, tol, max_iter, thresholds, max_memory, unlabeled_label, classes
        As in `SVOREX`.
    """

    explicit = False

    C: HingeWeight = 1.0

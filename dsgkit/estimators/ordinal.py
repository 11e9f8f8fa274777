"""Ordinal regression: a ranking function, and thresholds between the classes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from dsgkit.costs import Cost, Pace
from dsgkit.engine.problem import Data, Fold, Problem, Sizes
from dsgkit.engine.streaming import stream, streaming_cost
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.errors import DataError, DivergedError, FitError
from dsgkit.estimators.auc import SINGULAR_BLOCK, decreasing, one_pass, sweep_sizes
from dsgkit.estimators.base import SemiSupervisedEstimator, blocks_of, fit_observed, held_out
from dsgkit.linalg import Array, spaced, training_rows
from dsgkit.risks.pairwise import OrdinalAUC, above_cuts, for_cuts, open_cuts
from dsgkit.seeds import stratified_folds
from dsgkit.solvers.common import (
    T0,
    FeaturesPerBlock,
    FeaturesPerIteration,
    Frequencies,
    GammaPerCut,
    KernelName,
    Lam,
    NBlocks,
    NSweeps,
    PassIterations,
    RandomState,
    Sigma,
    SweepBatch,
    ThetaLam,
    Thresholds,
)
from dsgkit.solvers.ordinal import thresholds as rules
from dsgkit.solvers.parameters import COUNT, check_parameters
from dsgkit.tasks.metrics import cut_aucs

THRESHOLD_FOLDS = 5
"""Folds for the out-of-fold values that thresholds are fitted on."""

REFERENCE_ROWS, SHARE_ROWS = 2000, 20_000
"""Unlabelled rows whose mean value is subtracted from a fold's values; those for the rule
"share"."""


class OrdinalEstimator(SemiSupervisedEstimator):
    """Base of the estimators that rank rows of ordered classes.

    A fit has two steps: the function (`fit_function`), and the thresholds on its values that
    separate the classes (`fit_thresholds`). Cut j has the classes up to the j-th below and the
    others above. In a fold some classes may have no rows: a cut with an empty side is left out.
    """

    tasks = ("ordinal",)

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function and the thresholds.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Labels of two or more classes, ordered as they sort: numbers by size, text
            alphabetically, so that ("low", "mid", "high") must be numbered. Without
            ``X_unlabeled``, rows with the label ``unlabeled_label`` are the unlabelled ones; if
            there are none, the labelled rows are used as unlabelled rows too.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs), optional

        Raises
        ------
        DataError, MemoryLimitError, FitError
            As `SemiSupervisedEstimator.fit`.
        """
        return self.fit_function(X, y, X_unlabeled).fit_thresholds(X, y, X_unlabeled)

    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function alone, without thresholds: `predict` is not available yet."""
        check_parameters(self)
        return self._fit(self.data(X, y, X_unlabeled))

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Place the thresholds of a fitted function by the rule ``thresholds``.

        ``logistic`` and ``absolute`` are fitted on out-of-fold values, as values at training rows
        are too optimistic. The mean value at unlabelled rows is subtracted from every fold's
        values, because the origin of a ranking is arbitrary. If a fold would leave only one class,
        they are fitted on the values at the training rows.
        """
        checked = clone(self)
        data = checked.data(X, y, X_unlabeled)
        if not np.array_equal(checked.classes_, self.classes_):
            raise DataError("fit_thresholds needs the classes that the function was fitted on")
        above = above_cuts(data.codes, data.n_sources)
        if self.thresholds == "share":
            values = self._values(spaced(data.U, SHARE_ROWS))
            self.thresholds_ = rules.share(values, 1 - above.mean(axis=0))
            return self
        folds = stratified_folds(data.codes, min(THRESHOLD_FOLDS, len(data.codes)), 0)
        trainable = all(len(np.unique(np.delete(data.codes, fold))) > 1 for fold in folds)
        if self.thresholds == "hinge" or not trainable:
            values = self._values(data.X[:])
        else:
            centre = spaced(data.U, REFERENCE_ROWS)
            held = [Fold(fold) for fold in folds]
            functions = self.learn(Problem.of([self], data, held, values_only=False))
            values = held_out(functions, data, held, centre)[0][0]
            if np.isnan(values).any():
                raise FitError("no solution when a fold of the labelled rows is held out")
            values += self._values(centre).mean(axis=0)
        self.thresholds_ = rules.SUPERVISED[self.thresholds](values, above)
        return self

    def uses(self, name: str) -> bool:
        """Return whether the function, or the rule "share", depends on the array of this name.

        The other rules use unlabelled rows only for the common origin of the folds' values.
        """
        return super().uses(name) or self.thresholds == "share"

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
        """Return the classes of rows from their values, as `decision_function` returns them."""
        columns = values if values.ndim == 2 else values[:, None]
        return self.classes_[(columns > self.thresholds_).sum(axis=1)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        values = self.decision_function(X)
        return self.classify(values)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean over the cuts of the area under the ROC curve.

        Unlabelled rows are left out, and so are cuts with no row on one side.

        Raises
        ------
        DataError
            For a label that the model was not fitted on, for rows of one class, and for weights.
        """
        if sample_weight is not None:
            raise DataError("score takes no sample_weight")
        X, y, _ = self._labeled_part(X, y, None)
        codes = np.searchsorted(self.classes_, y)
        aucs = cut_aucs(codes, self.decision_function(X), len(self.classes_))
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
    lam : float > 0
        Weight of the regulariser.
    sigma : float > 0 or "scale"
        Parameter of the kernel; "scale" fits it to the rows (`dsgkit.estimators.sigma.scale_of`).
    gamma : float between 0 and 1, or a tuple of these
        Weight of the supervised risk, that of the labelled pairs; 1 uses no unlabelled row. A tuple
        has one number per cut, beginning with the cut above the lowest class.
    kernel : str
        "gaussian", "laplacian" or "dot_product(p)" (``dsg list kernels``).
    batch_size : int >= 1
        Rows of each class, and unlabelled rows, per iteration.
    n_features : int >= 1
        Random frequencies m per iteration (each is a cosine and a sine); not the paper's.
    frequencies : {"independent", "structured"}
        How those of a block are drawn; structured ones (Gaussian kernel only) take less time from
        256 columns on.
    n_iterations : int >= 1, optional
        Iterations T; None is one pass over the unlabelled rows, at least 200 and at most 2,000
        (the cap is not the paper's).
    theta_lam : float > 0
        ``theta lam`` of the step ``theta / (t + t0)``; the theory wants it in (1, 2) or a positive
        integer.
    t0 : float >= 0 or "stable"
        Offset of the step; 0 is the paper's rule, with which the iterates can grow by orders of
        magnitude or overflow if ``lam`` is small (see `QSGS2AUC`); "stable" prevents that.
    random_state : int between 0 and 2^64 - 1
        Seed of everything that is drawn at random.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule that places the thresholds between the classes on the function's values
        (`dsgkit.estimators.thresholds`). "hinge" is the paper's; it is the only one that depends on
        the scale of the function.
    unlabeled_label : int, float or str
        Label of the unlabelled rows in ``y``, if ``X_unlabeled`` is not passed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    function_ : BlockModel
        Seeds and coefficients.
    n_cuts_ : int
        Cuts in the objective's mean: those with training rows on both sides.
    n_iter_ : int
        Iterations made.
    sigma_ : float
        The sigma in use.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between the classes, on the values of the function.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.
    """

    version = 2
    pace = Pace(training=3, per_model=4)
    failure = DivergedError(
        "diverged with lam={lam:g}: the first steps are too long; set t0='stable'"
    )

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Annotated[int, COUNT] = 256
    n_features: FeaturesPerIteration = 256
    frequencies: Frequencies = "independent"
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"

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
        from dsgkit.solvers.ordinal.exact import ExactS2OR

        exact = ExactS2OR(self.lam, self.sigma_, self.gamma, kernel=self.kernel)
        exact.unlabeled_label = self.unlabeled_label
        return exact.fit_function(X, y, X_unlabeled)


class QS3ORAOP(OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QS3ORAO` as `QSGS2AUCP` does for two classes; then places thresholds
    on the values of the function. With all unlabelled rows in a batch, sweeps converge to the
    minimiser over the ``n_blocks n_features`` frequencies. The paper has no such method.

    Parameters
    ----------
    lam, sigma, gamma, kernel, frequencies, random_state, thresholds, unlabeled_label
        As in `QS3ORAO`.
    batch_size : int >= 1
        Unlabelled rows b per step; all labelled ones are in every batch.
    n_features : int >= 1
        Random frequencies m per block (each is a cosine and a sine). The time of a step grows with
        m^3, its memory with m^2.
    n_blocks : int >= 1
        Blocks T.
    n_sweeps : int >= 1
        Sweeps S over all blocks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    function_ : BlockModel
        Seeds and coefficients.
    sigma_ : float
        The sigma in use.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds between the classes, on the values of the function.
    """

    pace = Pace(training=3, per_model=4)
    failure = SINGULAR_BLOCK

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: SweepBatch = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"

    def risk(self, data: Any) -> OrdinalAUC:
        return ordinal_auc(self, data)

    def learn(self, problem: Problem) -> Any:
        return sweep(problem, blocks_of(self), problem.each("lam"), *sweep_sizes(self))

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return sweep_cost(blocks_of(self, sigma=1.0), n, *sweep_sizes(self), n_models)


def ordinal_auc(estimator: Any, data: Any) -> OrdinalAUC:
    """Return the risk with the estimator's gamma for each cut."""
    gamma = for_cuts("gamma", estimator.gamma, data.n_sources - 1)
    return OrdinalAUC(np.array(gamma, np.float64))

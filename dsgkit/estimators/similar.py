"""Learning from similar pairs and unlabelled rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine.curvature import unlabeled_curvatures
from dsgkit.engine.problem import Data, Fold, Problem, Sizes, Steps
from dsgkit.engine.streaming import stream, streaming_cost
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.errors import DataError, DivergedError, FitError
from dsgkit.estimators.auc import SINGULAR_BLOCK, sweep_sizes
from dsgkit.estimators.base import Estimator, blocks_of, fit_observed
from dsgkit.linalg import Array, training_rows
from dsgkit.risks.similar import SimilarUnlabeled
from dsgkit.solvers.common import (
    Delta,
    FeaturesPerBlock,
    FeaturesPerIteration,
    Frequencies,
    KernelName,
    Lam,
    Leak,
    MaxMemory,
    NBlocks,
    NSweeps,
    Prior,
    RandomState,
    Sigma,
    Theta,
)
from dsgkit.solvers.inputs import as_rows, check_finite
from dsgkit.solvers.parameters import COUNT, check_parameters
from dsgkit.solvers.similar.prior import check_prior, known_prior


@dataclass(frozen=True, eq=False)
class PairData(Data):
    """The points of all pairs as the one labelled source: rows 2i and 2i + 1 are pair i.

    ``prior_of`` maps a parameter ``prior`` to the number, and to its interval if it is estimated:
    once, from all rows.
    """

    prior_of: Callable[[Any], tuple[float, tuple[float, float] | None]] = field(kw_only=True)


class SimilarUnlabeledEstimator(ClassifierMixin, Estimator):
    """Base of the estimators that learn from pairs of the same class and unlabelled rows.

    scikit-learn's estimator checks call ``fit(X, y)``, so that they do not apply.
    """

    tasks = ("similar_unlabeled",)

    def fit(self, X_similar: Any, X_unlabeled: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X_similar : array-like of shape (n_similar, 2, n_inputs)
            Pairs of rows of the same, unknown class; or two data frames or sparse matrices with the
            first and the second rows of the pairs.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.

        Raises
        ------
        DataError
            If a parameter is out of range, the prior is 1/2, or the rows cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available; raised before
            anything is allocated.
        FitError
            If there is no solution, or none that can be computed.

        Warns
        -----
        DsgWarning
            If the prior is so close to 1/2 that noise dominates the risk, or its estimate is
            unreliable (`dsgkit.priors.checked_similar_prior`).
        """
        check_parameters(self)
        return self._fit(self.data(X_similar, X_unlabeled))

    def data(self, X_similar: Any, X_unlabeled: Any) -> PairData:
        U = as_rows(self, X_unlabeled, reset=True, name="X_unlabeled")
        if not len(U):
            raise DataError("X_unlabeled must hold at least one row")
        pairs = self._pairs(X_similar)
        points = pairs.reshape(-1, pairs.shape[2])
        check_finite(points)
        self.classes_ = np.array([-1, 1])
        prior_of = functools.cache(lambda prior: known_prior(prior, pairs, U))
        return PairData(points, np.zeros(len(points), np.int64), U, 1, prior_of=prior_of)

    def _pairs(self, X_similar: Any) -> Array:
        """Return pairs as an array; their columns must be those of the unlabelled rows."""
        halves = X_similar if isinstance(X_similar, list | tuple) and len(X_similar) == 2 else []
        if halves and all(sparse.issparse(half) or hasattr(half, "iloc") for half in halves):
            both = [as_rows(self, half, reset=False, name="X_similar")[:] for half in halves]
            if len(both[0]) != len(both[1]):
                raise DataError(
                    "X_similar must hold as many first as second rows of pairs, got "
                    f"{len(both[0])} and {len(both[1])}"
                )
            return np.stack(both, axis=1)
        try:
            pairs = np.asarray(X_similar[:])
        except (TypeError, ValueError, IndexError):  # not rows, or rows of different lengths
            pairs = np.empty(0)
        if pairs.ndim != 3 or pairs.shape[1] != 2 or not len(pairs):
            raise DataError(
                "X_similar must hold pairs of rows, shape (n_similar, 2, n_inputs), got shape "
                f"{pairs.shape}; for pairs side by side, X_similar.reshape(n_similar, 2, n_inputs)"
            )
        if pairs.shape[2] != self.n_features_in_:
            raise DataError(
                f"X_similar has {pairs.shape[2]} features, but X_unlabeled has "
                f"{self.n_features_in_}"
            )
        rows = as_rows(clone(self), pairs.reshape(-1, pairs.shape[2]), reset=True, name="X_similar")
        return np.asarray(rows).reshape(pairs.shape)

    def risk(self, data: Any) -> SimilarUnlabeled:
        prior = self.prior
        if prior != "estimate":
            check_prior(prior)
        self.prior_, self.prior_interval_ = data.whole.prior_of(prior)
        delta, leak = getattr(self, "delta", "none"), float(getattr(self, "leak", 0.0))
        return SimilarUnlabeled(self.prior_, delta, leak)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row, which is 1 for values of at least 0."""
        positive = self.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]

    def _folds(self, folds: Any, data: Data) -> list[Fold]:
        """Return folds of points for folds of pairs and of unlabelled rows."""
        try:
            both = [
                (np.asarray(pairs, np.int64), np.asarray(rows, np.int64)) for pairs, rows in folds
            ]
        except (TypeError, ValueError):
            raise DataError(
                "a fold must be two arrays: positions of held-out pairs and of held-out unlabelled"
                " rows"
            ) from None
        for pairs, rows in both:
            left = training_rows(pairs, len(data.X) // 2), training_rows(rows, len(data.U))
            if not all(map(len, left)):
                raise DataError("a fold must leave a pair and an unlabelled row to train on")
        return [Fold(np.stack([2 * p, 2 * p + 1], axis=1).ravel(), rows) for p, rows in both]

    def _out_of_fold(self, values: list[Array]) -> tuple[Array, Array]:
        """Return values of shapes (n_points, n_similar, 2) and (n_points, n_unlabeled)."""
        at_points, at_rows = values
        return at_points.reshape(len(at_points), -1, 2), at_rows


class TSGSU(SimilarUnlabeledEstimator):
    """Similar-unlabelled learning by triply stochastic functional gradients.

    Minimises ``delta(r1) + delta(r2) + lam/2 ||f||^2`` over the functions of a kernel, by default
    ``exp(-sigma ||x - x'||^2)``, where with ``l(z, t) = (t z - 1)^2/4`` and
    ``pi_S = pi^2 + (1 - pi)^2``

    ``r1 = [pi_S mean_S l(f, +1) - (1 - pi) mean_U l(f, +1)] / (2 pi - 1)``
    ``r2 = [pi mean_U l(f, -1) - pi_S mean_S l(f, -1)] / (2 pi - 1)``

    estimate the contributions of the two classes to the risk; S are the points of all pairs, U the
    unlabelled rows. Neither is below 0 in expectation, but an estimate may be: there the correction
    function delta reverses or stops the descent (Eq. 8 of [1]_). Without it, the risk is that of
    `SUSL`.

    Each iteration draws a batch of points of pairs, one of unlabelled rows and a new block of m
    random frequencies; delta' is evaluated at the batch's r1 and r2 (Algorithm 1 of [1]_). Time is
    O(b m d T^2 / 2), memory O(m T), whatever the number of rows.

    Parameters
    ----------
    lam : float > 0
        Weight of the regulariser.
    sigma : float > 0 or "scale"
        Parameter of the kernel; "scale" fits it to the rows (`dsgkit.estimators.sigma.scale_of`).
    kernel : str
        "gaussian", "laplacian" or "dot_product(p)" (``dsg list kernels``).
    prior : float strictly between 0 and 1 or "estimate"
        The share pi of the class 1 among unlabelled rows, not 1/2; "estimate" estimates it and
        makes 1 the larger class (`dsgkit.priors.checked_similar_prior`).
    delta : {"abs", "relu", "leaky_relu", "none"}
        Correction function: the absolute value (the paper's), ``max(0, r)``, a line of slope
        ``leak`` below 0, or no correction.
    leak : float between -1 and 0
        Slope of the leaky ReLU below 0: -1 is the absolute value, 0 is ReLU.
    step : {"measured", "paper"}
        ``theta / (lam + L/2)``, where L is the largest eigenvalue of the kernel matrix of (800)
        unlabelled rows over their number, or ``theta / sqrt(T)``. A step of ``1 / lam`` or more is
        refused.
    theta : float > 0
        Factor of the step.
    tail : {"average", "last", "decay"}
        The mean of the functions over the last half of the iterations (not the paper's), the last
        function (the paper's), or the last one with steps that fall linearly to 0. The mean depends
        least on lam and sigma; if T is so small that the bias dominates, the last function is
        nearer to the minimum.
    batch_size : int >= 1
        Rows b of each of the two batches.
    n_features : int >= 1
        Random frequencies m per iteration (each is a cosine and a sine).
    frequencies : {"independent", "structured"}
        How those of a block are drawn; structured ones (Gaussian kernel only) take less time from
        256 columns on.
    n_iterations : int >= 1
        Iterations T.
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.
    random_state : int between 0 and 2^64 - 1
        Seed of everything that is drawn at random.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        -1 and 1.
    corrected_ : float
        Share of the batches in which r1 or r2 was below 0, so that a correction acts.
    function_ : BlockModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    prior_ : float
        Share of the class 1: the parameter ``prior``, or its estimate.
    prior_interval_ : tuple of float, or None
        95% confidence interval of an estimated prior (`dsgkit.priors.similar_prior_interval`).
    sigma_ : float
        The sigma in use.

    Notes
    -----
    The rate O(1/sqrt(T)) that Theorem 1 of [1]_ prints does not follow from its proof: divided by
    ``eta T``, the middle term of Eq. 29 leaves a constant multiple of theta, not of
    ``theta^2/sqrt(T)``. Two captions contradict the text: Table 4 is of the benchmark datasets, not
    of high-dimensional ones, and Figure 4, of 10,000 unlabelled rows, says that SUSL and SUDH are
    missing for want of memory, with which Table 5 has results for as many.

    References
    ----------
    .. [1] Shi, Gu, Li, Deng & Huang, "Triply stochastic gradient method for large-scale nonlinear
       similar unlabeled classification", Machine Learning 110, 2021.
    """

    pace = Pace(training=2.5, per_model=5)
    failure = DivergedError(
        "diverged with theta={theta:g}: the steps are too long; lower theta, or set step='measured'"
    )

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Delta = "abs"
    leak: Leak = -0.5
    step: Literal["measured", "paper"] = "measured"
    theta: Theta = 1.0
    tail: Literal["average", "last", "decay"] = "average"
    batch_size: Annotated[int, COUNT] = 1000
    n_features: FeaturesPerIteration = 1000
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[int, COUNT] = 100
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    fit_observed = fit_observed

    def learn(self, problem: Problem) -> Any:
        T, steps = int(self.n_iterations), self._steps(problem)
        if problem.n_models == 1 and np.isnan(steps.eta).any():
            raise FitError(
                f"theta={self.theta:g} makes a step of 1/lam or more with lam={self.lam:g}, which "
                "is no descent: lower theta"
            )
        functions = stream(problem, blocks_of(self), steps, T, int(self.batch_size), **self._tail())
        self.n_iter_, self.corrected_ = T, float(problem.loss.negative[0] / T)
        return functions

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        sizes = int(self.n_iterations), int(self.batch_size)
        return streaming_cost(blocks_of(self, sigma=1.0), n, *sizes, n_models, **self._tail())

    def _steps(self, problem: Problem) -> Steps:
        """Return ``theta / (lam + L/2)``; NaN for a step of ``1/lam`` or more."""
        lam, theta, T = problem.each("lam"), problem.each("theta"), int(self.n_iterations)
        if self.step == "measured":
            eta = theta / (lam + unlabeled_curvatures(problem, self.kernel, self.sigma_))
        else:
            eta = theta / math.sqrt(T)
        constant = np.full(len(lam), np.nan)
        allowed = np.where(eta * lam < 1, eta, np.nan)
        last = T if self.tail == "decay" else np.inf
        return Steps(lam, constant, np.zeros(len(lam)), allowed, last)

    def _tail(self) -> dict[str, bool]:
        return {"average": self.tail == "average", "in_passes": True}


class TSGSUP(SimilarUnlabeledEstimator):
    """Similar-unlabelled learning by block-preconditioned steps.

    Minimises the objective of `TSGSU` over the same functions. While a step of `TSGSU` is a number,
    here it is the inverse of the block's Hessian of the risk without correction, on a batch of the
    points of all pairs and some unlabelled rows; the gradient is the corrected one. Without
    correction and with all unlabelled rows in a batch, sweeps converge to the minimiser over the
    ``n_blocks n_features`` frequencies (`RFFSUSL`). The paper has no such method.

    Parameters
    ----------
    lam, sigma, kernel, prior, leak, frequencies, max_memory, random_state
        As in `TSGSU`.
    delta : {"abs", "relu", "leaky_relu", "none"}
        Correction function; none, the default, as full steps on corrected gradients can end far
        from the minimiser.
    batch_size : int >= 1
        Unlabelled rows per step; the points of all pairs are in every batch.
    n_features : int >= 1
        Random frequencies m per block (each is a cosine and a sine). The time of a step grows with
        m^3, its memory with m^2.
    n_blocks : int >= 1
        Blocks T.
    n_sweeps : int >= 1
        Sweeps S over all blocks.

    Attributes
    ----------
    classes_, corrected_, function_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    """

    pace = Pace(training=2.5, per_model=5)
    failure = SINGULAR_BLOCK

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Delta = "none"
    leak: Leak = -0.5
    batch_size: Annotated[int, COUNT] = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        functions = sweep(problem, blocks_of(self), problem.each("lam"), *sweep_sizes(self))
        n_steps = int(self.n_blocks) * int(self.n_sweeps)
        self.corrected_ = float(problem.loss.negative[0] / n_steps)
        return functions

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return sweep_cost(blocks_of(self, sigma=1.0), n, *sweep_sizes(self), n_models)

"""Learning from similar pairs and unlabelled rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine.curvature import UNLABELED_ROWS, largest_eigenvalue, unlabeled_curvatures
from dsgkit.engine.model import Expansion, Separate, one_by_one
from dsgkit.engine.problem import Data, Fold, Problem, Sizes, Steps, take
from dsgkit.engine.sizes import MAX_BLOCK_ROWS
from dsgkit.engine.streaming import stream, streaming_cost
from dsgkit.errors import DataError, DivergedError, FitError
from dsgkit.estimators.auc import (
    SINGULAR_BLOCK,
    by_sweeps,
    by_sweeps_cost,
    drawn_centers,
    n_centers_of,
    random_features_cost,
)
from dsgkit.estimators.base import BinaryClassifier, blocks_of, by_own_fit, fit_observed
from dsgkit.estimators.inputs import as_rows, check_finite, naming_bad_rows
from dsgkit.estimators.parameters import (
    COUNT,
    PER_MODEL,
    POSITIVE,
    Count,
    Delta,
    Frequencies,
    KernelName,
    Lam,
    Leak,
    LegacyDefault,
    LinearOrKernel,
    MaxMemory,
    Prior,
    RandomState,
    Range,
    Sigma,
    Smoother,
    Theta,
)
from dsgkit.exact.descent import descend, descent_cost, kernel_basis, kernel_curvature
from dsgkit.exact.double_hinge import double_hinge, double_hinge_cost, whitening
from dsgkit.exact.explicit import linear_features, primal_cost, random_features, with_constant
from dsgkit.exact.quadratic import SINGULAR, Dual, dual_cost, minimise
from dsgkit.kernels import finite_rows, kernel_named
from dsgkit.linalg import Array, row_blocks, spaced, training_rows
from dsgkit.priors import check_prior, known_prior
from dsgkit.random import draw_in_passes
from dsgkit.risks.similar import LOSSES, SimilarUnlabeled, weights
from dsgkit.system.progress import report


@dataclass(frozen=True, eq=False)
class PairData(Data):
    """The points of all pairs as the one labelled source: rows 2i and 2i + 1 are pair i.

    ``prior_of`` maps a parameter ``prior`` to the number, and to its interval if it is estimated:
    once, from all rows.
    """

    prior_of: Callable[[Any], tuple[float, tuple[float, float] | None]] = field(kw_only=True)


class SimilarUnlabeledEstimator(BinaryClassifier):
    """Base of the estimators that learn from pairs of the same class and unlabelled rows.

    scikit-learn's estimator checks call ``fit(X, y)``, so that they do not apply.
    """

    tasks = ("similar_unlabeled",)
    has_intercept = False

    def learn(self, problem: Problem) -> Any:
        """Train a class of one's own, by its ``_fit`` and ``_values``."""
        return by_own_fit(problem, lambda data: (data.X, data.U))

    @naming_bad_rows
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
            If the fit needs more memory than ``max_memory`` or than is available.
        FitError
            If there is no solution, or none that can be computed.

        Warns
        -----
        DsgWarning
            If the prior is so close to 1/2 that noise dominates the risk, or its estimate is
            unreliable (`dsgkit.priors.checked_similar_prior`).
        """
        self._check_params()
        return self._fit_to(self.data(X_similar, X_unlabeled))

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

    def risk(self: Any, data: Any) -> SimilarUnlabeled:
        prior: Any = getattr(self, "prior", "estimate")
        if prior != "estimate":
            check_prior(prior)
        self.prior_, self.prior_interval_ = data.whole.prior_of(prior)
        delta, leak = getattr(self, "delta", "none"), float(getattr(self, "leak", 0.0))
        loss, window = getattr(self, "loss", "squared"), 1.0
        if getattr(self, "correction_at", "batch") == "sample":
            window = max(data.sizes.labeled, data.sizes.unlabeled) / int(self.batch_size)
        return SimilarUnlabeled(self.prior_, delta, leak, loss, window)

    def _folds(self, folds: Any, data: Data) -> list[Fold]:
        """Return folds of points for folds of pairs and of unlabelled rows."""
        try:
            both = [(pairs, rows) for pairs, rows in folds]
        except (TypeError, ValueError):
            raise DataError(
                "a fold must be two arrays: positions of held-out pairs and of held-out unlabelled"
                " rows"
            ) from None
        for pairs, rows in both:
            left = training_rows(pairs, len(data.X) // 2), training_rows(rows, len(data.U))
            if not all(map(len, left)):
                raise DataError("a fold must leave a pair and an unlabelled row to train on")
        arrays = [(np.asarray(p, np.int64), np.asarray(rows, np.int64)) for p, rows in both]
        return [Fold(np.stack([2 * p, 2 * p + 1], axis=1).ravel(), rows) for p, rows in arrays]

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
    random frequencies (Algorithm 1 of [1]_). Time is O(b m d T^2 / 2), memory O(m T), whatever the
    number of rows.

    Parameters
    ----------
    lam : float > 0, default 0.001
        Weight of the regulariser.
    sigma, kernel, frequencies, random_state
        As in `QSGS2AUC`.
    prior : float strictly between 0 and 1 or "estimate", default "estimate"
        The share pi of the class 1 among unlabelled rows, not 1/2; "estimate" estimates it and
        makes 1 the larger class (`dsgkit.priors.checked_similar_prior`).
    delta : {"abs", "relu", "leaky_relu", "none"}, default "abs"
        Correction function: the absolute value (the paper's), ``max(0, r)``, a line of slope
        ``leak`` below 0, or no correction.
    leak : float between -1 and 0, default -0.5
        Slope of the leaky ReLU below 0: -1 is the absolute value, 0 is ReLU.
    correction_at : {"sample", "batch"}, default "sample"
        Where delta' is taken: at running means of r1 and r2 over a pass, or at those of the batch
        itself. Small batches are below 0 where the sample is not, which biases the descent.
    step : {"measured", "paper"}, default "measured"
        ``theta / (lam + L/2)``, where L is the largest eigenvalue of the kernel matrix of (800)
        unlabelled rows over their number, or ``theta / sqrt(T)``. A step of ``1 / lam`` or more is
        refused.
    theta : float > 0, default 1.0
        Factor of the step.
    tail : {"average", "last", "decay"}, default "average"
        The mean of the functions over the last half of the iterations (not the paper's), the last
        function (the paper's), or the last one with steps that fall linearly to 0. The mean depends
        least on lam and sigma; if T is so small that the bias dominates, the last function is
        nearer to the minimum.
    batch_size : int >= 1, default 1000
        Rows b of each of the two batches.
    n_features : int >= 1, default 1000
        Random frequencies m per iteration (each is a cosine and a sine).
    n_iterations : int >= 1, default 100
        Iterations T.
    max_memory
        As in `SAMULT`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        -1 and 1.
    corrected_ : float
        Share of the iterations in which r1 or r2 was below 0, so that the correction acted.
    function_, n_iter_, sigma_
        As in `QSGS2AUC`.
    prior_ : float
        Share of the class 1: the parameter ``prior``, or its estimate.
    prior_interval_ : tuple of float, or None
        95% confidence interval of an estimated prior (`dsgkit.priors.similar_prior_interval`).

    Notes
    -----
    Eq. 17 to 21 of [1]_ are unbiased only with delta' at the full sample, which "sample" is near:
    on two moons, batches of 16, the mean ``||grad||^2`` of T = 256 to 65,536 iterations falls like
    T^-0.36, at the batch like T^-0.15, and without correction like T^-0.48.
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

    pace = Pace(training=1.1)
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
    correction_at: Annotated[Literal["sample", "batch"], PER_MODEL, LegacyDefault("batch")] = (
        "sample"
    )
    step: Literal["measured", "paper"] = "measured"
    theta: Theta = 1.0
    tail: Literal["average", "last", "decay"] = "average"
    batch_size: Count = 1000
    n_features: Count = 1000
    frequencies: Frequencies = "independent"
    n_iterations: Count = 100
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    fit_observed = fit_observed

    def learn(self, problem: Problem) -> Any:
        T, size, steps = int(self.n_iterations), int(self.batch_size), self._steps(problem)
        if problem.n_models == 1 and np.isnan(steps.eta).any():
            raise FitError(
                f"theta={self.theta:g} makes a step of 1/lam or more with lam={self.lam:g}, which "
                "is no descent: lower theta"
            )
        tail = {"average": self.tail == "average", "in_passes": True}
        functions = stream(problem, blocks_of(self), steps, T, size, **tail)
        self.n_iter_, self.corrected_ = T, float(problem.loss.negative[0] / T)
        return functions

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        sizes = int(self.n_iterations), int(self.batch_size), n_models
        tail = {"average": self.tail == "average", "in_passes": True}
        return streaming_cost(blocks_of(self, sigma=1.0), n, *sizes, **tail)

    def _steps(self, problem: Problem) -> Steps:
        """Return ``theta / (lam + L/2)``; NaN for a step of ``1/lam`` or more."""
        lam, theta, T = problem.each("lam"), problem.each("theta"), int(self.n_iterations)
        if self.step == "measured":
            eta = theta / (lam + unlabeled_curvatures(problem, self.kernel, self.sigma_))
        else:
            eta = theta / math.sqrt(T)
        allowed = np.where(eta * lam < 1, eta, np.nan)
        last = T if self.tail == "decay" else np.inf
        return Steps(lam, np.full_like(lam, np.nan), np.zeros_like(lam), allowed, last)


class TSGSUP(SimilarUnlabeledEstimator):
    """Similar-unlabelled learning by block-preconditioned steps.

    Minimises the objective of `TSGSU` over the same functions. While a step of `TSGSU` is a number,
    here it is the inverse of the block's Hessian of the risk without correction, on a batch of the
    points of all pairs and some unlabelled rows; the gradient is the corrected one. Without
    correction and with all unlabelled rows in a batch, sweeps converge to the minimiser over the
    ``n_blocks n_features`` frequencies (`RFFSUSL`). The paper has no such method.

    Parameters
    ----------
    lam : float > 0, default 0.1
        Weight of the regulariser.
    sigma, kernel, prior, leak, frequencies, max_memory, random_state
        As in `TSGSU`.
    delta : {"abs", "relu", "leaky_relu", "none"}, default "none"
        Correction function; none, the default, as full steps on corrected gradients can end far
        from the minimiser.
    batch_size : int >= 1, default 1024
        Unlabelled rows per step; the points of all pairs are in every batch.
    n_features, n_blocks, n_sweeps
        As in `QSGS2AUCP`.

    Attributes
    ----------
    classes_, corrected_, function_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    """

    pace = Pace(training=1.3)
    failure = SINGULAR_BLOCK

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Delta = "none"
    leak: Leak = -0.5
    batch_size: Count = 1024
    n_features: Count = 256
    frequencies: Frequencies = "independent"
    n_blocks: Count = 16
    n_sweeps: Count = 2
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        functions, n_steps = by_sweeps(self, problem), int(self.n_blocks) * int(self.n_sweeps)
        self.corrected_ = float(problem.loss.negative[0] / n_steps)
        return functions

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return by_sweeps_cost(self, n, n_models)


class SUSL(SimilarUnlabeledEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss.

    Minimises ``mean_U [(f^2 + 1)/4 + f/(2 (2 pi - 1))] - pi_S/(2 pi - 1) mean_S f
    + lam/2 ||f||^2``, where S are the points of the similar pairs, U the unlabelled rows and
    ``pi_S = pi^2 + (1 - pi)^2``: an unbiased estimate of the risk with the loss
    ``(y f - 1)^2/4``. Functions of a kernel take one Cholesky factorisation: O(n^3) time and
    8 n^2 bytes for n unlabelled rows, and O(n) per pair. Linear functions with a bias, which is
    penalised too, take one pass over the rows.

    Parameters
    ----------
    lam : float > 0, default 0.1
        Weight of the regulariser.
    sigma, prior, max_memory
        As in `TSGSU`.
    kernel : str, default "gaussian"
        "linear" (with a bias), or a kernel such as "gaussian" or "dot_product(3)".

    Attributes
    ----------
    classes_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    centers_ : ndarray of shape (2 * n_similar + n_unlabeled, n_inputs)
        Points of pairs, then unlabelled rows; only with a kernel.
    coef_ : ndarray of shape (n_inputs + 1,) or (2 * n_similar + n_unlabeled,)
        Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.
    function_ : Expansion

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """

    pace = Pace(training=1.4)
    failure = FitError(SINGULAR)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        return least_squares(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return least_squares_cost(self, n, n_models)


def least_squares(estimator: Any, problem: Problem) -> Any:
    """Minimise a risk whose only squares are those of unlabelled rows."""
    linear = estimator.kernel == "linear"
    space: Any = linear_features() if linear else Dual(estimator.kernel, estimator.sigma_)
    return minimise(problem, space, problem.each("lam") / 2)


def least_squares_cost(estimator: Any, n: Sizes, n_models: int) -> Cost:
    if estimator.kernel == "linear":
        return primal_cost(n.inputs + 1, 0.0, n, n_models, n_systems=1)
    return dual_cost(n, n.unlabeled, n_models, by_means=True)


class RFFSUSL(SimilarUnlabeledEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss over fixed random features.

    The objective of `SUSL` over the functions of `RFFS2AUC` with a Gaussian kernel, at the same
    cost: O(n n_features^2) time in one pass over the unlabelled rows, O(n_features^2) memory.

    Parameters
    ----------
    lam : float > 0, default 0.1
        Weight of the regulariser.
    sigma, frequencies, prior, max_memory, random_state
        As in `TSGSU`.
    n_features
        As in `RFFS2AUC`.

    Attributes
    ----------
    classes_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    coef_ : ndarray of shape (2 * n_features,)
        Coefficients of the features.
    function_ : Expansion
    """

    pace = Pace(training=2.5, per_model=20)
    failure = FitError(SINGULAR)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    n_features: Count = 1000
    frequencies: Frequencies = "independent"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        return minimise(problem, random_features(blocks_of(self)), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return random_features_cost(self, n, n_models, n_systems=1)


class SUDH(SimilarUnlabeledEstimator):
    """Minimiser of the similar-unlabelled risk with the double hinge loss.

    The loss is ``max(-t z, max(0, (1 - t z)/2))``, and the problem ``min lam/2 ||w||^2
    - pi_S/(2 pi - 1) mean_S z + (1 - pi)/(2 pi - 1) mean_U z + mean_U max(0, (1 + z)/2, z)``,
    where ``z = phi(x)'w``, S are the points of the similar pairs and U the unlabelled rows. It is
    convex and bounded below for every prior. The program that the authors of `SUSL` published with
    it is unbounded, because its last term is a multiple of the loss. Solved by an interior-point
    method in about 25 iterations of O(n_unlabeled n_features^2).

    Parameters
    ----------
    lam : float > 0, default 0.1
        Weight of the regulariser.
    sigma, prior, max_memory, random_state
        As in `TSGSU`.
    kernel : str, default "gaussian"
        "linear" (with a bias, which is penalised too), or a kernel such as "gaussian" or
        "dot_product(3)": expansions at ``n_centers`` unlabelled rows, regularised by the norm of
        the kernel's space.
    n_centers : int >= 1 or None, default 200
        Centres, at most one per unlabelled row; None takes all of these, as the authors do.
    max_seconds : float > 0, optional
        Time limit of the quadratic program; beyond it the fit raises `TimeLimitError`.

    Attributes
    ----------
    classes_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    centers_ : ndarray of shape (n_centers, n_inputs)
        Centres of a kernel.
    coef_ : ndarray of shape (n_inputs + 1,) or (n_centers,)
        Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.
    function_ : Expansion
    objective_ : float
        Minimum of the objective.
    """

    version = 2
    pace = Pace(training=12, per_model=50)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    n_centers: Annotated[int | None, COUNT] = 200
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    max_seconds: Annotated[float | None, POSITIVE] = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        return one_by_one(problem, self._solve)

    def _solve(self, problem: Problem) -> Expansion:
        """Solve the program of one model, in whitened kernel values: their norm is the kernel's."""
        data, prior = problem.data, float(problem.loss.prior[0])
        lam, U = float(problem.each("lam")[0]), data.U[:]
        if self.kernel == "linear":
            Phi, at_pairs = with_constant(U), with_constant(data.X)
        else:
            gram = kernel_named(self.kernel).gram
            z = drawn_centers(self, [U], "su_dh", "centers")
            white = whitening(gram(z, z, self.sigma_))
            Phi, at_pairs = (gram(X, z, self.sigma_) @ white for X in (U, data.X))
        of_pairs, of_rows, _ = weights(prior)
        slope = of_rows * Phi.mean(axis=0) - of_pairs * at_pairs.mean(axis=0)
        w = double_hinge(Phi, slope, lam, self.max_seconds)
        values = Phi @ w
        hinge = np.maximum(0, np.maximum((1 + values) / 2, values)).mean()
        self.objective_ = float(lam / 2 * w @ w + slope @ w + hinge)
        if self.kernel == "linear":
            return Expansion(None, 1.0, with_constant, w[:, None])
        return Expansion(self.kernel, self.sigma_, z, (white @ w)[:, None])

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        linear = self.kernel == "linear"
        p = n.inputs + 1 if linear else n_centers_of(self, n.unlabeled)
        return double_hinge_cost(p, n, n_models, linear=linear)

    def diagnostics(self, *arrays: Any, **named: Any) -> dict[str, float]:
        return {"objective": self.objective_}


class CUU(SimilarUnlabeledEstimator):
    """Classifier by stochastic gradients on the similar-unlabelled risk, corrected below 0.

    Minimises ``lam/2 ||w||^2 + delta(r1) + delta(r2)`` over functions ``f(x) = sum_c w_c k(x, c)``,
    whose centres c are all training points, or some of them; r1 and r2, as in `TSGSU`, estimate the
    risk of each class, which is never negative. Lu et al. [1]_ state the method for two unlabelled
    sets; as in the comparison of `TSGSU`'s authors, similar points are one set and unlabelled rows
    the other.

    An iteration draws ``batch_size`` similar points and as many unlabelled rows, each in passes of
    a new random order, and needs their kernel values with all centres. If the kernel matrix of all
    rows takes at most 1 GiB, it is computed once and kept in single precision: an iteration costs
    O(batch_size n_centers). Otherwise every iteration computes its part,
    O(batch_size n_centers n_inputs).

    Parameters
    ----------
    lam : float > 0, default 0.001
        Weight of the regulariser ``lam/2 ||w||^2``, of a linear function's bias too. As it weighs
        coefficients, one ``lam`` penalises less, the more centres there are.
    sigma, prior, delta, leak, theta, n_iterations, max_memory, random_state
        As in `TSGSU`.
    kernel
        As in `SUSL`.
    loss : {"squared", "logistic"}, default "squared"
        ``(t z - 1)^2/4`` or ``log(1 + exp(-t z))``.
    step : {"measured", "paper"}, default "measured"
        ``theta/(lam + s L)``, where L is the largest eigenvalue of ``Phi_U'Phi_U/n_U`` on at most
        800 rows and s is 1/2, or 1/4 with the logistic loss; or ``theta/sqrt(n_iterations)``.
    momentum : float >= 0 and < 1, default 0.0
        Momentum of the heavy ball method.
    batch_size : int >= 1 or None, default 1000
        Rows of each of the two batches; None takes all.
    n_centers : int >= 1, optional
        Random training points as centres; None takes all.

    Attributes
    ----------
    classes_, prior_, prior_interval_, sigma_
        As in `TSGSU`.
    centers_ : ndarray of shape (n_centers, n_inputs)
        Centres of a kernel; if they are all training points, the unlabelled rows come first.
    coef_, function_
        As in `SUDH`.
    corrected_, n_iter_
        As in `TSGSU`; r1 and r2 are those of the batch.

    References
    ----------
    .. [1] Lu, Zhang, Niu & Sugiyama, "Mitigating overfitting in supervised classification from two
       unlabeled datasets: a consistent risk correction approach", AISTATS 2020.
    """

    version = 2
    pace = Pace(training=2.4)
    failure = DivergedError("the iterations diverged: take a smaller theta")

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    prior: Prior = "estimate"
    loss: Literal["squared", "logistic"] = "squared"
    delta: Delta = "abs"
    leak: Leak = -0.5
    step: Literal["measured", "paper"] = "measured"
    theta: Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller")] = 1.0
    momentum: Annotated[float, Range(0, 1, open_high=True)] = 0.0
    batch_size: Annotated[int | None, COUNT] = 1000
    n_iterations: Count = 100
    n_centers: Annotated[int | None, COUNT] = None
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    fit_observed = fit_observed

    def learn(self, problem: Problem) -> Any:
        problem.clock.check(int(self.n_iterations))
        functions = [self._learn_pool(problem, pool) for pool in range(len(problem.pools))]
        self.n_iter_ = int(self.n_iterations)
        self.corrected_ = float(problem.loss.negative[0] / self.n_iter_)
        return functions[0] if len(functions) == 1 else Separate(functions)

    def _learn_pool(self, problem: Problem, pool: int) -> Expansion:
        """Return the functions of a pool's models, which are trained together; NaN if they fail."""
        models, data = problem.members(pool), problem.own_data(pool)
        lam, theta = problem.each("lam")[models], problem.each("theta")[models]
        zero, basis, curvature = self._functions(data)
        eta = theta / math.sqrt(self.n_iterations)
        if self.step == "measured":
            eta = theta / (lam + LOSSES[self.loss].steepest * curvature)
        possible = eta * lam < 1
        if problem.n_models == 1 and not possible.all():
            raise FitError(
                f"theta is too large: a step of {eta[0]:.3g} at lam={lam[0]:g} leaves nothing of"
                " earlier ones"
            )
        coef = np.full((len(zero.coef), len(lam)), np.nan)
        kept: Any = slice(None) if possible.all() else np.flatnonzero(possible)  # a slice counts on
        loss, start = take(take(problem.loss, models), kept), np.zeros_like(coef[:, kept])

        def watch(t: int, W: Array) -> None:
            problem.clock.after(t, lambda: replace(zero, coef=W))
            report(t / self.n_iterations)

        if possible.any():
            batches = self._batches(len(data.X), len(data.U))
            steps = lam[kept], eta[kept], self.momentum, watch
            with np.errstate(over="ignore", invalid="ignore"):
                coef[:, kept] = descend(loss, basis, [data.X, data.U], batches, start, *steps)
        if problem.n_models == 1 and not np.isfinite(coef).all():
            for block in row_blocks(len(data.U), MAX_BLOCK_ROWS):
                finite_rows(data.U[block])
        return replace(zero, coef=coef)

    def _functions(self, data: Data) -> tuple[Expansion, Any, float]:
        """Return the function 0, the basis, and the largest eigenvalue of ``Phi_U'Phi_U/n_U``."""
        sample = finite_rows(spaced(data.U, UNLABELED_ROWS))
        if self.kernel == "linear":
            Phi = with_constant(sample)
            zero = Expansion(None, 1.0, with_constant, np.zeros((Phi.shape[1], 1)))
            return zero, with_constant, largest_eigenvalue(Phi.T @ Phi) / len(Phi)
        z = drawn_centers(self, [data.U, data.X], "cuu", "centers", source=2)
        zero = Expansion(self.kernel, self.sigma_, z, np.zeros((len(z), 1)), norm_of_coef=True)
        basis, measured = kernel_basis(self.kernel, z, self.sigma_), self.step == "measured"
        curvature = kernel_curvature(self.kernel, z, self.sigma_, sample) if measured else 0.0
        return zero, basis, curvature

    def _batches(self, *counts: int) -> Iterator[tuple[Any, ...]]:
        """Yield the similar points and unlabelled rows of every iteration; None is all."""
        sizes = [min(int(self.batch_size or n), n) for n in counts]
        for t in range(int(self.n_iterations)):
            yield tuple(
                np.sort(draw_in_passes(self._seed, source, t, 1, size, n)[0])
                if self.batch_size
                else None
                for source, (size, n) in enumerate(zip(sizes, counts, strict=True))
            )

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        linear, T = self.kernel == "linear", int(self.n_iterations)
        p = n.inputs + 1 if linear else n_centers_of(self, n.labeled + n.unlabeled)
        return descent_cost(p, n, self.batch_size, T, n_models, linear=linear)

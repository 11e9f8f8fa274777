"""Semi-supervised AUC maximisation."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine.curvature import curvatures
from dsgkit.engine.problem import Data, Problem, Sizes, Steps
from dsgkit.engine.streaming import stream, streaming_cost
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.errors import DivergedError, FitError, IndefiniteError
from dsgkit.estimators.base import SemiSupervisedEstimator, blocks_of, fit_observed
from dsgkit.estimators.inputs import SparseRows
from dsgkit.estimators.parameters import (
    COUNT,
    NOT_NEGATIVE,
    PER_MODEL,
    T0,
    Count,
    Frequencies,
    Gamma,
    GramKernelName,
    KernelName,
    Lam,
    MaxMemory,
    PassIterations,
    RandomState,
    Range,
    Sigma,
    ThetaLam,
)
from dsgkit.exact.explicit import centres, centres_cost, landmarks, primal_cost, random_features
from dsgkit.exact.quadratic import INDEFINITE, SINGULAR, Dual, dual_cost, minimise
from dsgkit.linalg import Array, rows_at
from dsgkit.priors import PenL1Prior
from dsgkit.random import drawn_rows
from dsgkit.risks.pairwise import PriorAUC, SemiSupervisedAUC
from dsgkit.seeds import derive_seed

MIN_PASS_ITERATIONS, MAX_PASS_ITERATIONS = 200, 2000
"""Bounds of the iterations of one pass: with lam >= 2^-3, 400 come within 0.1% of the minimum, and
one pass over millions of rows would waste hours."""

SINGULAR_BLOCK = FitError(
    "the regulariser is so small that a block is singular to rounding; enlarge lam"
)


class PairwiseAUCEstimator(SemiSupervisedEstimator):
    """Base of the estimators that learn a ranking of two classes."""

    tasks = ("semi_supervised_auc",)
    has_intercept = False

    def data(self, X: Any, y: Any, X_unlabeled: Any = None) -> Data:
        data = super().data(X, y, X_unlabeled)
        rows = data.X if isinstance(data.X, SparseRows) else data.X[:]
        self._labeled = rows, data.codes  # for `predict`
        return data

    def risk(self, data: Any) -> Any:
        return SemiSupervisedAUC(float(self.gamma))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose labelled rows have the nearer mean value.

        A ranking has no threshold: adding a constant to the function changes no pair.
        """
        values, (rows, codes) = self.decision_function(X), self._labeled
        labeled = self.function_.values(rows)[:, 0].astype(np.float64)
        threshold = sum(labeled[codes == code].mean() for code in (0, 1)) / 2
        return self.classes_[(values >= threshold).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve at the labelled rows of ``X``.

        Raises
        ------
        DataError
            For a label that the model was not fitted on.
        """
        from sklearn.metrics import roc_auc_score

        X, y, sample_weight = self._labeled_part(X, y, sample_weight)
        values = self.decision_function(X)
        return float(roc_auc_score(y == self.classes_[1], values, sample_weight=sample_weight))


class QSGS2AUC(PairwiseAUCEstimator):
    """Semi-supervised AUC maximisation by quadruply stochastic functional gradients.

    Minimises ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) + lam/2 ||f||^2`` with the squared
    pairwise loss over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Each
    iteration draws a batch of positive, negative and unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). Memory is O(T m), whatever the number of rows.

    Parameters
    ----------
    lam : float > 0, default 0.125
        Weight of the regulariser.
    sigma : float > 0 or "scale", default "scale"
        Parameter of the kernel; "scale" fits it to the rows (`dsgkit.estimators.sigma.scale_of`).
    gamma : float between 0 and 1, default 0.5
        Weight of the supervised risk, that of the labelled pairs; 1 uses no unlabelled row.
    kernel : str, default "gaussian"
        "gaussian", "laplacian" or "dot_product(p)" (``dsg list kernels``).
    batch_size : int >= 1, default 256
        Triplets per iteration.
    n_features : int >= 1, default 256
        Random frequencies m per iteration (each is a cosine and a sine); not the paper's.
    frequencies : {"independent", "structured"}, default "independent"
        How the frequencies of a block are drawn; structured ones (Gaussian kernel only) take less
        time from 256 columns on.
    n_iterations : int >= 1, optional
        Iterations T; None is one pass over the unlabelled rows, at least 200 and at most 2,000
        (the cap is not the paper's).
    theta_lam : float > 0, default 1.5
        ``theta lam`` of the step ``theta / (t + t0)``; the theory wants it in (1, 2) or a positive
        integer.
    t0 : float >= 0 or "stable", default "stable"
        Offset of the step; 0 is the paper's rule. With it, the first steps are longer than the
        inverse of the risk's curvature if ``lam`` is small: the iterates grow by orders of
        magnitude, need many iterations to recover, or overflow. "stable" (not the paper's) is the
        smallest offset with which no step is that long; the curvature is measured on the labelled
        and some unlabelled rows.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of everything that is drawn at random.
    unlabeled_label : int, float or str, default -1
        Label of the unlabelled rows in ``y``, if ``X_unlabeled`` is not passed.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    function_ : BlockModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    sigma_ : float
        The sigma in use.

    References
    ----------
    .. [1] Shi, Gu, Li, Geng & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised AUC optimization", IJCAI 2019.
    """

    version = 2
    pace = Pace(training=1.1)
    failure = DivergedError(
        "diverged with lam={lam:g}: the first steps are too long; set t0='stable'"
    )

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Count = 256
    n_features: Count = 256
    frequencies: Frequencies = "independent"
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0

    fit_observed = fit_observed

    def learn(self, problem: Problem) -> Any:
        self.n_iter_ = one_pass(self, len(problem.data.U))
        steps = decreasing(self, problem)
        return stream(problem, blocks_of(self), steps, self.n_iter_, int(self.batch_size))

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        T = one_pass(self, n.unlabeled)
        return streaming_cost(blocks_of(self, sigma=1.0), n, T, int(self.batch_size), n_models)

    def settled(self, **counts: int) -> Self:
        return clone(self).set_params(n_iterations=one_pass(self, counts["n_unlabeled"]))

    def exact_minimiser(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Return the exact minimiser of the fitted objective, in O(n^3) for n rows."""
        exact = SAMULT(self.lam, self.sigma_, self.gamma, kernel=self.kernel)
        exact.unlabeled_label = self.unlabeled_label
        return exact.fit(X, y, X_unlabeled)


class QSGS2AUCP(PairwiseAUCEstimator):
    """Semi-supervised AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QSGS2AUC` over the same functions. While a step of `QSGS2AUC` is a
    number, here it is the inverse of the block's Hessian, on all pairs of a batch of all labelled
    and some unlabelled rows: a few blocks and sweeps come close to the minimiser even with a small
    ``lam``. With all unlabelled rows in a batch, sweeps converge to the minimiser over these
    frequencies. The paper has no such method.

    Parameters
    ----------
    lam, sigma, gamma, kernel, frequencies, random_state, unlabeled_label
        As in `QSGS2AUC`.
    batch_size : int >= 1, default 1024
        Unlabelled rows b per step; all labelled ones are in every batch.
    n_features : int >= 1, default 256
        Random frequencies m per block (each is a cosine and a sine). The time of a step grows with
        m^3, its memory with m^2.
    n_blocks : int >= 1, default 16
        Blocks T.
    n_sweeps : int >= 1, default 2
        Sweeps S over all blocks.

    Attributes
    ----------
    classes_, function_, sigma_
        As in `QSGS2AUC`.

    References
    ----------
    .. [1] Dai, Xie, He, Liang, Raj, Balcan & Song, "Scalable kernel methods via doubly stochastic
       gradients", NIPS 2014, and its program.
    .. [2] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.
    """

    pace = Pace(training=0.9)
    failure = SINGULAR_BLOCK

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Count = 1024
    n_features: Count = 256
    frequencies: Frequencies = "independent"
    n_blocks: Count = 16
    n_sweeps: Count = 2
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        return by_sweeps(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return by_sweeps_cost(self, n, n_models)


class SAMULT(PairwiseAUCEstimator):
    """Exact minimiser of the semi-supervised AUC risk with a kernel.

    Minimises ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f)) + lam/2 ||f||^2`` over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``, where R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs. This is the problem that `QSGS2AUC` approximates. One
    Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Parameters
    ----------
    lam, sigma, gamma, unlabeled_label
        As in `QSGS2AUC`.
    kernel : str, default "gaussian"
        "gaussian", "laplacian" or "dot_product(p)", or "linear", which has no sigma
        (``dsg list kernels``).
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.

    Attributes
    ----------
    classes_, sigma_
        As in `QSGS2AUC`.
    centers_ : ndarray of shape (n, n_inputs)
        Rows of the kernel expansion: labelled, then unlabelled ones.
    coef_ : ndarray of shape (n,)
        Coefficients of the rows.
    function_ : Expansion
    remark_ : str
        With gamma = 1, that the unlabelled rows were not used, which makes the fit cheaper.

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.
    """

    pace = Pace(training=1.2, per_model=6)
    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        self.remark_ = "" if self.gamma < 1 else "gamma = 1: unlabelled rows were not used"
        return minimise(problem, Dual(self.kernel, self.sigma_), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return dual_cost(n, n.labeled + (self.gamma < 1) * n.unlabeled, n_models)

    def uses(self, name: str) -> bool:
        return name != "X_unlabeled" or self.gamma < 1 or self.sigma == "scale"


class RFFS2AUC(PairwiseAUCEstimator):
    """Minimiser of the semi-supervised AUC risk over a fixed set of random features.

    The objective of `SAMULT` and `QSGS2AUC`, with the kernel replaced by ``2 n_features`` random
    features: O(n n_features^2) time in one pass over the unlabelled rows, which are read in blocks,
    and O(n_features^2) memory.

    Parameters
    ----------
    lam, sigma, gamma, kernel, frequencies, unlabeled_label
        As in `QSGS2AUC`.
    max_memory
        As in `SAMULT`.
    n_features : int >= 1, default 1000
        Random frequencies; each gives a cosine and a sine.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of the features.

    Attributes
    ----------
    classes_, function_, sigma_
        As in `SAMULT`.
    coef_ : ndarray of shape (n_columns,)
        Coefficients of the features.
    features_ : Blocks
        The random features.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    pace = Pace(training=1.4, per_model=4)
    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: Count = 1000
    frequencies: Frequencies = "independent"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        self.features_ = blocks_of(self)
        return minimise(problem, random_features(self.features_), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return random_features_cost(self, n, n_models)


class NystromS2AUC(PairwiseAUCEstimator):
    """Minimiser of the semi-supervised AUC risk over kernel expansions at landmarks.

    The objective of `SAMULT` and `QSGS2AUC`, over ``f(x) = sum_j a_j k(z_j, x)`` with the norm of
    the kernel. The landmarks z are all labelled and some random unlabelled rows; with every row as
    a landmark it is `SAMULT`. For D landmarks: O(n D^2 + D^3) time in one pass over the unlabelled
    rows, which are read in blocks, and O(D^2) memory.

    Parameters
    ----------
    lam, sigma, gamma, kernel, unlabeled_label
        As in `QSGS2AUC`.
    max_memory
        As in `SAMULT`.
    n_landmarks : int >= 0, default 1000
        Unlabelled rows among the landmarks, at most.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of the landmarks.

    Attributes
    ----------
    classes_, function_, sigma_
        As in `SAMULT`.
    centers_ : ndarray of shape (n_centers, n_inputs)
        The landmarks, labelled rows first.
    coef_ : ndarray of shape (n_centers,)
        Coefficients a.

    Notes
    -----
    Landmarks within rounding of the span of others, such as equal ones, are left out. In a
    cross-validation by `fit_points` the held-out rows remain landmarks: a landmark has no label,
    and all folds then share their features.

    References
    ----------
    .. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2001.
    """

    pace = Pace(training=1.2, per_model=4)
    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_landmarks: Annotated[int, NOT_NEGATIVE] = 1000
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        (X, U), count = problem.data.tables, int(self.n_landmarks)
        rows = drawn_rows(derive_seed(self._seed, "landmarks"), min(count, len(U)), len(U))
        z = rows_at([X, U], np.append(np.arange(len(X)), len(X) + rows))
        space = landmarks(self.kernel, self.sigma_, z)
        return minimise(problem, space, problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        p = n.labeled + min(int(self.n_landmarks), n.unlabeled)
        return centres_cost(p, n, n_models, landmarks=True)


class PNUAUC(PairwiseAUCEstimator):
    """Minimiser of the PNU-AUC risk over kernel expansions at centres.

    ``f(x) = sum_j w_j k(x, c_j)``, by default with ``k(x, c) = exp(-sigma ||x - c||^2)``, minimises
    ``R(f) + lam ||w||^2``, where R is ``(1 - eta) R_PN + eta R_PU`` for ``eta >= 0`` and
    ``(1 + eta) R_PN - eta R_NU`` for ``eta < 0``. R_PU and R_NU estimate the supervised risk from
    positives (negatives) and unlabelled rows, for which they need the class prior. With every row
    as a centre a fit costs O(n^3) time and 8 n^2 bytes.

    R has a minimum for ``eta >= 0`` if the prior is at most 1/2, and for ``eta <= 0`` if it is at
    least 1/2. Otherwise it may have none, and the fit ends in `IndefiniteError`.

    Parameters
    ----------
    lam : float > 0, default 0.125
        Weight of the squared norm of the coefficients, as in the authors' program; not of that of
        the function. So one ``lam`` penalises less, the more centres there are: choose it again
        when the number of unlabelled rows changes.
    sigma, kernel, max_memory, unlabeled_label
        As in `SAMULT`.
    eta : float between -1 and 1, default 0.0
        Weight eta; 0 is the supervised risk.
    prior : float strictly between 0 and 1, or "penl1", default "penl1"
        Share of positives among the unlabelled rows; "penl1" estimates it
        (`dsgkit.priors.PenL1Prior`).
    n_centers : int >= 1, optional
        Random rows used as centres; None uses every labelled and unlabelled row, as the papers do.
        The authors' program has 200 by default.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of the centres and of the folds of "penl1".

    Attributes
    ----------
    classes_, function_, sigma_
        As in `SAMULT`.
    centers_ : ndarray of shape (n_centers, n_inputs)
        Centres of the basis functions.
    coef_ : ndarray of shape (n_centers,)
        Coefficients of the centres.
    prior_ : float
        The prior, given or estimated.

    References
    ----------
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.
    """

    pace = Pace(training=1.1, per_model=6)
    failure = IndefiniteError(INDEFINITE)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    eta: Annotated[float, Range(-1, 1), PER_MODEL] = 0.0
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[float | Literal["penl1"], Range(0, 1, open_low=True, open_high=True)] = "penl1"
    n_centers: Annotated[int | None, COUNT] = None
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    @property
    def _penalty(self) -> float:
        return self.lam

    def risk(self, data: Any) -> PriorAUC:
        prior, known = self.prior, vars(data)
        if prior == "penl1":
            if "penl1" not in known:  # once for all models that are trained on these rows
                estimator = PenL1Prior(random_state=self._seed)
                known["penl1"] = estimator.estimate(data.X[data.codes == 0], data.U)
            prior = known["penl1"]
        self.prior_ = prior
        return PriorAUC(float(self.eta), prior)

    def learn(self, problem: Problem) -> Any:
        return at_centres(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        cost = at_centres_cost(self, n, n_models)
        if self.prior != "penl1":
            return cost
        memory = PenL1Prior().memory_needed(n.unlabeled)
        return replace(cost, memory=max(cost.memory, memory))


def at_centres(estimator: Any, problem: Problem) -> Any:
    """Minimise a risk plus ``lam ||w||^2`` over expansions at ``n_centers`` rows."""
    centers = drawn_centers(estimator, problem.data.tables, "centers")
    space = centres(estimator.kernel, estimator.sigma_, centers)
    return minimise(problem, space, problem.each("lam"))


def at_centres_cost(estimator: Any, n: Sizes, n_models: int) -> Cost:
    return centres_cost(n_centers_of(estimator, n.labeled + n.unlabeled), n, n_models)


def drawn_centers(estimator: Any, tables: list[Any], *seed: str, source: int = 0) -> Array:
    """Return ``n_centers`` of the rows of some tables, in their order."""
    n, own_seed = sum(map(len, tables)), derive_seed(estimator._seed, *seed)
    return rows_at(tables, drawn_rows(own_seed, n_centers_of(estimator, n), n, source))


def n_centers_of(estimator: Any, n_rows: int) -> int:
    return n_rows if estimator.n_centers is None else min(int(estimator.n_centers), n_rows)


def by_sweeps(estimator: Any, problem: Problem) -> Any:
    """Take a Newton step for each block of features in turn."""
    return sweep(problem, blocks_of(estimator), problem.each("lam"), *sweep_sizes(estimator))


def by_sweeps_cost(estimator: Any, n: Sizes, n_models: int) -> Cost:
    return sweep_cost(blocks_of(estimator, sigma=1.0), n, *sweep_sizes(estimator), n_models)


def sweep_sizes(estimator: Any) -> tuple[int, int, int]:
    return int(estimator.n_blocks), int(estimator.n_sweeps), int(estimator.batch_size)


def random_features_cost(estimator: Any, n: Sizes, n_models: int, **means: Any) -> Cost:
    """Return the cost of a minimiser over one block of random features."""
    blocks = blocks_of(estimator, sigma=1.0)
    return primal_cost(blocks.width, blocks.row_flops(n.inputs), n, n_models, **means)


def one_pass(estimator: Any, n_unlabeled: int) -> int:
    """Return ``n_iterations``, by default one pass over the unlabelled rows, within bounds."""
    if estimator.n_iterations is not None:
        return int(estimator.n_iterations)
    passes = -(-n_unlabeled // int(estimator.batch_size))
    return min(max(passes, MIN_PASS_ITERATIONS), MAX_PASS_ITERATIONS)


def decreasing(estimator: Any, problem: Problem) -> Steps:
    """Return the steps ``theta/(t + t0)``.

    ``t0="stable"`` makes the first one the inverse of the measured curvature.
    """
    lam, theta_lam = problem.each("lam"), problem.each("theta_lam")
    stable = np.array([model.t0 == "stable" for model in problem.settings])
    t0 = np.array([0.0 if model.t0 == "stable" else model.t0 for model in problem.settings])
    if stable.any():
        measured = curvatures(problem, estimator.kernel, estimator.sigma_)
        t0 = np.where(stable, theta_lam / lam * measured, t0)
    return Steps(lam, theta_lam, t0, np.full(len(lam), np.nan))

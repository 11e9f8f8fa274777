"""Semi-supervised support vector machines."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine.curvature import balanced
from dsgkit.engine.problem import Problem, Sizes, Steps, stacked
from dsgkit.engine.streaming import remembered, stream, streaming_cost
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.errors import DataError, DivergedError, DsgWarning, FitError
from dsgkit.estimators.auc import sweep_sizes
from dsgkit.estimators.base import SemiSupervisedEstimator, blocks_of
from dsgkit.exact.fixed import descend, descent_cost
from dsgkit.risks.margin import Margin, RoundedMargin
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    FeaturesPerBlock,
    FourierKernelName,
    Frequencies,
    HingeWeight,
    KernelName,
    MaxMemory,
    NBlocks,
    NSweeps,
    RampS,
    RandomState,
    Sigma,
    SweepBatch,
)
from dsgkit.solvers.parameters import COUNT, PER_MODEL
from dsgkit.solvers.s3vm.parameters import Anneal, Balance, FirstMove, StepSize, UnlabeledLoss

MIN_ITERATIONS = 500
"""Least iterations by default: one pass over 500 rows has only 2."""

FEW_ITERATIONS = 200
"""The value "one_pass" warns about fewer iterations than this."""


class SemiSupervisedClassifier(SemiSupervisedEstimator):
    """Base of the estimators that learn a classifier: the class is the sign of the value."""

    tasks = ("semi_supervised_svm",)


class S3VM(SemiSupervisedClassifier):
    """Base of the semi-supervised SVMs.

    All minimise ``1/2 ||f||^2 + C mean_labelled hinge(y f(x)) + C* mean_unlabelled u(f(x))`` over
    the functions of a kernel, each with its own loss u.
    """

    folds_in_one_pass = False  # C*, the features and the draws follow from the rows of each fold

    C: HingeWeight = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    C_star: CStar = None
    C_star_ratio: CStarRatio = None

    def c_star(self, data: Any) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        if self.C_star is not None and self.C_star_ratio is not None:
            raise DataError(
                f"C_star is {self.C_star:g} and C_star_ratio is {self.C_star_ratio:g}: set one of "
                "them, the other one to null"
            )
        if self.C_star is not None:
            return self.C_star
        if self.C_star_ratio is not None:
            return self.C * self.C_star_ratio
        return self.C * data.sizes.labeled / max(1, data.sizes.unlabeled)

    def diagnostics(self, **arrays: Any) -> dict[str, float]:
        """Add the objective with the loss ``max(0, 1 - |f|)``, to compare different S3VMs."""
        parts, data = super().diagnostics(**arrays), clone(self).data(**arrays)
        common = stacked([Margin(self.C, self.c_star(data))], [data.counts])
        risk = float(common.value(self.values_at(data))[0])
        return {**parts, "symmetric_hinge_objective": risk + parts["squared_norm"] / 2}


class StochasticS3VM(S3VM):
    """Base of the S3VMs that are trained by stochastic steps on random features."""

    version = 2
    failure = DivergedError("diverged with C={C:g}, beyond single precision: lower C")
    train: ClassVar[Callable[..., Any]]

    _: KW_ONLY
    kernel: KernelName = "gaussian"
    loss: UnlabeledLoss = "shg"
    ramp_s: RampS = 0.0
    step: StepSize = "decreasing"
    first_move: FirstMove = 10.0
    anneal: Anneal = False
    balance: Balance = False
    batch_size: Annotated[int, COUNT] = 256
    n_features: Annotated[int | None, COUNT] = None
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[int | Literal["one_pass"] | None, COUNT] = 500
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def risk(self, data: Any) -> Margin:
        full_from = self._iterations(data.sizes.unlabeled) / 2 if self.anneal else 0.0
        shape = {"loss": self.loss, "ramp_s": float(self.ramp_s), "balance": bool(self.balance)}
        return Margin(float(self.C), float(self.c_star(data)), full_from, **shape)

    def learn(self, problem: Problem) -> Any:
        n = problem.data.sizes
        self.n_iter_ = self._iterations(n.unlabeled)
        if self.n_iterations == "one_pass" and self.n_iter_ < FEW_ITERATIONS:
            text = (
                f"'one_pass' is only {self.n_iter_:,} iterations with {n.unlabeled:,} unlabelled "
                f"rows: n_iterations null makes at least {MIN_ITERATIONS}"
            )
            warnings.warn(text, DsgWarning, stacklevel=2)
        functions = self.train(problem, self._blocks(n), self._steps(problem), *self._sizes(n))
        return balanced(functions, problem.data.U, problem.loss.held_mean)

    def settled(self, **counts: int) -> Self:
        return clone(self).set_params(
            n_iterations=self._iterations(counts["n_unlabeled"]),
            n_features=self._frequencies(counts["n_labeled"] + counts["n_unlabeled"]),
        )

    def _steps(self, problem: Problem) -> Steps:
        """Return ``1/(t + C/first_move)``, or the constant steps.

        The first decreasing step moves by about ``first_move`` margins, as the largest slope is C.
        """
        constant = np.array([model.step != "decreasing" for model in problem.settings])
        steps = [m.step if m.step != "decreasing" else np.nan for m in problem.settings]
        t0 = problem.each("C") / problem.each("first_move")
        decreasing = np.where(constant, np.nan, 1.0)
        return Steps(np.ones(len(steps)), decreasing, t0, np.array(steps, np.float64))

    def _sizes(self, n: Sizes) -> tuple[int, int]:
        return self._iterations(n.unlabeled), int(self.batch_size)

    def _iterations(self, n_unlabeled: int) -> int:
        """Return ``n_iterations``, or the iterations of ``n_passes`` passes."""
        passes = int(getattr(self, "n_passes", 1)) * -(-n_unlabeled // int(self.batch_size))
        if self.n_iterations is None:
            return max(passes, MIN_ITERATIONS)
        return passes if self.n_iterations == "one_pass" else int(self.n_iterations)

    def _frequencies(self, n_rows: int) -> int:
        """Return ``n_features``, by default the square root of the number of training rows."""
        return math.isqrt(n_rows - 1) + 1 if self.n_features is None else int(self.n_features)

    def _blocks(self, n: Sizes, sigma: float | None = None) -> Any:
        return blocks_of(self, sigma, self._frequencies(n.labeled + n.unlabeled))


class TSGS3VM(StochasticS3VM):
    """Semi-supervised SVM by triply stochastic functional gradients.

    Follows the gradients of (Eq. 1 of [1]_)

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled u(f(x))``

    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Both sums are means, so
    that C and C* do not depend on the numbers of rows; the weight of a single row is ``C/n_l`` or
    ``C*/n_u``, which are the C and C* of programs such as UniverSVM and SVMlight.

    Each iteration draws one batch of positive, one of negative and one of unlabelled rows and a new
    block of m random frequencies, and makes a step, in which all earlier blocks shrink by
    ``1 - step`` (Algorithm 1 of [1]_, whose step is constant). Labelled rows are drawn by class and
    weighted by the share of their class, which has the same mean as drawing among all, and less
    variance. Blocks that have shrunk below the resolution of the sum are dropped, after about
    ``21 / step`` iterations of a constant step.

    Time is O(b m d T^2 / 2), or O(21 b m d T / step) if that is less; memory is O(m T) or
    O(21 m / step), whatever the number of rows.

    Parameters
    ----------
    C : float > 0
        Weight of the mean hinge loss of the labelled rows. Programs such as scikit-learn's `SVC`
        and UniverSVM weigh the sum: their C is ``C / n_l``.
    sigma : float > 0 or "scale"
        Parameter of the kernel; "scale" fits it to the rows (`dsgkit.estimators.sigma.scale_of`).
    C_star : float >= 0, optional
        Weight C* of the mean loss of the unlabelled rows; None is the paper's ``C n_l / n_u``.
    C_star_ratio : float >= 0, optional
        The same weight as a multiple of C, if ``C_star`` is None. 1 weighs the two means equally;
        the paper's default makes many unlabelled rows count for next to nothing.
    kernel : str
        "gaussian", "laplacian" or "dot_product(p)" (``dsg list kernels``).
    loss : {"shg", "sshg", "ramp", "da"}
        Loss u of the unlabelled rows: symmetric hinge ``max(0, 1 - |r|)``, its square
        ``1/2 max(0, 1 - |r|)^2``, the two ramps ``sum_{z = r, -r} max(0, 1 - z) - max(0, s - z)``,
        or ``exp(-5 r^2)``. At r = 0, where all rows start, the derivative is 0, the mean of the two
        sides.
    ramp_s : float > -1 and <= 0
        Where the ramp ends, s.
    step : float > 0 and <= 1 or "decreasing"
        The decreasing step ``1 / (t + C / first_move)``, which needs no search, or a constant one:
        ``1/eta`` of the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the model is its last
        block alone.
    first_move : float > 0
        Length of the first decreasing step, in margins; useful values are 3 to 30.
    anneal : bool
        Whether C* grows from 0 to full in the first half of the iterations, as ``(2 t / T)^3``.
    balance : bool
        Whether to hold the mean value at the unlabelled rows at the mean of the labels. All losses
        are then taken at ``f + b``, with an intercept b that achieves this in every batch. The
        fitted model has the intercept that does so over all unlabelled rows, or 32,768 of them.
    batch_size : int >= 1
        Rows b of each of the three batches.
    n_features : int >= 1, optional
        Random frequencies m per iteration (each is a cosine and a sine); None is the paper's
        ``ceil(sqrt(n))`` for n labelled and unlabelled rows.
    frequencies : {"independent", "structured"}
        How those of a block are drawn; structured ones (Gaussian kernel only) take less time from
        256 columns on.
    n_iterations : int >= 1 or "one_pass", optional
        Iterations T; with a constant step, a few times ``1 / step`` suffice to forget the start at
        0. None makes one pass over the unlabelled rows, but at least 500 iterations; "one_pass"
        makes just one pass, as in the paper, and warns about fewer than 200 iterations.
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.
    random_state : int between 0 and 2^64 - 1
        Seed of everything that is drawn at random.
    unlabeled_label : int, float or str
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

    Notes
    -----
    The text of [1]_ calls Figure 2 test errors; its axis and caption are running times. Table 3
    gives Dota2 16 features; it has 116.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    """

    pace = Pace(training=5, scoring=0.7, per_model=3)
    train = staticmethod(stream)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        forgets = None if self.step == "decreasing" else remembered(float(self.step))
        blocks, sizes = self._blocks(n, sigma=1.0), self._sizes(n)
        return streaming_cost(blocks, n, *sizes, n_models, forgets=forgets)


class FRS3VM(StochasticS3VM):
    """Semi-supervised SVM by stochastic gradient descent on one fixed set of random features.

    It has the objective, batches and steps of `TSGS3VM`, with the kernel replaced by fixed features
    ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]`` (the baseline of
    [1]_). Features are computed again in every pass, batch by batch: time is O(b m d T) for T
    iterations, memory O(m (b + n_l)). The error of the kernel falls like ``1 / sqrt(m)``, which
    limits the gain from more rows.

    Parameters
    ----------
    C, sigma, C_star, C_star_ratio, loss, ramp_s, step, first_move, anneal, balance, batch_size
        As in `TSGS3VM`.
    kernel : str
        "gaussian" or "laplacian".
    frequencies, max_memory, random_state, unlabeled_label
        As in `TSGS3VM`.
    n_features : int >= 1, optional
        Random frequencies m (each is a cosine and a sine). None is ``ceil(sqrt(n))`` for n labelled
        and unlabelled rows, too few for some hundred rows; it is the rule of the paper for TSGS3VM,
        which does not say that of its baseline.
    n_iterations : int >= 1 or "one_pass", optional
        Iterations T. None makes ``n_passes`` passes, but at least 500 iterations; "one_pass" makes
        just these passes, and warns about fewer than 200 iterations.
    n_passes : int >= 1
        Passes over the unlabelled rows, 10 in the paper; not used if ``n_iterations`` is a number.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    function_ : BlockModel
        Seed and coefficients of its one block.
    n_iter_ : int
        Iterations made.
    sigma_ : float
        The sigma in use.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    """

    pace = Pace(training=3.5, per_model=4)
    train = staticmethod(descend)

    _: KW_ONLY
    kernel: FourierKernelName = "gaussian"
    n_features: Annotated[int | None, COUNT] = 500
    n_passes: Annotated[int, COUNT] = 10

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return descent_cost(self._blocks(n, sigma=1.0), n, *self._sizes(n), n_models)


class TSGS3VMP(S3VM):
    """Semi-supervised SVM by block-preconditioned steps.

    Minimises the objective of `TSGS3VM` with the symmetric hinge, over the same functions. While a
    step of `TSGS3VM` is a number, here it is the inverse of the Hessian of a quadratic that bounds
    the batch's loss from above and touches it at the current values (`dsgkit.risks.margin`): an
    unlabelled row counts as labelled with the sign of its value, and the weight of a row depends on
    its distance from its margin. There is no step size to choose, and a few blocks and sweeps
    suffice even with a large ``C``. The hinge is rounded within 1/4 of its kink. With all
    unlabelled rows in a batch and a fixed C*, no step raises the objective; with C* = 0, sweeps
    converge to the SVM on the ``n_blocks n_features`` frequencies. The paper has no such method.

    Time is O(S T (b m^2 + m^3)) per model; memory O(m^2 + S T b), whatever the number of rows.

    Parameters
    ----------
    C, sigma, C_star, C_star_ratio, kernel, frequencies, max_memory, random_state, unlabeled_label
        As in `TSGS3VM`.
    anneal : bool
        Whether C* grows from 0 to full in the first half of the steps, as ``(2 t / (S T))^3``.
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
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    function_ : BlockModel
        Seeds and coefficients.
    sigma_ : float
        The sigma in use.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    .. [2] Groenen, Nalbantov & Bioch, "SVM-Maj: a majorization approach to linear support vector
       machines with different hinge errors", Advances in Data Analysis and Classification 2, 2008.
    .. [3] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.
    """

    pace = Pace(training=2.3, per_model=5)
    failure = FitError("with C={C:g} a block is singular to rounding: lower C")

    _: KW_ONLY
    kernel: KernelName = "gaussian"
    anneal: Annotated[bool, PER_MODEL] = True
    batch_size: SweepBatch = 1024
    n_features: FeaturesPerBlock = 128
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 8
    n_sweeps: NSweeps = 4
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def risk(self, data: Any) -> RoundedMargin:
        n_steps = int(self.n_blocks) * int(self.n_sweeps)
        full_from = n_steps / 2 if self.anneal else 0.0
        return RoundedMargin(float(self.C), float(self.c_star(data)), full_from)

    def learn(self, problem: Problem) -> Any:
        return sweep(problem, blocks_of(self), np.ones(problem.n_models), *sweep_sizes(self))

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        blocks = blocks_of(self, sigma=1.0)
        return sweep_cost(blocks, n, *sweep_sizes(self), n_models, majorised=True)

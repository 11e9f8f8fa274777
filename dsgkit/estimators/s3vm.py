"""Semi-supervised support vector machines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine.curvature import balanced
from dsgkit.engine.model import Expansion, one_by_one
from dsgkit.engine.problem import Data, Problem, Sizes, Steps, stacked
from dsgkit.engine.streaming import remembered, stream, streaming_cost
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.errors import DataError, DivergedError, FitError, warn
from dsgkit.estimators.auc import sweep_sizes
from dsgkit.estimators.base import SemiSupervisedEstimator, blocks_of, memory_for
from dsgkit.estimators.parameters import (
    COUNT,
    PER_MODEL,
    POSITIVE,
    SHARE,
    Count,
    CStar,
    CStarRatio,
    FourierKernelName,
    Frequencies,
    GaussianOrLinear,
    HingeWeight,
    KernelName,
    MaxMemory,
    OwnCStar,
    OwnCStarRatio,
    OwnHingeWeight,
    RampS,
    RandomState,
    Range,
    Sigma,
    Tolerance,
)
from dsgkit.exact.budgeted import Rule, budgeted_cost, descend_on_budget
from dsgkit.exact.cccp import RampObjective, minimise_ramp, ramp_columns, ramp_cost
from dsgkit.exact.columns import KernelColumns
from dsgkit.exact.fixed import descend, descent_cost
from dsgkit.exact.switching import LabelSearch, switching_cost
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array
from dsgkit.risks.margin import Margin, RoundedMargin
from dsgkit.system.machine import single_blas_thread

Step = Annotated[float | Literal["decreasing"], Range(0, 1, open_low=True)]
Flag = Annotated[bool, PER_MODEL]

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

    def _check_params(self) -> None:
        super()._check_params()
        if self.C_star is not None and self.C_star_ratio is not None:
            raise DataError(
                f"C_star is {self.C_star:g} and C_star_ratio is {self.C_star_ratio:g}: leave one "
                "of them out"
            )

    def c_star(self, data: Any) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        if self.C_star is not None:
            return self.C_star
        if self.C_star_ratio is not None:
            return self.C * self.C_star_ratio
        return self.C * data.sizes.labeled / max(1, data.sizes.unlabeled)

    def risk(self, data: Any) -> Any:
        return Margin(float(self.C), float(self.c_star(data)))

    def diagnostics(self, *arrays: Any, **named: Any) -> dict[str, float]:
        """Add the objective with the loss ``max(0, 1 - |f|)``, to compare different S3VMs."""
        parts, data = super().diagnostics(*arrays, **named), clone(self).data(*arrays, **named)
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
    loss: Annotated[Literal["shg", "sshg", "ramp", "da"], PER_MODEL] = "shg"
    ramp_s: RampS = 0.0
    step: Annotated[Step, PER_MODEL] = "decreasing"
    first_move: Annotated[float, POSITIVE, PER_MODEL] = 10.0
    anneal: Flag = False
    balance: Flag = False
    batch_size: Count = 256
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
            warn(
                f"'one_pass' is only {self.n_iter_:,} iterations with {n.unlabeled:,} unlabelled "
                f"rows: n_iterations=None makes at least {MIN_ITERATIONS}"
            )
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
        steps = [m.step if m.step != "decreasing" else np.nan for m in problem.settings]
        constant = np.array(steps, np.float64)
        decreasing = np.where(np.isnan(constant), 1.0, np.nan)
        t0 = problem.each("C") / problem.each("first_move")
        return Steps(np.ones(len(steps)), decreasing, t0, constant)

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
    C : float > 0, default 100.0
        Weight of the mean hinge loss of the labelled rows. Programs such as scikit-learn's ``SVC``
        and UniverSVM weigh the sum: their C is ``C / n_l``.
    sigma : float > 0 or "scale", default "scale"
        Parameter of the kernel; "scale" fits it to the rows (`dsgkit.estimators.sigma.scale_of`).
    C_star : float >= 0, optional
        Weight C* of the mean loss of the unlabelled rows; None is the paper's ``C n_l / n_u``.
    C_star_ratio : float >= 0, optional
        The same weight as a multiple of C, if ``C_star`` is None. 1 weighs the two means equally;
        the paper's default makes many unlabelled rows count for next to nothing.
    kernel : str, default "gaussian"
        "gaussian", "laplacian" or "dot_product(p)" (``dsg list kernels``).
    loss : {"shg", "sshg", "ramp", "da"}, default "shg"
        Loss u of the unlabelled rows: symmetric hinge ``max(0, 1 - |r|)``, its square
        ``1/2 max(0, 1 - |r|)^2``, the two ramps ``sum_{z = r, -r} max(0, 1 - z) - max(0, s - z)``,
        or ``exp(-5 r^2)``. At r = 0, where all rows start, the derivative is 0, the mean of the two
        sides.
    ramp_s : float > -1 and <= 0, default 0.0
        Where the ramp ends, s.
    step : float > 0 and <= 1 or "decreasing", default "decreasing"
        The decreasing step ``1 / (t + C / first_move)``, which needs no search, or a constant one:
        ``1/eta`` of the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the model is its last
        block alone.
    first_move : float > 0, default 10.0
        Length of the first decreasing step, in margins; useful values are 3 to 30.
    anneal : bool, default False
        Whether C* grows from 0 to full in the first half of the iterations, as ``(2 t / T)^3``.
    balance : bool, default False
        Whether to hold the mean value at the unlabelled rows at the mean of the labels. All losses
        are then taken at ``f + b``, with an intercept b that achieves this in every batch. The
        fitted model has the intercept that does so over all unlabelled rows, or 32,768 of them.
    batch_size : int >= 1, default 256
        Rows b of each of the three batches.
    n_features : int >= 1, optional
        Random frequencies m per iteration (each is a cosine and a sine); None is the paper's
        ``ceil(sqrt(n))`` for n labelled and unlabelled rows.
    frequencies : {"independent", "structured"}, default "independent"
        How the frequencies of a block are drawn; structured ones (Gaussian kernel only) take less
        time from 256 columns on.
    n_iterations : int >= 1 or "one_pass" or None, default 500
        Iterations T; with a constant step, a few times ``1 / step`` suffice to forget the start at
        0. None makes one pass over the unlabelled rows, but at least 500 iterations; "one_pass"
        makes just one pass, as in the paper, and warns about fewer than 200 iterations.
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.
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
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    """

    pace = Pace(per_model=0.5)
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
    frequencies, max_memory, random_state, unlabeled_label
        As in `TSGS3VM`.
    kernel : str, default "gaussian"
        "gaussian" or "laplacian".
    n_features : int >= 1 or None, default 500
        Random frequencies m (each is a cosine and a sine). None is ``ceil(sqrt(n))`` for n labelled
        and unlabelled rows, too few for some hundred rows; it is the rule of the paper for TSGS3VM,
        which does not say that of its baseline.
    n_iterations : int >= 1 or "one_pass" or None, default 500
        Iterations T. None makes ``n_passes`` passes, but at least 500 iterations; "one_pass" makes
        just these passes, and warns about fewer than 200 iterations.
    n_passes : int >= 1, default 10
        Passes over the unlabelled rows, 10 in the paper; not used if ``n_iterations`` is a number.

    Attributes
    ----------
    classes_, function_, n_iter_, sigma_
        As in `TSGS3VM`; the function has one block.

    References
    ----------
    .. [1] Geng et al., "Scalable semi-supervised SVM via triply stochastic gradients", IJCAI 2019.
    """

    pace = Pace(training=1.8)
    train = staticmethod(descend)

    _: KW_ONLY
    kernel: FourierKernelName = "gaussian"
    n_features: Annotated[int | None, COUNT] = 500
    n_passes: Count = 10

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return descent_cost(self._blocks(n, sigma=1.0), n, *self._sizes(n), n_models)


class TSGS3VMP(S3VM):
    """Semi-supervised SVM by block-preconditioned steps.

    Minimises the objective of `TSGS3VM` with the symmetric hinge, over the same functions. While a
    step of `TSGS3VM` is a number, here it is the inverse of the Hessian of a quadratic that bounds
    the batch's loss from above and touches it at the current values (``dsgkit.risks.margin``): an
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
    anneal : bool, default True
        Whether C* grows from 0 to full in the first half of the steps, as ``(2 t / (S T))^3``.
    batch_size : int >= 1, default 1024
        Unlabelled rows b per step; all labelled ones are in every batch.
    n_features : int >= 1, default 128
        Random frequencies m per block (each is a cosine and a sine). The time of a step grows with
        m^3, its memory with m^2.
    n_blocks : int >= 1, default 8
        Blocks T.
    n_sweeps : int >= 1, default 4
        Sweeps S over all blocks.

    Attributes
    ----------
    classes_, function_, sigma_
        As in `TSGS3VM`.

    References
    ----------
    .. [1] Geng et al., "Scalable semi-supervised SVM via triply stochastic gradients", IJCAI 2019.
    .. [2] Groenen, Nalbantov & Bioch, "SVM-Maj: a majorization approach to linear support vector
       machines with different hinge errors", Advances in Data Analysis and Classification 2, 2008.
    .. [3] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.
    """

    pace = Pace(scoring=1.5)
    failure = FitError("with C={C:g} a block is singular to rounding: lower C")

    _: KW_ONLY
    kernel: KernelName = "gaussian"
    anneal: Flag = True
    batch_size: Count = 1024
    n_features: Count = 128
    frequencies: Frequencies = "independent"
    n_blocks: Count = 8
    n_sweeps: Count = 4
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


class BLS3VM(S3VM):
    """Semi-supervised support vector machine on the ramp loss, by a concave-convex procedure.

    Over the functions f = h + b, h of a kernel, by default ``exp(-sigma ||x - x'||^2)``, it
    descends on ::

        1/2 ||h||^2 + C/n_l sum_l H_1(y f(x)) + C_star/n_u sum_u [R(f(x)) + R(-f(x))]

    with the hinge ``H_a(r) = max(0, a - r)`` and the ramp ``R = H_1 - H_s``. With s = 0 the
    unlabelled loss is the symmetric hinge ``max(0, 1 - |r|)``, plus 1. With ``balance`` the mean of
    f over the unlabelled rows is held at the mean of the labels; without it there is neither this
    constraint nor an offset b, which is the objective of `TSGS3VM`.

    The first f is the supervised solution. Each loop replaces the concave part, ``-H_s``, by its
    tangent at the current f and solves the remaining convex problem for the next f, which lowers
    the objective, by sequential minimal optimisation in its dual. It ends when no tangent changes,
    or when the objective no longer falls within the accuracy ``tol``.

    A fit on n rows takes O(n^2 n_inputs) for the kernel matrix and O(n) per step, of which there
    are usually about n. The matrix, or as many of its columns as memory allows, is kept in single
    precision (4 n^2 bytes): the result is the same.

    Parameters
    ----------
    C, sigma, C_star, C_star_ratio, max_memory, unlabeled_label
        As in `TSGS3VM`.
    kernel : {"gaussian", "linear"}, default "gaussian"
        The kernel ``exp(-sigma ||x - x'||^2)``, or ``<x, x'> + 1``, which has no sigma.
    ramp_s : float > -1 and <= 0, default 0.0
        End s of the ramp of the unlabelled loss: rows with ``|f| < -s`` have no gradient. With -1
        the loss would be constant.
    balance : bool, default True
        Whether to use an offset and the constraint on the mean.
    max_iter : int >= 1, default 20
        Convex problems after the supervised one, at most.
    tol : float > 0, default 0.001
        Violation of the optimality conditions, in units of f, at which a problem is solved.

    Attributes
    ----------
    centers_, coef_, intercept_
        Support vectors (rows whose coefficient is not 0), their coefficients, and the offset b.
    n_iter_ : int
        Convex problems after the supervised one, each of which lowered the objective.
    converged_ : bool
        False if the fit ended at ``max_iter``.
    objectives_ : ndarray
        Decreasing objective: of the supervised solution, and after each convex problem.
    classes_, sigma_
        As in `TSGS3VM`.

    References
    ----------
    .. [1] Collobert, Sinz, Weston & Bottou, "Large scale transductive SVMs", JMLR 2006.
    """

    version = 2
    pace = Pace(training=6, per_model=15)

    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    ramp_s: RampS = 0.0
    balance: bool = True
    max_iter: Count = 20
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None

    def risk(self, data: Any) -> Margin:
        weights = float(self.C), float(self.c_star(data))
        return Margin(*weights, loss="ramp", ramp_s=float(self.ramp_s))

    def learn(self, problem: Problem) -> Any:
        shape = self.kernel, self.sigma_, self.balance, problem.n_models, memory_for(self)
        return one_by_one(problem, self._solve, lambda data: ramp_columns(data, *shape))

    def _solve(self, part: Problem, columns: KernelColumns) -> Expansion:
        y, loss, n = signs_of(part.data), part.loss, part.data.sizes
        weights = loss.C[0] / n.labeled, loss.C_star[0] / n.unlabeled
        mean = float(y.mean()) if self.balance else 0.0
        objective = RampObjective(y, *weights, loss.ramp_s[0], mean)
        best, objectives, self.converged_ = minimise_ramp(
            objective, columns, self.tol, int(self.max_iter)
        )
        self.objectives_, self.n_iter_ = np.array(objectives), len(objectives) - 1
        coef = best.coef[:-1].copy()
        if self.balance:  # the anchor is the mean of the unlabelled rows
            coef[n.labeled :] += best.coef[-1] / n.unlabeled
        used = coef != 0
        rows = columns.points.T[used]
        return Expansion(self.kernel, self.sigma_, rows, coef[used, None], best.offset)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return ramp_cost(n, n_models, memory_for(self))


class S3VMLight(S3VM):
    """Semi-supervised support vector machine by switching labels, the method of SVMlight.

    Minimises over functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, intercepts b,
    and labels ``z_i = +-1`` of the unlabelled rows, of which ``round(p n_unlabeled)`` are positive,

    ``1/2 ||f||^2 + C/n_labeled sum_l max(0, 1 - y_l (f(x_l) + b))
    + C*/n_unlabeled sum_u w(z_u) max(0, 1 - z_u (f(x_u) + b))``,

    where p is ``positive_share``, ``w(-1) = 1`` and ``w(+1) = (1-p)/p``. With p = 1/2, and if
    labels are the signs of the values, the last term is the mean symmetric hinge
    ``C* mean max(0, 1 - |f + b|)``: the objective of the other S3VMs with an intercept and a
    balance of the classes. ``svm_learn -c c`` is ``C = c n_labeled`` with
    ``C_star = c n_unlabeled``; other ratios need its cost factors of single rows.

    An SVM of the labelled rows gives the unlabelled rows with the largest values the positive
    label. The unlabelled costs then grow from 1e-5 of their size by factors of 1.5. At each size,
    while a positive row has a lower value than a negative one, the pair with the largest difference
    switches labels and the SVM is trained again by libsvm, until the objective stops falling. A fit
    takes about O(n^2.3) time (measured up to n = 10,000), and 8 n^2 bytes for the kernel matrix.

    If C is so small that no value comes near the margin, the intercept is that of the more costly
    class, and so is the sign of every value; ``transduction_`` still has both labels.

    Parameters
    ----------
    C, sigma, C_star, C_star_ratio, max_memory, unlabeled_label
        As in `TSGS3VM`.
    kernel
        As in `BLS3VM`.
    positive_share : float strictly between 0 and 1, optional
        Share p of the unlabelled rows that get the positive label (``svm_learn -p``); None is the
        share of positives among the labelled rows.
    pairs_per_switch : int >= 1 or None, default 1
        Pairs that switch labels before the SVM is trained again: 1, as in SVMlight, or None for all
        pairs in the wrong order, which trains fewer SVMs. Both end when no pair is left to switch,
        but may end with different labels.

    Attributes
    ----------
    centers_, coef_, intercept_, classes_, sigma_
        As in `BLS3VM`.
    transduction_ : ndarray of shape (n_unlabeled,)
        The labels given to the unlabelled rows: 1 for the larger one of ``y``, else -1.
    objective_ : float
        Objective at the solution.
    n_iter_ : int
        SVMs trained on all rows.
    n_switches_ : int
        Pairs whose labels were switched.

    References
    ----------
    .. [1] Joachims, "Transductive inference for text classification using support vector machines",
       ICML 1999.
    """

    pace = Pace(training=0.9, per_model=25)

    C: OwnHingeWeight = 100.0
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: OwnCStar = None
    C_star_ratio: OwnCStarRatio = None
    positive_share: Annotated[float | None, Range(0, 1, open_low=True, open_high=True)] = None
    pairs_per_switch: Annotated[int | None, COUNT] = 1
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        return one_by_one(problem, self._solve)

    def _solve(self, part: Problem) -> Expansion:
        data, y = part.data, signs_of(part.data)
        # one thread: rounding, which decides which rows are switched, must not depend on the
        # number of threads
        with single_blas_thread():
            rows = np.concatenate([data.X[:], data.U[:]]).astype(np.float64, copy=False)
            gram = kernel_named(self.kernel).gram(rows, rows, self.sigma_)
            weights = part.loss.C[0], part.loss.C_star[0]
            search = LabelSearch(gram, y, *weights, self.positive_share, self.pairs_per_switch)
            machine = search.run()
            self.objective_ = machine.objective(search.labels, search.costs(1.0))
        self.transduction_ = search.labels[len(y) :]
        self.n_iter_, self.n_switches_ = search.n_trainings, search.n_switches
        support = np.flatnonzero(machine.coef)
        coef = machine.coef[support, None]
        return Expansion(self.kernel, self.sigma_, rows[support], coef, machine.intercept)

    def diagnostics(self, *arrays: Any, **named: Any) -> dict[str, float]:
        """Take the minimised risk, that of the switched labels of the unlabelled rows."""
        parts = super().diagnostics(*arrays, **named)
        risk = self.objective_ - parts["squared_norm"] / 2
        return {**parts, "objective": self.objective_, "risk": risk}

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return switching_cost(n, n_models)


class BGS3VM(S3VM):
    """Budgeted kernel stochastic gradient descent on the objective of `TSGS3VM`.

    Descends on ``1/2 ||f||^2 + C mean_l max(0, 1 - y_l f(x_l)) + C* mean_u max(0, 1 - |f(x_u)|)``
    over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, in one pass: step t
    draws the next labelled and the next unlabelled row, each in a new random order every pass, and

    ``f <- (1 - e_t) f + e_t (C y_l [y_l f(x_l) < 1] k(x_l, .)
    + C* s(f(x_u)) [|f(x_u)| < 1] k(x_u, .))``,

    where s is the sign. There are ``max(n_labeled, n_unlabeled)`` steps. If more labelled rows than
    their budget have a coefficient, the smallest coefficient is set to 0, of equal ones the oldest;
    the same for the unlabelled rows. O(n B d) time and O(B d) memory for a total budget of B rows.

    The objective, the budgets and the single pass are those of Geng et al. [2]_. They are *not* the
    method of Le et al. [1]_, which they take the name from: its objective penalises edges of a
    graph. Neither paper gives the step size: it is that of `TSGS3VM`. Neither has an intercept or a
    balance of the classes.

    Parameters
    ----------
    C, sigma, C_star, C_star_ratio, step, first_move, random_state, unlabeled_label
        As in `TSGS3VM`.
    kernel
        As in `BLS3VM`.
    sign_at_zero : {0, 1}, default 0
        Value of s(0). 1 is the paper's: unlabelled rows with f = 0, as at the start and far from
        all support vectors, count as positive.
    labeled_budget : int >= 1, default 100
        Most labelled support vectors.
    unlabeled_budget : float between 0 and 1, default 0.2
        Most unlabelled support vectors, as a share of the unlabelled rows, rounded up.

    Attributes
    ----------
    centers_, coef_, intercept_
        The support vectors, labelled ones first, their coefficients, and 0.
    n_support_ : ndarray of shape (2,)
        Labelled and unlabelled support vectors.
    n_iter_ : int
        Steps.
    classes_, sigma_
        As in `TSGS3VM`.

    References
    ----------
    .. [1] Le et al., "Budgeted semi-supervised support vector machine", UAI 2016.
    .. [2] Geng et al., "Scalable semi-supervised SVM via triply stochastic gradients", IJCAI 2019.
    """

    version = 2
    pace = Pace(training=2, per_model=6)

    C: OwnHingeWeight = 100.0
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: OwnCStar = None
    C_star_ratio: OwnCStarRatio = None
    step: Step = "decreasing"
    first_move: Annotated[float, POSITIVE] = 10.0
    sign_at_zero: Annotated[int, Range(0, 1)] = 0
    labeled_budget: Count = 100
    unlabeled_budget: Annotated[float, SHARE] = 0.2
    random_state: RandomState = 0

    def learn(self, problem: Problem) -> Any:
        return one_by_one(problem, self._solve)

    def _solve(self, part: Problem) -> Expansion:
        data, n = part.data, part.data.sizes
        decreasing = self.step == "decreasing"
        rule = Rule(
            (float(part.loss.C[0]), float(part.loss.C_star[0])),
            self._budgets(n),
            0.0 if decreasing else float(self.step),
            float(self.C / self.first_move) if decreasing else 0.0,
            float(self.sign_at_zero),
        )
        function, n_support = descend_on_budget(
            data.X, signs_of(data), data.U, self.kernel, self.sigma_, rule, self._seed
        )
        self.n_support_, self.n_iter_ = np.array(n_support), max(n.labeled, n.unlabeled)
        return function

    def _budgets(self, n: Sizes) -> tuple[int, int]:
        """Return the budget of each kind of rows; 0 for unlabelled rows without a weight."""
        share = 0.0 if 0 in (self.C_star, self.C_star_ratio) else self.unlabeled_budget
        return min(int(self.labeled_budget), n.labeled), math.ceil(share * n.unlabeled)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return budgeted_cost(n, n_models, self._budgets(n))


def signs_of(data: Data) -> Array:
    """Return the labels -1 and 1 of the labelled rows."""
    return np.where(data.codes == 0, 1.0, -1.0)

"""The concave-convex procedure for the semi-supervised SVM on the ramp loss.

See `dsgkit.solvers.s3vm.bls3vm.BLS3VM` for the objective. ``-H_s(r)`` is replaced by its tangent
where ``r < s``. The two copies of an unlabelled row (one of each label) then contribute two hinges
and a linear term, whose dual variables have the same kernel column: they are merged into one
variable, whose gain has slope 1 up to a kink and -1 beyond. With the weight w of an unlabelled row,
its box is

    f(x) < s         -2w .. -w .. 0     lower, kink, upper
    s <= f(x) <= -s   -w ..  0 .. w
    f(x) > -s          0 ..  w .. 2w
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.errors import DivergedError
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.objectives.margin import MarginRisk
from dsgkit.system.progress import report
from dsgkit.trainers.columns import (
    MIN_COLUMNS,
    KernelColumns,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.trainers.kernel_machines import KernelMachine, MachineTrainer, signs_of
from dsgkit.trainers.smo import Gains, QuadraticProgram
from dsgkit.trainers.training import Sizes, Step, Training

WORKING_ARRAYS = 30
"""Numbers per row that a fit holds in addition to points and columns."""

_STEP_FLOPS = 350.0
"""Operations per row that a step is counted as: it is bound by memory, not arithmetic."""

_STEPS_PER_ROW = 1.5
"""Steps of all convex problems together; 0.5 to 1 for a small C, 10 for a large ``C_star``."""

MAX_STEPS_PER_ROW = 300
"""Steps per row after which a convex problem counts as failed.

A few are usual. Where hardly any function with the margins has the required mean, dual variables
run to their bounds: on w8a 90 steps per row at ``C_star = 10^3``, ten times as many at 10^4.
"""


@dataclass(frozen=True)
class ConcaveConvex(MachineTrainer):
    """The concave-convex procedure for the ramp loss; machines of a training share the kernel.

    Attributes
    ----------
    balance : bool
        Whether the function has an offset and its mean is constrained.
    tol, max_iter
        Parameters of `minimise`.
    memory_limit : int
        Bytes. As many kernel columns are kept as fit; this affects only the time.
    """

    balance: bool
    tol: float
    max_iter: int
    memory_limit: int = field(compare=False)

    def prepared(self, training: Training) -> KernelColumns:
        """Return the kernel of all rows, with as many columns kept as memory allows."""
        t = training
        n_labeled, n_inputs = t.X.shape
        n = n_labeled + len(t.X_unlabeled)
        room = self.memory_limit - _memory_without_columns(n, n_inputs, len(t.risks))
        points = np.empty((n_inputs, n))
        points[:, :n_labeled] = t.X[:].T
        points[:, n_labeled:] = t.X_unlabeled[:].T
        mean_from = n_labeled if self.balance else None
        capacity = columns_within(n, n_inputs, room)
        return kernel_columns(points, self.kernel, self.sigma, capacity, mean_from)

    def solve(
        self, training: Training, risk: MarginRisk, step: Step | None, prepared: KernelColumns
    ) -> KernelMachine:
        """Return the machine of a risk."""
        labels, columns = signs_of(training), prepared
        n_labeled, n = len(labels), columns.anchor
        n_unlabeled = n - n_labeled
        objective = RampObjective(
            labels,
            weight=risk.C / n_labeled,
            weight_unlabeled=risk.C_star / n_unlabeled,
            ramp_s=risk.ramp_s,
            mean=labels.mean() if self.balance else 0.0,
        )
        solution = minimise(objective, columns, self.tol, self.max_iter)
        coef = solution.coef[:n].copy()
        if self.balance:
            coef[n_labeled:] += solution.coef[n] / n_unlabeled
        used = coef != 0
        extra_attributes: dict[str, Any] = {
            "objectives_": solution.objectives,
            "converged_": solution.converged,
            "n_iter_": len(solution.objectives) - 1,
        }
        return KernelMachine(
            self.kernel,
            self.sigma,
            columns.points.T[used],
            coef[used],
            intercept=float(solution.offset),
            extra_attributes=extra_attributes,
        )

    def models_cost(self, sizes: Sizes, n_models: int, risk: MarginRisk, step: Step | None) -> Cost:
        """Return the estimated cost of a fit.

        If the kernel matrix does not fit, but some columns do, the memory is the limit.
        """
        n, n_inputs = sizes.n_labeled + sizes.n_unlabeled, sizes.n_inputs
        fewest, all_columns = (
            _memory(n, n_inputs, columns, n_models) for columns in (MIN_COLUMNS, n)
        )
        steps = n_models * _STEPS_PER_ROW * _STEP_FLOPS
        return Cost(
            flops=n**2 * (ENTRY_FLOPS + 6.0 * n_inputs + steps),
            memory=max(fewest, min(all_columns, self.memory_limit)),
            flops_per_row=expansion_flops(n, n_inputs),
            least_memory=fewest,
        )


@dataclass(frozen=True)
class RampObjective:
    """The objective, written with a weight for every row.

    Attributes
    ----------
    labels : ndarray of shape (n_labeled,)
        -1 and 1.
    weight, weight_unlabeled : float
        Weights of the losses of a labelled and of an unlabelled row.
    mean : float
        Required mean of f over the unlabelled rows; meaningless unless the anchor of the kernel
        columns is their mean.
    """

    labels: Array
    weight: float
    weight_unlabeled: float
    ramp_s: float
    mean: float

    def losses(self, values: Array) -> float:
        """Return the weighted sum of the losses, for values at the labelled and unlabelled rows."""
        n_labeled = len(self.labels)
        margins, r = self.labels * values[:n_labeled], values[n_labeled:]
        unlabeled = sum(
            sign * (_hinge(a, r) + _hinge(a, -r)).sum() for sign, a in ((1, 1.0), (-1, self.ramp_s))
        )
        return float(self.weight * _hinge(1.0, margins).sum() + self.weight_unlabeled * unlabeled)

    def sides(self, values: Array) -> NDArray[np.int8]:
        """Return the side where an unlabelled row's loss is linearised: 1, -1, or 0 for neither."""
        r = values[len(self.labels) :]
        return (r > -self.ramp_s).astype(np.int8) - (r < self.ramp_s)


@dataclass(frozen=True)
class RampSolution:
    """Result of the procedure.

    Attributes
    ----------
    coef : ndarray of shape (n_labeled + n_unlabeled + 1,)
        Coefficients of the rows and of the anchor.
    objectives : ndarray
        The objective after the supervised problem and after each one that lowered it.
    converged : bool
        Whether it ended before ``max_iter``.
    """

    coef: Array
    offset: float
    objectives: Array
    converged: bool


def minimise(
    objective: RampObjective, columns: KernelColumns, tol: float, max_iter: int
) -> RampSolution:
    """Solve the supervised problem, then convex ones until no tangent changes.

    It also stops when the objective does not fall, since the problems are solved to a tolerance.

    Parameters
    ----------
    objective : RampObjective
    columns : KernelColumns
        Columns of the labelled rows, then of the unlabelled ones. The anchor is the mean of the
        latter with the constraint, the origin for a function without an offset.
    tol : float
        Violation of the optimality conditions at which a convex problem counts as solved.
    max_iter : int
        Largest number of convex problems after the supervised one.

    Raises
    ------
    FitError
        If a convex problem is not solved after `MAX_STEPS_PER_ROW` steps for each row.
    DivergedError
        If values overflow.
    """
    program = QuadraticProgram(columns)
    gains = _supervised(objective, columns.anchor)
    best = _solve(program, gains, objective, tol)
    objectives = [best.objective]
    converged = False
    while not converged and len(objectives) <= max_iter:
        report((len(objectives) - 1) / max_iter)
        gains = _linearised(gains, objective, best.sides)
        program.move(_inside(program.coef, gains))
        current = _solve(program, gains, objective, tol)
        if current.objective >= best.objective:  # by less than the tolerance
            converged = True
        else:
            converged = np.array_equal(current.sides, best.sides)
            best = current
            objectives.append(best.objective)
    return RampSolution(best.coef, best.offset, np.array(objectives), converged)


@dataclass(frozen=True)
class _Iterate:
    """Solution of a convex problem, with its tangents and the objective of the whole problem."""

    coef: Array
    offset: float
    objective: float
    sides: NDArray[np.int8]


def _solve(
    program: QuadraticProgram, gains: Gains, objective: RampObjective, tol: float
) -> _Iterate:
    program.solve(gains, tol, MAX_STEPS_PER_ROW * len(gains.lower))
    # the anchor is free: at the optimum its value and the offset make up its slope
    offset = gains.above[-1] - program.values[-1]
    values = program.values[:-1] + offset
    with np.errstate(over="ignore", invalid="ignore"):
        total = program.norm() / 2 + objective.losses(values)
    if not np.isfinite(total):
        raise DivergedError("the objective overflows; take a smaller C")
    return _Iterate(program.coef.copy(), offset, total, objective.sides(values))


def _hinge(a: float, r: Array) -> Array:
    return np.maximum(0.0, a - r)


def _supervised(objective: RampObjective, n: int) -> Gains:
    """Return the gains of the problem without unlabelled rows."""
    n_labeled = len(objective.labels)
    lower, upper = np.zeros(n + 1), np.zeros(n + 1)
    lower[:n_labeled] = np.minimum(0, objective.weight * objective.labels)
    upper[:n_labeled] = np.maximum(0, objective.weight * objective.labels)
    lower[n], upper[n] = -np.inf, np.inf
    below, above = np.ones(n + 1), np.full(n + 1, -1.0)
    below[:n_labeled] = above[:n_labeled] = objective.labels
    below[n] = above[n] = objective.mean
    return Gains(lower, upper.copy(), upper, below, above)


def _linearised(gains: Gains, objective: RampObjective, sides: NDArray[np.int8]) -> Gains:
    """Return the gains with the tangents at these sides."""
    unlabeled = slice(len(objective.labels), -1)
    lower, kink, upper = gains.lower.copy(), gains.kink.copy(), gains.upper.copy()
    kink[unlabeled] = objective.weight_unlabeled * sides
    lower[unlabeled] = objective.weight_unlabeled * (sides - 1.0)
    upper[unlabeled] = objective.weight_unlabeled * (sides + 1.0)
    return replace(gains, lower=lower, kink=kink, upper=upper)


def _inside(coef: Array, gains: Gains) -> Array:
    """Clip the variables to their boxes; the anchor's variable keeps the sum."""
    inside = np.clip(coef, gains.lower, gains.upper)
    inside[-1] += (coef - inside).sum()
    return inside


def _memory(n: int, n_inputs: int, capacity: int, n_models: int = 1) -> int:
    """Return the bytes of a fit on ``n`` rows with some columns kept, or of predicting after it."""
    fit = columns_memory(n, n_inputs, capacity) + _memory_without_columns(n, n_inputs, n_models)
    return max(fit, n_models * _model_memory(n, n_inputs) + expansion_memory(n, n_inputs))


def _memory_without_columns(n: int, n_inputs: int, n_models: int = 1) -> int:
    return 8 * n * WORKING_ARRAYS + n_models * _model_memory(n, n_inputs)


def _model_memory(n: int, n_inputs: int) -> int:
    """Return the bytes of centres and coefficients."""
    return 8 * n * (n_inputs + 1)

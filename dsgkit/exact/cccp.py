"""The concave-convex procedure for the semi-supervised SVM on the ramp loss.

See `dsgkit.estimators.s3vm.BLS3VM` for the objective. ``-H_s(r)`` is replaced by its tangent where
``r < s``. The two copies of an unlabelled row (one of each label) then contribute two hinges and a
linear term, whose dual variables have the same kernel column: they are merged into one variable,
whose gain has slope 1 up to a kink and -1 beyond. With the weight w of an unlabelled row its box is

    f(x) < s         -2w .. -w .. 0     lower, kink, upper
    s <= f(x) <= -s   -w ..  0 .. w
    f(x) > -s          0 ..  w .. 2w
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.engine.problem import Data, Sizes
from dsgkit.errors import DivergedError
from dsgkit.exact.columns import (
    MIN_COLUMNS,
    KernelColumns,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.exact.smo import Gains, QuadraticProgram
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.system.progress import report

Sides = NDArray[np.int8]

MAX_STEPS_PER_ROW = 300
"""Steps per row after which a convex problem counts as failed.

A few are usual. Where hardly any function with the margins has the required mean, dual variables
run to their bounds: on w8a 90 steps per row at ``C_star = 10^3``, ten times as many at 10^4.
"""


@dataclass(frozen=True)
class RampObjective:
    """The objective with a weight for every row, labelled ones first.

    ``labels`` are -1 and 1. ``mean`` is the required mean of f over the unlabelled rows, if their
    mean is the anchor of the kernel columns.
    """

    labels: Array
    weight: float
    weight_unlabeled: float
    ramp_s: float
    mean: float

    def losses(self, values: Array) -> float:
        n_labeled = len(self.labels)
        margins, r = self.labels * values[:n_labeled], values[n_labeled:]
        unlabeled = sum(
            sign * (_hinge(a, r) + _hinge(a, -r)).sum() for sign, a in ((1, 1.0), (-1, self.ramp_s))
        )
        return float(self.weight * _hinge(1.0, margins).sum() + self.weight_unlabeled * unlabeled)

    def sides(self, values: Array) -> Sides:
        """Return the side where an unlabelled row's loss is linearised: 1, -1, or 0 for neither."""
        r = values[len(self.labels) :]
        return (r > -self.ramp_s).astype(np.int8) - (r < self.ramp_s)

    def gains(self, n: int, sides: Sides | None) -> Gains:
        """Return the gains with the tangents at these sides; None leaves unlabelled rows out."""
        labeled, unlabeled = slice(len(self.labels)), slice(len(self.labels), n)
        lower, kink, upper = np.zeros((3, n + 1))
        lower[labeled] = np.minimum(0, self.weight * self.labels)
        kink[labeled] = upper[labeled] = np.maximum(0, self.weight * self.labels)
        lower[n], kink[n], upper[n] = -np.inf, np.inf, np.inf
        if sides is not None:
            lower[unlabeled] = self.weight_unlabeled * (sides - 1.0)
            kink[unlabeled] = self.weight_unlabeled * sides
            upper[unlabeled] = self.weight_unlabeled * (sides + 1.0)
        below, above = np.ones(n + 1), np.full(n + 1, -1.0)
        below[labeled] = above[labeled] = self.labels
        below[n] = above[n] = self.mean
        return Gains(lower, kink, upper, below, above)


class RampSolution(NamedTuple):
    """The solution of a convex problem: coefficients of the rows and the anchor, and tangents."""

    coef: Array
    offset: float
    objective: float
    sides: Sides


def ramp_columns(
    data: Data, kernel: str, sigma: float, balance: bool, n_models: int, memory: int
) -> KernelColumns:
    """Return the kernel of all rows, with as many columns kept as fit into the memory."""
    X, U = data.tables
    (n_labeled, n_inputs), n = X.shape, len(X) + len(U)
    room = memory - _memory_without_columns(n, n_inputs, n_models)
    points = np.empty((n_inputs, n))
    points[:, :n_labeled], points[:, n_labeled:] = X[:].T, U[:].T
    mean_from = n_labeled if balance else None
    return kernel_columns(points, kernel, sigma, columns_within(n, n_inputs, room), mean_from)


def minimise_ramp(
    objective: RampObjective, columns: KernelColumns, tol: float, max_iter: int
) -> tuple[RampSolution, list[float], bool]:
    """Solve the supervised problem, then at most ``max_iter`` convex ones.

    Returns the best solution, the decreasing objectives, and whether it ended before: it does when
    no tangent changes, or when the objective does not fall, as problems are solved to a tolerance.
    """
    program = QuadraticProgram(columns)
    best = _solved(program, objective, objective.gains(columns.anchor, None), tol)
    objectives, converged = [best.objective], False
    while not converged and len(objectives) <= max_iter:
        report((len(objectives) - 1) / max_iter)
        gains = objective.gains(columns.anchor, best.sides)
        inside = np.clip(program.coef, gains.lower, gains.upper)
        inside[-1] += (program.coef - inside).sum()  # the anchor's variable keeps the sum
        program.move(inside)
        current = _solved(program, objective, gains, tol)
        if current.objective >= best.objective:  # by less than the tolerance
            return best, objectives, True
        converged = np.array_equal(current.sides, best.sides)
        best = current
        objectives.append(best.objective)
    return best, objectives, converged


def ramp_cost(n: Sizes, n_models: int, memory: int) -> Cost:
    """Return the cost of models that share the kernel, of which ``memory`` bytes are kept."""
    rows = n.labeled + n.unlabeled
    fewest, most = (_memory(rows, n.inputs, kept, n_models) for kept in (MIN_COLUMNS, rows))
    # 1.5 steps per row in all convex problems together (0.5 for a small C, 10 for a large C*), each
    # bound by memory, not arithmetic
    steps = n_models * 1.5 * 350.0
    return Cost(
        flops=rows**2 * (ENTRY_FLOPS + 6.0 * n.inputs + steps),
        memory=max(fewest, min(most, memory)),
        flops_per_row=expansion_flops(rows, n.inputs),
    )


def _memory(n: int, n_inputs: int, capacity: int, n_models: int) -> int:
    """Return the bytes of a fit with some columns kept, or of predicting after it."""
    fit = columns_memory(n, n_inputs, capacity) + _memory_without_columns(n, n_inputs, n_models)
    return max(fit, n_models * 8 * n * (n_inputs + 1) + expansion_memory(n, n_inputs))


def _memory_without_columns(n: int, n_inputs: int, n_models: int) -> int:
    return 8 * n * 30 + n_models * 8 * n * (n_inputs + 1)


def _solved(
    program: QuadraticProgram, objective: RampObjective, gains: Gains, tol: float
) -> RampSolution:
    program.solve(gains, tol, MAX_STEPS_PER_ROW * len(gains.lower))
    # the anchor is free: at the optimum its value and the offset make up its slope
    offset = float(gains.above[-1] - program.values[-1])
    values = program.values[:-1] + offset
    with np.errstate(over="ignore", invalid="ignore"):
        total = program.norm() / 2 + objective.losses(values)
    if not np.isfinite(total):
        raise DivergedError("the objective overflows; take a smaller C")
    return RampSolution(program.coef.copy(), offset, total, objective.sides(values))


def _hinge(a: float, r: Array) -> Array:
    return np.maximum(0.0, a - r)

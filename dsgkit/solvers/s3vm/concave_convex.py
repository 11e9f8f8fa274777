"""The concave-convex procedure for the semi-supervised SVM on the ramp loss.

See `dsgkit.solvers.s3vm.bls3vm.BLS3VM` for the objective. ``-H_s(r)`` is replaced by its tangent
where ``r < s``. Of the two copies of an unlabelled row (one of each label) that leaves two hinges
and a slope, whose dual variables have the same kernel column: they are one variable here, its gain
of slope 1 up to a kink and -1 beyond. With the weight w of an unlabelled row its box is

    f(x) < s         -2w .. -w .. 0     lower, kink, upper
    s <= f(x) <= -s   -w ..  0 .. w
    f(x) > -s          0 ..  w .. 2w
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels.columns import KernelColumns
from dsgkit.solvers.s3vm.smo import Gains, QuadraticProgram
from dsgkit.system.progress import report
from dsgkit.text.errors import DivergedError

Array = NDArray[np.float64]

MAX_STEPS_PER_ROW = 300
"""Steps for each row before a convex problem is given up.

A few are usual. Where hardly any function with the margins has the mean that is asked for, dual
variables go as far as their weights let them: on w8a 90 for each row at ``C_star = 10^3``, ten
times as many at 10^4.
"""


@dataclass(frozen=True)
class RampObjective:
    """The objective, written with a weight for every row.

    Attributes
    ----------
    labels : ndarray of shape (n_labeled,)
        -1 and 1.
    weight, weight_unlabeled : float
        Of the losses of a labelled and of an unlabelled row.
    ramp_s : float
    mean : float
        What the mean of f over the unlabelled rows is held at; meaningless unless the anchor of the
        kernel columns is their mean.
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
        """Return where the tangents of an unlabelled row's losses are: 1, -1, or 0 for neither."""
        r = values[len(self.labels) :]
        return (r > -self.ramp_s).astype(np.int8) - (r < self.ramp_s)


@dataclass(frozen=True)
class RampSolution:
    """Where the procedure ended.

    Attributes
    ----------
    coef : ndarray of shape (n_labeled + n_unlabeled + 1,)
        Coefficients of the rows and of the anchor.
    offset : float
    objectives : ndarray
        After the supervised problem and after each one that lowered it.
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

    It also ends when the objective does not fall, which it would if they were solved exactly.

    Parameters
    ----------
    objective : RampObjective
    columns : KernelColumns
        Of the labelled rows, then the unlabelled ones; the anchor is the mean of the latter for the
        constraint, the origin for a function without an offset.
    tol : float
        Violation of the optimality conditions at which a convex problem is solved.
    max_iter : int
        Convex problems after the supervised one, at most.

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
    """The solution of a convex problem, its objective (of the whole problem) and its tangents."""

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
    """Return the gains where unlabelled rows do not count."""
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
    """Return the nearest variables inside of the boxes; the anchor's keeps the sum."""
    inside = np.clip(coef, gains.lower, gains.upper)
    inside[-1] += (coef - inside).sum()
    return inside

"""Sequential minimal optimisation of quadratic programs over kernel columns.

The problem, over one variable per row and one for the anchor (`dsgkit.exact.columns`):

    min  1/2 a'K a - sum_i g_i(a_i)   subject to   sum_i a_i = const,  lower_i <= a_i <= upper_i

where the gain g_i is concave, with one slope below a kink and another above it. This is the dual of
a kernel machine whose loss has one or two kinks in the value of the function:

- the support vector machine: gains ``y_i a_i`` and an anchor fixed at 0;
- one without an offset: the anchor is the origin and free, which removes the constraint;
- one whose values have a given mean r over some rows: the anchor is their mean, free, with gain
  ``r a``.

A step moves a pair of variables in opposite directions. The one that rises has the largest slope of
the gain minus ``F_i = (K a)_i``; the one that falls gives the largest decrease by the curvature of
the pair (the second-order selection of Fan, Chen & Lin 2005, as in LIBSVM). F is updated, so a step
costs two columns and three passes over n numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsgkit.errors import FitError
from dsgkit.exact.columns import KernelColumns, column
from dsgkit.linalg import Array, Single
from dsgkit.system.jit import fast

Pieces = tuple[Array, Array, Array, Array, Array]  # the arrays of `Gains`, for compiled code

MAX_CALL_STEPS = 2000
"""Steps between two returns to Python, where it can be interrupted."""

_MIN_CURVATURE = 1e-12
"""Lower bound on the curvature of a pair, which is 0 for equal rows."""


@dataclass(frozen=True)
class Gains:
    """Boxes, kinks and slopes of the gains, arrays over the variables, the anchor last.

    ``lower <= kink <= upper``, the anchor's may be infinite; without a kink it is ``upper``. The
    gain has the slope ``below`` up to the kink and ``above`` after it, ``below >= above``.
    """

    lower: Array
    kink: Array
    upper: Array
    below: Array
    above: Array


class QuadraticProgram:
    """The problem with its current variables, from which `solve` starts.

    ``coef`` are the variables, initially 0, and ``values`` is ``K coef``, both of shape (n + 1,).
    """

    def __init__(self, columns: KernelColumns) -> None:
        self._columns = columns
        self.coef = np.zeros(columns.anchor + 1)
        self.values = np.zeros(columns.anchor + 1)
        self.n_steps = 0

    def move(self, coef: Array) -> None:
        """Set the variables; takes a kernel column for each that changes."""
        _add(self._columns, coef - self.coef, self.values)
        self.coef[:] = coef

    def norm(self) -> float:
        """Return the squared norm of the function, ``coef'K coef``."""
        return float(self.coef @ self.values)

    def solve(self, gains: Gains, tol: float, most_steps: int) -> None:
        """Minimise from the current variables, which must be inside their boxes.

        At the end no pair of variables gains more than ``tol``, to first order, by moving one unit
        in opposite directions.

        Raises
        ------
        FitError
            If it takes more than ``most_steps`` steps.
        """
        pieces = (gains.lower, gains.kink, gains.upper, gains.below, gains.above)
        left = most_steps
        while left > 0:
            done, solved = _steps(
                self._columns, pieces, self.coef, self.values, tol, min(left, MAX_CALL_STEPS)
            )
            self.n_steps += done
            left -= done
            if solved:
                return
        raise FitError(f"no solution after {most_steps:,} steps; take a larger tol or a smaller C")


@fast
def _add(columns: KernelColumns, change: Array, values: Array) -> None:
    """Add ``K change`` to the values."""
    for i in range(len(change)):
        if change[i] != 0:
            part = column(columns, i)
            for k in range(len(values)):
                values[k] += change[i] * part[k]


@fast
def _slope_up(pieces: Pieces, i: int, a: float) -> float:
    """Return the slope of gain ``i`` to the right of ``a``; minus infinity at the upper bound."""
    _, kink, upper, below, above = pieces
    if a >= upper[i]:
        return -np.inf
    return below[i] if a < kink[i] else above[i]


@fast
def _slope_down(pieces: Pieces, i: int, a: float) -> float:
    """Return the slope of gain ``i`` to the left of ``a``; infinity at the lower bound."""
    lower, kink, _, below, above = pieces
    if a <= lower[i]:
        return np.inf
    return below[i] if a <= kink[i] else above[i]


@fast
def _next_up(pieces: Pieces, i: int, a: float) -> float:
    _, kink, upper, _, _ = pieces
    return kink[i] if a < kink[i] else upper[i]


@fast
def _next_down(pieces: Pieces, i: int, a: float) -> float:
    lower, kink, _, _, _ = pieces
    return kink[i] if a > kink[i] else lower[i]


@fast
def _steps(
    columns: KernelColumns, pieces: Pieces, coef: Array, values: Array, tol: float, most: int
) -> tuple[int, bool]:
    """Take up to ``most`` steps; return their number, and whether the problem is solved."""
    n = len(coef)
    up, down = np.empty(n), np.empty(n)
    for k in range(n):
        up[k] = _slope_up(pieces, k, coef[k])
        down[k] = _slope_down(pieces, k, coef[k])
    for step in range(most):
        i, least = _first(up, down, values)
        best = up[i] - values[i]
        if not best - least >= tol:
            return step, True
        rising = column(columns, i)
        j = _second(columns.diagonal, rising, down, values, i, best)
        falling = column(columns, j)
        curvature = columns.diagonal[i] + columns.diagonal[j] - 2.0 * rising[j]
        size = (best - (down[j] - values[j])) / max(curvature, _MIN_CURVATURE)
        to_i, to_j = _next_up(pieces, i, coef[i]), _next_down(pieces, j, coef[j])
        size = min(size, to_i - coef[i], coef[j] - to_j)
        # a variable that reaches a bound or a kink is put there exactly
        coef[i] = to_i if size == to_i - coef[i] else coef[i] + size
        coef[j] = to_j if size == coef[j] - to_j else coef[j] - size
        up[i], down[i] = _slope_up(pieces, i, coef[i]), _slope_down(pieces, i, coef[i])
        up[j], down[j] = _slope_up(pieces, j, coef[j]), _slope_down(pieces, j, coef[j])
        for k in range(n):
            values[k] += size * (rising[k] - falling[k])
    return most, False


@fast
def _first(up: Array, down: Array, values: Array) -> tuple[int, float]:
    """Return the variable that gains most by rising, and the least loss of a falling one."""
    i, best, least = 0, -np.inf, np.inf
    for k in range(len(values)):
        gain = up[k] - values[k]
        if gain > best:
            i, best = k, gain
        least = min(least, down[k] - values[k])
    return i, least


@fast
def _second(
    diagonal: Array, rising: Single, down: Array, values: Array, i: int, best: float
) -> int:
    """Return the variable to fall while ``i`` rises: the one with the largest decrease."""
    j, largest = i, -1.0
    for k in range(len(values)):
        gain = best - (down[k] - values[k])
        if gain > 0:
            curvature = max(diagonal[i] + diagonal[k] - 2.0 * rising[k], _MIN_CURVATURE)
            decrease = gain * gain / curvature
            if decrease > largest:
                j, largest = k, decrease
    return j

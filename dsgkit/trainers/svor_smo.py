"""Sequential minimal optimisation of ordinal support vector machines over kernel columns.

The rows are sorted by class. Cut j has a threshold b_j between the classes up to j and those above:
the function f should be at most ``b_j - 1`` at the rows of the lower side (sign s = -1) and at
least ``b_j + 1`` at those of the upper one (s = 1). With explicit thresholds the sides are the two
classes next to the cut and ``b_1 <= b_2 <= ..``; with implicit ones they are all classes, and the
thresholds come out ordered. In the dual there is a variable for each cut and row of its sides:

    max  sum_ji s_ji a_ji - 1/2 beta'K beta,  beta_i = sum_j a_ji,  0 <= s_ji a_ji <= C,
    sum_i a_ji = m_{j-1} - m_j,  m_0 = m_{k-1} = 0,

where the slacks m_j >= 0 are the multipliers of ``b_j <= b_{j+1}``, and are 0 for implicit
thresholds (Chu & Keerthi 2007, whose alphas are ``s_ji a_ji``).

A step raises a variable ``a_ji`` and lowers ``a_ho`` by the same amount. Both belong to one cut, or
with explicit thresholds to any two: if h < j, the slacks between these cuts grow; if h > j, they
shrink, and all of them must be above 0. The variable of the most violating pair rises; the one
with the largest increase by the curvature of the pair falls (the second-order selection of Fan,
Chen & Lin 2005, as in LIBSVM). Every `MAX_ROUND_STEPS` steps, all free variables are moved at once
(`dsgkit.trainers.svor_subspace`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DivergedError, FitError
from dsgkit.linalg import Single
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread
from dsgkit.trainers.columns import KernelColumns, column
from dsgkit.trainers.svor_subspace import MAX_FREE_VARIABLES, maximise_free, subspace_memory

Array = NDArray[np.float64]

MAX_ROUND_STEPS = 2000
"""Steps between two moves of all free variables; with fewer rows, the number of rows."""

_MIN_CURVATURE = 1e-12
"""Lower bound on the curvature of a pair, which is 0 for equal rows."""


def program_memory(n: int, n_cuts: int) -> int:
    """Return the bytes that an `OrdinalProgram` of ``n`` rows takes in addition to its columns."""
    return 8 * n * (6 * n_cuts + 8) + subspace_memory(n)


class OrdinalProgram:
    """The dual problem with its current variables, from which `solve` starts.

    Parameters
    ----------
    columns : KernelColumns
        Columns of the rows, sorted by class.
    codes : int array of shape (n,)
        Classes 0..k-1 of the rows, ascending; all of them occur.
    explicit : bool
        Whether thresholds are explicit.
    ridge : float
        Added to the diagonal of the kernel matrix.

    Attributes
    ----------
    variables : ndarray of shape (k - 1, n)
        a_ji of each cut and row; initially 0, and always for rows on neither side.
    slacks : ndarray of shape (k - 1,)
        Slack between each cut and the next one; the last is 0.
    values : ndarray of shape (n,)
        ``(K + ridge I) beta``, the function at the rows.
    n_steps : int
        Steps of the last solution.
    """

    def __init__(
        self, columns: KernelColumns, codes: NDArray[np.integer], *, explicit: bool, ridge: float
    ) -> None:
        self._columns = columns
        self._explicit = explicit
        self._ridge = ridge
        n, n_cuts = len(codes), int(codes[-1])
        # the first row of each class, and the end
        starts = np.searchsorted(codes, np.arange(n_cuts + 2))
        first = starts[:-2] if explicit else np.zeros(n_cuts, np.int64)
        stop = starts[2:] if explicit else np.full(n_cuts, n)
        self._sides = (first, starts[1:-1], stop)
        self._C = 1.0
        self.variables = np.zeros((n_cuts, n))
        self.slacks = np.zeros(n_cuts)
        self.values = np.zeros(n)
        self.n_steps = 0

    @property
    def beta(self) -> Array:
        """The coefficients of the rows in the function, shape (n,)."""
        return self.variables.sum(axis=0)

    def solve(self, C: float, tol: float, most_steps: int) -> None:
        """Maximise from the current variables, scaled to the box of this C.

        Parameters
        ----------
        C : float
            Weight of the sum of the losses.
        tol : float
            Largest violation of the optimality conditions: no pair of variables gains more than
            this, to first order, by moving one unit in opposite directions.
        most_steps : int

        Raises
        ------
        FitError
            If it takes more than ``most_steps`` steps.
        DivergedError
            If values overflow.
        """
        self._scale(C)
        self.n_steps = 0
        problem = (self._columns, self._sides, C, self._ridge, self._explicit)
        at_once = min(len(self.values), MAX_ROUND_STEPS)
        while self.n_steps < most_steps:
            most = min(most_steps - self.n_steps, at_once)
            done, solved = _steps(problem, self.variables, self.slacks, self.values, tol, most)
            self.n_steps += done
            if not np.isfinite(self.values).all():
                raise DivergedError("values overflow; take a smaller C")
            if solved:
                return
            self._move_free()
        raise FitError(f"no solution after {most_steps:,} steps; take a larger tol or a smaller C")

    def thresholds(self) -> Array:
        """Return the thresholds at the current variables, shape (k - 1,).

        Each is the middle of the interval that the optimality conditions allow. Explicit thresholds
        with a positive slack between them are equal.
        """
        bounds = np.array(_bounds(self._sides, self._C, self.variables, self.values))
        if self._explicit:
            tied = np.append(0, np.cumsum(self.slacks[:-1] <= 0))
            low, high = np.maximum.accumulate(bounds[0]), np.minimum.accumulate(bounds[1][::-1])
            last = np.searchsorted(tied, tied, side="right") - 1
            first = np.searchsorted(tied, tied)
            bounds = np.array([low[last], high[::-1][first]])
        return bounds.mean(axis=0)

    def _scale(self, C: float) -> None:
        """Scale the variables from the current box to that of C; those at a bound stay at it."""
        at_bound = abs(self.variables) == self._C
        for array in (self.variables, self.slacks, self.values):
            array *= C / self._C
        self.variables[at_bound] = np.copysign(C, self.variables[at_bound])
        self._C = C

    def _move_free(self) -> None:
        """Maximise over all variables strictly within their bounds."""
        cuts, rows = np.nonzero((self.variables != 0) & (abs(self.variables) < self._C))
        if not 1 < len(rows) <= MAX_FREE_VARIABLES:
            return
        before = self.variables[cuts, rows]
        signs = np.where(rows < self._sides[1][cuts], -1.0, 1.0)
        after, high = before.copy(), np.where(signs > 0, self._C, 0.0)
        K = _submatrix(self._columns, rows)
        K += self._ridge * (rows[:, None] == rows)
        gradient = signs - self.values[rows]
        with single_blas_thread():
            maximise_free(K, gradient, cuts, high - self._C, high, after, self.slacks)
        self.variables[cuts, rows] = after
        _add(self._columns, self._ridge, rows, after - before, self.values)


@fast
def _submatrix(columns: KernelColumns, rows: NDArray[np.int64]) -> Array:
    """Return the kernel of some rows, in double precision."""
    K = np.empty((len(rows), len(rows)))
    for i in range(len(rows)):
        part = column(columns, rows[i])
        for j in range(len(rows)):
            K[i, j] = part[rows[j]]
    return K


@fast
def _add(
    columns: KernelColumns, ridge: float, rows: NDArray[np.int64], change: Array, values: Array
) -> None:
    """Update the values after a change of the variables of some rows."""
    for i in range(len(rows)):
        if change[i] != 0.0:
            part = column(columns, rows[i])
            for k in range(len(values)):
                values[k] += change[i] * part[k]
            values[rows[i]] += ridge * change[i]


@fast
def _slope_up(a: float, negative: bool, C: float) -> float:
    """Return the slope of the gain to the right of ``a``; minus infinity at the upper bound."""
    if negative:
        return -1.0 if a < 0.0 else -np.inf
    return 1.0 if a < C else -np.inf


@fast
def _slope_down(a: float, negative: bool, C: float) -> float:
    """Return the slope of the gain to the left of ``a``; infinity at the lower bound."""
    if negative:
        return -1.0 if a > -C else np.inf
    return 1.0 if a > 0.0 else np.inf


@fast
def _bounds(sides, C, variables, values):  # type: ignore[no-untyped-def]
    """Return the smallest and the largest threshold that each cut's variables allow."""
    first, split, stop = sides
    low, high = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    for j in range(len(first)):
        for i in range(first[j], stop[j]):
            a, negative = variables[j, i], i < split[j]
            low[j] = max(low[j], values[i] - _slope_down(a, negative, C))
            high[j] = min(high[j], values[i] - _slope_up(a, negative, C))
    return low, high


@fast
def _steps(problem, variables, slacks, values, tol, most):  # type: ignore[no-untyped-def]
    """Take up to ``most`` steps; return their number, and whether the problem is solved."""
    columns, sides, C, ridge, explicit = problem
    first, split, stop = sides
    n_cuts, n = variables.shape
    up, down = np.empty((n_cuts, n)), np.empty((n_cuts, n))  # used only on the sides
    for j in range(n_cuts):
        for i in range(first[j], stop[j]):
            up[j, i] = _slope_up(variables[j, i], i < split[j], C)
            down[j, i] = _slope_down(variables[j, i], i < split[j], C)
    most_gained, least_lost = np.empty(n_cuts), np.empty(n_cuts)
    rising_rows = np.empty(n_cuts, np.int64)
    for step in range(most):
        _extremes(sides, up, down, values, most_gained, least_lost, rising_rows)
        j, start, end = _most_violated(explicit, slacks, most_gained, least_lost, tol)
        if j < 0:
            return step, True
        i, best = rising_rows[j], most_gained[j]
        rising = column(columns, i)
        diagonal = columns.diagonal
        h, o = _second(
            rising, diagonal, ridge, sides, down, values, i, best, least_lost, start, end
        )
        falling = column(columns, o)
        curvature = 0.0 if o == i else _curvature(rising, diagonal, ridge, i, o)
        size = (best - (down[h, o] - values[o])) / max(curvature, _MIN_CURVATURE)
        to_up, to_down = (0.0 if i < split[j] else C), (-C if o < split[h] else 0.0)
        size = min(size, to_up - variables[j, i], variables[h, o] - to_down)
        for between in range(j, h):
            size = min(size, slacks[between])
        # a variable that reaches a bound is put there exactly; so are slacks, by subtraction
        variables[j, i] = to_up if size == to_up - variables[j, i] else variables[j, i] + size
        variables[h, o] = to_down if size == variables[h, o] - to_down else variables[h, o] - size
        for between in range(j, h):
            slacks[between] -= size
        for between in range(h, j):
            slacks[between] += size
        up[j, i] = _slope_up(variables[j, i], i < split[j], C)
        down[j, i] = _slope_down(variables[j, i], i < split[j], C)
        up[h, o] = _slope_up(variables[h, o], o < split[h], C)
        down[h, o] = _slope_down(variables[h, o], o < split[h], C)
        for r in range(n):
            values[r] += size * (rising[r] - falling[r])
        values[i] += ridge * size
        values[o] -= ridge * size
    return most, False


@fast
def _extremes(sides, up, down, values, most_gained, least_lost, rows):  # type: ignore[no-untyped-def]
    """Write for each cut the largest gain of a rising variable, its row, and the least loss."""
    first, _, stop = sides
    for j in range(len(first)):
        row, best, least = first[j], -np.inf, np.inf
        for i in range(first[j], stop[j]):
            gain, loss = up[j, i] - values[i], down[j, i] - values[i]
            if gain > best:
                row, best = i, gain
            if loss < least:
                least = loss
        most_gained[j], least_lost[j], rows[j] = best, least, row


@fast
def _most_violated(explicit, slacks, most_gained, least_lost, tol):  # type: ignore[no-untyped-def]
    """Return the cut of the variable to rise, and the range of cuts of the one to fall.

    The cut is -1 if no pair gains more than the tolerance.
    """
    best_cut, best_start, best_end, largest = -1, 0, 0, tol
    for j in range(len(most_gained)):
        start, end = (0, j + 1) if explicit else (j, j + 1)
        while explicit and slacks[end - 1] > 0.0:  # the last is 0
            end += 1
        least = np.inf
        for h in range(start, end):
            least = min(least, least_lost[h])
        violation = most_gained[j] - least
        if violation >= largest:
            best_cut, best_start, best_end, largest = j, start, end, violation
    return best_cut, best_start, best_end


@fast
def _curvature(rising: Single, diagonal: Array, ridge: float, i: int, r: int) -> float:
    """Return the curvature along a move of one row's variable up and another's down."""
    return diagonal[i] + diagonal[r] + 2.0 * ridge - 2.0 * rising[r]


@fast
def _second(rising, diagonal, ridge, sides, down, values, i, best, least_lost, start, end):  # type: ignore[no-untyped-def]
    """Return cut and row of the variable to fall: the one with the largest increase."""
    first, _, stop = sides
    cut, row, largest = start, i, -1.0
    for h in range(start, end):
        if least_lost[h] >= best:
            continue
        for r in range(first[h], stop[h]):
            gain = best - (down[h, r] - values[r])
            if gain > 0:
                curvature = 0.0 if r == i else _curvature(rising, diagonal, ridge, i, r)
                increase = gain * gain / max(curvature, _MIN_CURVATURE)
                if increase > largest:
                    cut, row, largest = h, r, increase
    return cut, row

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
shrink, and all of them must be above 0. The variable of the most violating pair rises; the one with
the largest increase by the curvature of the pair falls (as in LIBSVM). Such steps converge slowly
if C is large and K ill-conditioned, but soon find the variables at a bound. So every
`MAX_ROUND_STEPS` steps all others, the free ones, are moved at once (`dsgkit.exact.svor_newton`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data, Sizes
from dsgkit.errors import DivergedError, FitError
from dsgkit.exact.columns import (
    MIN_COLUMNS,
    KernelColumns,
    column,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.exact.svor_newton import MAX_FREE_VARIABLES, maximise_free
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array, Single
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread

MAX_ROUND_STEPS = 2000
"""Steps between two moves of all free variables; with fewer rows, the number of rows."""

_MIN_CURVATURE = 1e-12
"""Lower bound on the curvature of a pair, which is 0 for equal rows."""


class OrdinalProgram:
    """The dual problem with its current variables, from which `solve` starts.

    Every class must occur. ``ridge`` is added to the diagonal of the kernel matrix.

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
        self, columns: KernelColumns, codes: NDArray[np.integer], explicit: bool, ridge: float
    ) -> None:
        self.columns, self._explicit, self._ridge = columns, explicit, ridge
        n, n_cuts = len(codes), int(codes[-1])
        # the first row of each class, and the end
        starts = np.searchsorted(codes, np.arange(n_cuts + 2))
        first = starts[:-2] if explicit else np.zeros(n_cuts, np.int64)
        stop = starts[2:] if explicit else np.full(n_cuts, n)
        self._sides = (first, starts[1:-1], stop)
        self._C = 1.0
        self.variables, self.slacks = np.zeros((n_cuts, n)), np.zeros(n_cuts)
        self.values = np.zeros(n)
        self.n_steps = 0

    def solve(self, C: float, tol: float, most_steps: int) -> None:
        """Maximise from the current variables, scaled to the box of this C.

        At the end no pair of variables gains more than ``tol``, to first order, by moving one unit
        in opposite directions.

        Raises
        ------
        FitError
            If it takes more than ``most_steps`` steps, or if values overflow.
        """
        self._scale(C)
        self.n_steps = 0
        problem = (self.columns, self._sides, C, self._ridge, self._explicit)
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

    def function(self, kernel: str, sigma: float) -> Expansion:
        """Return the function; rows with a coefficient of 0 are left out."""
        beta = self.variables.sum(axis=0)
        used = beta != 0
        return Expansion(kernel, sigma, self.columns.points.T[used], beta[used, None])

    def thresholds(self) -> Array:
        """Return the thresholds at the current variables, shape (k - 1,).

        Each is the middle of the interval that the optimality conditions allow. Explicit thresholds
        with a positive slack between them are equal.
        """
        low, high = np.full((2, len(self.slacks)), [[-np.inf], [np.inf]])
        for j, (begin, split, stop) in enumerate(zip(*self._sides, strict=True)):
            a, below = self.variables[j, begin:stop], np.arange(begin, stop) < split
            edges = self.values[begin:stop] - np.where(below, -1.0, 1.0)
            low[j] = edges[np.where(below, a > -self._C, a > 0)].max(initial=-np.inf)
            high[j] = edges[np.where(below, a < 0, a < self._C)].min(initial=np.inf)
        if not self._explicit:
            return (low + high) / 2
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        first = np.flatnonzero(np.append(True, self.slacks[:-1] <= 0))
        last = np.append(first[1:], len(low)) - 1
        return np.repeat((low[last] + high[first]) / 2, last - first + 1)

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
        K = _submatrix(self.columns, rows)
        K += self._ridge * (rows[:, None] == rows)
        gradient = signs - self.values[rows]
        with single_blas_thread():
            maximise_free(K, gradient, cuts, high - self._C, high, after, self.slacks)
        self.variables[cuts, rows] = after
        _add(self.columns, self._ridge, rows, after - before, self.values)


def ordinal_program(
    data: Data, kernel: str, sigma: float, explicit: bool, ridge: float, memory: int
) -> OrdinalProgram:
    """Return the problem of labelled rows, with as many kernel columns as fit into the memory."""
    order = np.argsort(data.codes, kind="stable")
    present, codes = np.unique(data.codes[order], return_inverse=True)
    points = np.array(data.X[:].T[:, order], np.float64, order="C")
    n_inputs, n = points.shape
    room = memory - _program_memory(n, len(present) - 1) - points.nbytes
    columns = kernel_columns(points, kernel, sigma, columns_within(n, n_inputs, room))
    return OrdinalProgram(columns, codes, explicit, ridge)


def program_cost(n: Sizes, n_models: int, memory: int, *, explicit: bool) -> Cost:
    """Return the cost of models, of whose kernel matrix ``memory`` bytes are kept."""
    rows, n_cuts = n.labeled, max(1, n.sources - 1)
    fewest, most = (
        max(
            columns_memory(rows, n.inputs, kept)
            + _program_memory(rows, n_cuts)
            + 8 * rows * n.inputs,
            8 * rows * (n.inputs + 1) + expansion_memory(rows, n.inputs),
        )
        for kept in (MIN_COLUMNS, rows)
    )
    # 5 steps per row (1 for a small C, 10 for a large one), with their share of the moves of all
    # free variables
    steps = 5.0 * rows * 500.0 * rows * (min(2, n_cuts) if explicit else n_cuts)
    return Cost(
        flops=n_models * (rows**2 * (ENTRY_FLOPS + 6.0 * n.inputs) + steps),
        memory=max(fewest, min(most, memory)),
        flops_per_row=expansion_flops(rows, n.inputs),
    )


def _program_memory(n: int, n_cuts: int) -> int:
    """Return the bytes of a program in addition to its columns, with a move of free variables."""
    return 8 * n * (6 * n_cuts + 8) + 3 * 8 * min(n, MAX_FREE_VARIABLES) ** 2


@fast
def _submatrix(columns: KernelColumns, rows: NDArray[np.int64]) -> Array:
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
def _slopes(a: float, negative: bool, C: float) -> tuple[float, float]:
    """Return the slopes of the gain to the right and to the left; infinite at a bound."""
    sign, high = (-1.0, 0.0) if negative else (1.0, C)
    return sign if a < high else -np.inf, sign if a > high - C else np.inf


@fast
def _steps(problem, variables, slacks, values, tol, most):  # type: ignore[no-untyped-def]
    """Take up to ``most`` steps; return their number, and whether the problem is solved."""
    columns, sides, C, ridge, explicit = problem
    first, split, stop = sides
    n_cuts, n = variables.shape
    up, down = np.empty((n_cuts, n)), np.empty((n_cuts, n))  # used only on the sides
    for j in range(n_cuts):
        for i in range(first[j], stop[j]):
            up[j, i], down[j, i] = _slopes(variables[j, i], i < split[j], C)
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
        up[j, i], down[j, i] = _slopes(variables[j, i], i < split[j], C)
        up[h, o], down[h, o] = _slopes(variables[h, o], o < split[h], C)
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

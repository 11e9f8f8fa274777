"""Kernel stochastic gradient descent with budgets of support vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.kernels import Kernel, expansion_flops, expansion_memory, kernel_named
from dsgkit.linalg import Array, row_blocks
from dsgkit.objectives.margin import MarginRisk
from dsgkit.random import draw_in_passes
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import report
from dsgkit.trainers.kernel_machines import KernelMachine, MachineTrainer, signs_of
from dsgkit.trainers.training import Decreasing, Fixed, Sizes, Step, Training

LABELED, UNLABELED = 0, 1
"""Numbers of the two data sources."""

PANEL_BYTES = 2**26
"""Bytes of kernel values that a panel holds."""

MIN_PANEL_STEPS, MAX_PANEL_STEPS = 16, 128
"""Bounds on the steps of a panel, whatever `PANEL_BYTES` is: larger products are no faster."""


@dataclass(frozen=True)
class BudgetedDescent(MachineTrainer):
    """Steps on single rows; over budget, the smallest coefficient is removed.

    Minimises the risk with the symmetric hinge. A step draws the next labelled and the next
    unlabelled row; there are ``max(n_labeled, n_unlabeled)`` steps. O(n B d) time and O(B d) memory
    for n rows and budgets of B rows together. The kernel values of a panel of steps are computed as
    one matrix product; this changes nothing but rounding.

    Attributes
    ----------
    labeled_budget : int
        Largest number of labelled support vectors.
    unlabeled_budget : float
        Largest number of unlabelled ones, as a share of the unlabelled rows.
    sign_at_zero : int
        Label of an unlabelled row whose value is 0; 0 skips it.
    """

    labeled_budget: int
    unlabeled_budget: float
    sign_at_zero: int
    random_state: int

    def solve(
        self, training: Training, risk: MarginRisk, step: Step | None, prepared: None
    ) -> KernelMachine:
        """Return the machine of a risk."""
        t = training
        n_labeled, n_unlabeled = len(t.X), len(t.X_unlabeled)
        n_steps = max(n_labeled, n_unlabeled)
        rule = self._rule(risk, step, n_labeled, n_unlabeled)
        kernel, y = kernel_named(self.kernel), signs_of(t)
        labeled = _Source(t.X, LABELED, self.random_state)
        unlabeled = _Source(t.X_unlabeled, UNLABELED, self.random_state)
        # one thread: the products are small, and rounding, which decides which rows lie within the
        # margin, must not depend on the number of threads
        with single_blas_thread():
            for panel in row_blocks(n_steps, _panel_steps(sum(rule.budgets))):
                drawn = labeled.draw(panel)
                places = drawn, unlabeled.draw(panel)
                signs = y[labeled.ids[drawn]]
                _run_panel(labeled, unlabeled, places, signs, kernel, self.sigma, rule, panel.start)
                report(panel.stop / n_steps)
        coef = [w * s.counts for w, s in zip(rule.weights, (labeled, unlabeled), strict=True)]
        n_support = np.array([len(labeled.ids), len(unlabeled.ids)])
        return KernelMachine(
            self.kernel,
            self.sigma,
            np.concatenate([labeled.rows, unlabeled.rows]),
            np.concatenate(coef) * rule.scale(n_steps),
            intercept=0.0,
            extra_attributes={"n_support_": n_support, "n_iter_": n_steps},
        )

    def models_cost(self, sizes: Sizes, n_models: int, risk: MarginRisk, step: Step | None) -> Cost:
        """Return the cost of the panels and the support vectors, with all budgets used up."""
        n_rows_of = sizes.n_labeled, sizes.n_unlabeled
        budgets = self._budgets(risk, *n_rows_of)
        n_support, n_steps = sum(budgets), max(n_rows_of)
        n_rows = n_steps * (1 + min(1, sizes.n_labeled / _panel_steps(n_support)))
        row = expansion_flops(n_support, sizes.n_inputs)
        search = 8.0 * n_steps * n_support  # for the smallest coefficient
        return Cost(
            flops=n_models * (n_rows * row + search),
            memory=_memory(n_rows_of, budgets, sizes.n_inputs),
            flops_per_row=row,
        )

    def _budgets(self, risk: MarginRisk, n_labeled: int, n_unlabeled: int) -> tuple[int, int]:
        """Return the budget of each source; 0 for unlabelled rows without a weight."""
        share = self.unlabeled_budget if risk.C_star > 0 else 0.0
        return min(self.labeled_budget, n_labeled), math.ceil(share * n_unlabeled)

    def _rule(self, risk: MarginRisk, step: Step | None, n_labeled: int, n_unlabeled: int) -> _Rule:
        return _Rule(
            (risk.C, risk.C_star),
            self._budgets(risk, n_labeled, n_unlabeled),
            constant=step.eta if isinstance(step, Fixed) else 0.0,
            t0=float(step.t0) if isinstance(step, Decreasing) else 0.0,
            sign_at_zero=float(self.sign_at_zero),
        )


def _memory(n_rows_of: tuple[int, int], budgets: tuple[int, int], n_inputs: int) -> int:
    """Return the bytes of a panel and of the support vectors."""
    n_steps = _panel_steps(sum(budgets))
    n_rows = n_candidates = 0
    for size, budget in zip(n_rows_of, budgets, strict=True):
        drawn = min(n_steps, size)
        n_rows += drawn
        n_candidates += min(budget + drawn, size)
    panel = 8 * n_rows * (n_candidates + 3 * n_inputs)
    support = 8 * n_candidates * (3 * n_inputs + 8)
    return max(panel + support, expansion_memory(sum(budgets), n_inputs))


class _Rule(NamedTuple):
    """The steps, the weights of the two losses, the budgets and the sign of 0.

    A coefficient is a scale times a count, to which a step adds 1 or -1. Decreasing steps shrink
    the scale, and counts are integers; constant steps let the counts decay.

    Attributes
    ----------
    constant : float
        The constant step; 0 for a decreasing one.
    t0 : float
        The decreasing step is ``1 / (t + t0)``.
    """

    weights: tuple[float, float]
    budgets: tuple[int, int]
    constant: float
    t0: float
    sign_at_zero: float

    def scale(self, step: int) -> float:
        """Return the factor of the counts after ``step`` steps."""
        return self.constant or 1 / max(1.0, step + self.t0)


def _panel_steps(n_support: int) -> int:
    """Return the steps whose kernel values are computed together."""
    return min(max(MIN_PANEL_STEPS, PANEL_BYTES // (2 * 8 * max(1, n_support))), MAX_PANEL_STEPS)


class _Source:
    """Rows of one kind, of which it holds the support vectors and those about to be drawn.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Numbers of these rows.
    rows : ndarray of float64, shape (n, n_inputs)
    counts : ndarray of float64, shape (n,)
        Additions less subtractions of each row (see `_Rule`): a coefficient is this times a scale
        and the weight of the source.
    born : ndarray of int64, shape (n,)
        The steps in which they became support vectors.
    """

    def __init__(self, X: Any, number: int, seed: int) -> None:
        self._X = X
        self._number = number
        self._seed = seed
        self.ids = np.empty(0, np.int64)
        self.rows = np.empty((0, X.shape[1]))
        self.counts = np.empty(0)
        self.born = np.empty(0, np.int64)

    def draw(self, panel: slice) -> NDArray[np.int64]:
        """Read the rows that the steps of a panel draw; return their places in ``ids``."""
        length = panel.stop - panel.start
        drawn = draw_in_passes(self._seed, self._number, panel.start, length, 1, len(self._X))[:, 0]
        new = np.setdiff1d(drawn, self.ids)
        self.ids = np.append(self.ids, new)
        self.rows = np.concatenate([self.rows, np.asarray(self._X[new], np.float64)])
        self.counts = np.append(self.counts, np.zeros(len(new)))
        self.born = np.append(self.born, np.zeros(len(new), np.int64))
        order = np.argsort(self.ids)
        return order[np.searchsorted(self.ids, drawn, sorter=order)]

    def keep_support(self, counts: Array, born: NDArray[np.int64]) -> None:
        """Set the coefficients, and drop the rows that are not support vectors."""
        support = np.flatnonzero(counts)
        self.ids, self.rows = self.ids[support], self.rows[support]
        self.counts, self.born = counts[support], born[support]


def _run_panel(
    labeled: _Source,
    unlabeled: _Source,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    signs: Array,
    kernel: Kernel,
    sigma: float,
    rule: _Rule,
    first: int,
) -> None:
    """Take the steps of a panel, the first of which is number ``first``."""
    n = len(labeled.ids)
    (rows_l, line_l), (rows_u, line_u) = (np.unique(p, return_inverse=True) for p in places)
    drawn = np.concatenate([labeled.rows[rows_l], unlabeled.rows[rows_u]])
    K = kernel.gram(drawn, np.concatenate([labeled.rows, unlabeled.rows]), sigma)
    K[:, :n] *= rule.weights[0]
    K[:, n:] *= rule.weights[1]
    counts = np.concatenate([labeled.counts, unlabeled.counts])
    born = np.concatenate([labeled.born, unlabeled.born])
    lines = np.column_stack([line_l, len(rows_l) + line_u])
    columns = np.column_stack([places[0], n + places[1]])
    _descend(K, lines, columns, signs, counts, born, n, rule, first)
    labeled.keep_support(counts[:n], born[:n])
    unlabeled.keep_support(counts[n:], born[n:])


@fast
def _descend(K, lines, columns, signs, counts, born, n_labeled, rule, first):  # type: ignore[no-untyped-def]
    """Take the steps of a panel: change ``counts`` and ``born`` of its candidates in place.

    Row i of ``lines`` and ``columns`` holds the positions in ``K`` of the two rows of step i. ``K``
    holds weighted kernel values; its first ``n_labeled`` columns are labelled rows.
    """
    n, budgets = len(counts), rule.budgets
    used = np.array(
        [np.count_nonzero(counts[:n_labeled]), np.count_nonzero(counts[n_labeled:])], np.int64
    )
    for i in range(len(lines)):
        done = first + i
        scale = rule.constant if rule.constant else 1 / max(1.0, done + rule.t0)
        f_labeled = scale * np.dot(K[lines[i, 0]], counts)
        f_unlabeled = scale * np.dot(K[lines[i, 1]], counts)
        if rule.constant:
            _decay(counts, 1 - rule.constant, n_labeled, used)
        if signs[i] * f_labeled < 1:
            _add(columns[i, 0], signs[i], done, counts, born, 0, n_labeled, used[:1], budgets[0])
        sign = np.sign(f_unlabeled) if f_unlabeled else rule.sign_at_zero
        if sign and abs(f_unlabeled) < 1:
            _add(columns[i, 1], sign, done, counts, born, n_labeled, n, used[1:], budgets[1])


@fast
def _decay(counts: Array, factor: float, n_labeled: int, used: NDArray[np.int64]) -> None:
    """Multiply all coefficients by ``factor``; those that underflow free their budget."""
    for j in range(len(counts)):
        if counts[j] != 0:
            counts[j] *= factor
            if counts[j] == 0:
                used[int(j >= n_labeled)] -= 1


@fast
def _add(column, sign, step, counts, born, low, high, used, budget):  # type: ignore[no-untyped-def]
    """Add to a coefficient; over budget, set the smallest of ``counts[low:high]`` to 0."""
    if counts[column] == 0:
        born[column] = step
        used[0] += 1
    counts[column] += sign
    if counts[column] == 0:
        used[0] -= 1
    if used[0] > budget:
        counts[_smallest(counts, born, low, high)] = 0
        used[0] -= 1


@fast
def _smallest(counts: Array, born: NDArray[np.int64], low: int, high: int) -> int:
    """Return the position of the smallest nonzero coefficient; of equal ones, the oldest."""
    place = -1
    for j in range(low, high):
        size = abs(counts[j])
        if size != 0 and (
            place < 0
            or size < abs(counts[place])
            or (size == abs(counts[place]) and born[j] < born[place])
        ):
            place = j
    return place

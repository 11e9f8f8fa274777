"""Kernel stochastic gradient descent with budgets of support vectors.

A step draws the next labelled and the next unlabelled row; over budget, the smallest coefficient is
removed. The kernel values of a panel of steps are computed as one matrix product, which changes
nothing but rounding. A coefficient is a scale times a count, to which a step adds 1 or -1:
decreasing steps shrink the scale, and counts are integers; constant steps let the counts decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Sizes
from dsgkit.kernels import expansion_flops, expansion_memory, kernel_named
from dsgkit.linalg import Array, row_blocks, rows_at
from dsgkit.random import draw_in_passes
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import report

PANEL_BYTES = 2**26
"""Bytes of kernel values that a panel holds."""

MIN_PANEL_STEPS, MAX_PANEL_STEPS = 16, 128
"""Bounds on the steps of a panel, whatever `PANEL_BYTES` is: larger products are no faster."""


class Rule(NamedTuple):
    """Weights of the labelled and unlabelled losses, budgets, and steps.

    ``constant`` is the constant step, or 0 for the steps ``1 / (t + t0)``. Unlabelled rows with a
    value of 0 count as labelled by ``sign_at_zero``.
    """

    weights: tuple[float, float]
    budgets: tuple[int, int]
    constant: float
    t0: float
    sign_at_zero: float


def descend_on_budget(
    X: Any, signs: Array, U: Any, kernel: str, sigma: float, rule: Rule, seed: int
) -> tuple[Expansion, list[int]]:
    """Return the function after ``max(n_labeled, n_unlabeled)`` steps, and its support vectors.

    Rows are numbered with the labelled ones first.
    """
    n, n_steps = len(X), max(len(X), len(U))
    ids, born = np.empty(0, np.int64), np.empty(0, np.int64)
    counts, rows = np.empty(0), np.empty((0, X.shape[1]))
    # one thread: the products are small, and rounding, which decides which rows lie within the
    # margin, must not depend on the number of threads
    with single_blas_thread():
        for panel in row_blocks(n_steps, _panel_steps(sum(rule.budgets))):
            place = seed, panel.start, panel.stop - panel.start
            drawn = np.column_stack([_drawn(*place, 0, n), n + _drawn(*place, 1, len(U))])
            ids, born, counts, rows = _with_drawn(X, U, drawn, ids, born, counts, rows)
            columns, n_own = np.searchsorted(ids, drawn), int(np.searchsorted(ids, n))
            read, lines = np.unique(columns, return_inverse=True)
            K = kernel_named(kernel).gram(rows[read], rows, sigma)
            K[:, :n_own] *= rule.weights[0]
            K[:, n_own:] *= rule.weights[1]
            own = signs[drawn[:, 0]]
            lines = lines.reshape(columns.shape)
            _descend(K, lines, columns, own, counts, born, n_own, rule, panel.start)
            del K  # before those of the next panel
            support = np.flatnonzero(counts)
            ids, born, counts, rows = ids[support], born[support], counts[support], rows[support]
            report(panel.stop / n_steps)
    weights = np.where(ids < n, *rule.weights)
    coef = weights * counts * (rule.constant or 1 / max(1.0, n_steps + rule.t0))
    n_own = int(np.searchsorted(ids, n))
    return Expansion(kernel, sigma, rows, coef[:, None]), [n_own, len(ids) - n_own]


def budgeted_cost(n: Sizes, n_models: int, budgets: tuple[int, int]) -> Cost:
    """Return the cost of the panels and the support vectors, with all budgets used up."""
    n_support, n_steps = sum(budgets), max(n.labeled, n.unlabeled)
    in_panel, n_drawn, n_candidates = _panel_steps(n_support), 0, 0
    for size, budget in zip((n.labeled, n.unlabeled), budgets, strict=True):
        n_drawn += min(in_panel, size)
        n_candidates += min(budget + min(in_panel, size), size)
    panel = 8 * n_drawn * (n_candidates + 3 * n.inputs) + 8 * n_candidates * (3 * n.inputs + 8)
    row = expansion_flops(n_support, n.inputs)
    evaluated = n_steps * (1 + min(1, n.labeled / in_panel))
    search = 8.0 * n_steps * n_support  # for the smallest coefficient
    return Cost(
        flops=n_models * (evaluated * row + search),
        memory=max(panel, expansion_memory(n_support, n.inputs)),
        flops_per_row=row,
    )


def _panel_steps(n_support: int) -> int:
    """Return the steps whose kernel values are computed together."""
    return min(max(MIN_PANEL_STEPS, PANEL_BYTES // (2 * 8 * max(1, n_support))), MAX_PANEL_STEPS)


def _drawn(seed: int, first: int, count: int, source: int, n: int) -> NDArray[np.int64]:
    return draw_in_passes(seed, source, first, count, 1, n)[:, 0]


def _with_drawn(X, U, drawn, ids, born, counts, rows):  # type: ignore[no-untyped-def]
    """Return the support vectors and the drawn rows, which are read: numbers ascending."""
    together = np.union1d(ids, drawn)
    known = np.isin(together, ids)
    new, all_rows = together[~known], np.empty((len(together), rows.shape[1]))
    all_rows[known] = rows
    all_rows[~known] = rows_at([X, U], new)
    all_born, all_counts = np.zeros(len(together), np.int64), np.zeros(len(together))
    all_born[known], all_counts[known] = born, counts
    return together, all_born, all_counts, all_rows


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
    """Multiply all counts by ``factor``; those that underflow free their budget."""
    for j in range(len(counts)):
        if counts[j] != 0:
            counts[j] *= factor
            if counts[j] == 0:
                used[int(j >= n_labeled)] -= 1


@fast
def _add(column, sign, step, counts, born, low, high, used, budget):  # type: ignore[no-untyped-def]
    """Add to a count; over budget, set the smallest of ``counts[low:high]`` to 0."""
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
    """Return the position of the smallest nonzero count; of equal ones, the oldest."""
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

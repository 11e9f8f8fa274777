"""Large-margin one-class support vector machine, trained by stochastic gradient descent.

It minimises ``1/2 ||w||^2 + C/n sum_i max(0, 1 - w.phi(x_i))`` with steps ``1/t``:
``w_(t+1) = (t-1)/t w_t + C/t [w_t.phi(x) < 1] phi(x)``. The code keeps ``t w_(t+1)``, which never
decays, so that rows drawn equally often have exactly equal coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array, row_blocks
from dsgkit.random import DRAWS, draw_with_replacement, words
from dsgkit.solvers.clustering.budget import RANDOM, REMOVAL, Support, add, apply, maintenance
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.kernel_values import kernel_values
from dsgkit.system.jit import fast, fast_parallel, prange
from dsgkit.system.machine import threads_for
from dsgkit.system.progress import report

ROWS, NEIGHBORS = 0, 1
"""Numbers of the random sources."""

CHUNK_STEPS = 4096
"""Steps per block of rows that are read."""

BLOCK_STEPS = 64
"""Steps per block of kernel values, without a budget."""

TILE_VECTORS = 128
"""Support vectors per tile, which stays in cache."""

_EXPONENTIAL_TERMS = 16
"""Approximate cost of an exponential, in terms of a squared distance."""

_TERMS_PER_THREAD = 2**18
"""Terms of squared distances per thread."""

_SUPPORT_SHARE = 0.3
"""Approximate share of the drawn rows that become support vectors."""

_STEP, _REMOVALS, _SMALL, _DONE = range(4)
"""Indices of the counts: steps, removed vectors, small steps in a row, and whether it has ended."""


@dataclass(frozen=True)
class OneClass:
    """Trained SVM, see `groups.TrainedDomain`.

    Attributes
    ----------
    support_vectors : ndarray of shape (s, n_inputs)
    coefficients : ndarray of shape (s,)
    n_steps, n_removals : int
    C, gamma : float
        Weight of the mean loss and kernel parameter of the training.
    """

    support_vectors: Array
    coefficients: Array
    n_steps: int
    n_removals: int
    C: float
    gamma: float

    @property
    def domain(self) -> Domain:
        """Points where the function is at least 0."""
        return Domain(self.support_vectors, self.coefficients, self.gamma)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator by name."""
        return {
            "support_vectors_": self.support_vectors,
            "dual_coef_": self.coefficients,
            "n_iter_": self.n_steps,
            "n_removals_": self.n_removals,
            "mass_": float(self.coefficients.sum()),
        }

    def objective(self, X: Any) -> float:
        """Return the objective on the rows of ``X``."""
        domain = self.domain
        squared_norm = self.coefficients @ (domain.values(self.support_vectors) + 1)
        mean_loss = np.maximum(0, -domain.values(X)).mean()
        return float(squared_norm / 2 + self.C * mean_loss)


@dataclass(frozen=True)
class Descent:
    """Trainer of the one-class SVM.

    Attributes
    ----------
    C, gamma : float
        Weight of the mean loss; kernel parameter.
    tol : float
        Largest length, in feature space, of a small step.
    patience : int
        Small steps in a row that end the training; the first step does not count.
    max_iter : int
        Most steps.
    seed : int
    budget : int, optional
        Most support vectors.
    strategy : int
        Treatment of removed vectors; see `dsgkit.solvers.clustering.budget`.
    n_neighbors : int
        Vectors that a removed one is projected onto.
    """

    C: float
    gamma: float
    tol: float
    patience: int
    max_iter: int
    seed: int
    budget: int | None = None
    strategy: int = REMOVAL
    n_neighbors: int = 0

    def train(self, X: Any) -> OneClass:
        """Return the SVM trained on the rows of ``X``, which are read as they are drawn."""
        n, n_inputs = X.shape
        most = CHUNK_STEPS if self.budget is None else min(self.budget, n) + 1
        support = Support.empty(n_inputs, most)
        counts, squared_norm = np.zeros(4, np.int64), np.zeros(1)
        # one more place, for the removed vector
        k = 0 if self.strategy == REMOVAL else min(self.n_neighbors, most - 1)
        buffers = np.empty(most), np.empty(k + 1, np.int64), np.empty(k + 1)
        expected = self.expected_steps
        while not counts[_DONE]:
            first = int(counts[_STEP])
            length = min(CHUNK_STEPS, self.max_iter - first)
            if self.budget is None:
                support = support.with_room_for(length)
            rows = draw_with_replacement(self.seed, ROWS, first, length, 1, n)[:, 0]
            points = np.ascontiguousarray(X[rows], np.float64)
            state = counts, squared_norm, self._compiled()
            if self.budget is None:
                _descend_freely(support, rows, points, *state)
            else:
                _descend(support, rows, points, self._words(first, length, k), buffers, *state)
            report(min(1.0, counts[_STEP] / expected))
        size, n_steps = support.size[0], int(counts[_STEP])
        return OneClass(
            support.points[:, :size].T.copy(),
            support.coefficients[:size] / n_steps,
            n_steps,
            int(counts[_REMOVALS]),
            self.C,
            self.gamma,
        )

    @property
    def expected_steps(self) -> float:
        """Approximate number of steps.

        A step is at most ``(C + ||w||)/t`` long, and ``||w||`` is near 1.
        """
        if not self.tol:
            return self.max_iter
        return min(self.max_iter, (self.C + 1) / self.tol + self.patience)

    def expected_support(self, n_rows: int) -> int:
        """Return the approximate number of support vectors after training on ``n_rows`` rows."""
        return self._within_budget(int(min(n_rows, 1 + _SUPPORT_SHARE * self.expected_steps)))

    def most_support(self, n_rows: int) -> int:
        """Return the number of support vectors if all drawn rows become support vectors."""
        return self._within_budget(1 + int(n_rows * -math.expm1(-self.expected_steps / n_rows)))

    def _within_budget(self, n_support: int) -> int:
        return n_support if self.budget is None else min(self.budget, n_support)

    @property
    def rows_per_step(self) -> float:
        """Approximate number of kernel rows per step."""
        if self.budget is None:
            return 0.5
        projected = 0 if self.strategy == REMOVAL else self.n_neighbors
        return 1 + _SUPPORT_SHARE * (1 + projected)

    def _compiled(self) -> tuple[float, float, int, int, float, int, int]:
        """Return the settings for compiled code."""
        budget, stop = self.budget or 0, (self.tol, self.patience, self.max_iter)
        return self.C, self.gamma, budget, self.strategy, *stop

    def _words(self, first: int, length: int, k: int) -> NDArray[np.uint64]:
        """Return the random words of some steps, which only random neighbours need."""
        if self.strategy != RANDOM:
            return np.empty((length, 0), np.uint64)
        return words(self.seed, first * k, length * k, DRAWS + NEIGHBORS).reshape(length, k)


def _descend_freely(
    support: Support,
    rows: NDArray[np.int64],
    points: Array,
    counts: NDArray[np.int64],
    squared_norm: Array,
    settings: tuple[float, float, int, int, float, int, int],
) -> None:
    """Make the steps of drawn rows without a budget, with kernel values computed in blocks.

    Without removals support vectors keep their places, so that a block of rows can use them while
    they are in cache.
    """
    gamma = settings[1]
    for block in row_blocks(len(rows), BLOCK_STEPS):
        if counts[_DONE]:
            return
        drawn, known = points[block], int(support.size[0])
        kernel = np.empty((len(drawn), known + len(drawn)))
        with threads_for(kernel.size * (points.shape[1] + _EXPONENTIAL_TERMS), _TERMS_PER_THREAD):
            _kernel_block(support.points, known, drawn, gamma, kernel)
        columns = np.ascontiguousarray(drawn.T)
        _grow(support, rows[block], columns, kernel, counts, squared_norm, settings)


@fast_parallel
def _kernel_block(columns, n, points, gamma, kernel):  # type: ignore[no-untyped-def]
    """Write the kernel values of some points with the first ``n`` columns."""
    for tile in prange((n + TILE_VECTORS - 1) // TILE_VECTORS):
        first, stop = tile * TILE_VECTORS, min((tile + 1) * TILE_VECTORS, n)
        part = columns[:, first:stop].copy()
        for i in range(len(points)):
            kernel_values(part, stop - first, points[i], gamma, kernel[i, first:stop])


@fast
def _grow(support, rows, columns, kernel, counts, squared_norm, settings):  # type: ignore[no-untyped-def]
    """Make the steps of a block of rows; see `_descend` for the step lengths.

    ``kernel`` holds their kernel values with all support vectors; those with new ones are added.
    """
    C, gamma, _, _, tol, patience, max_iter = settings
    with_new = np.empty(len(rows))
    for i in range(len(rows)):
        counts[_STEP] += 1
        t = counts[_STEP]
        before = squared_norm[0]
        product = before
        value = _product(support, kernel[i])
        if t == 1 or value < t - 1:
            squared_norm[0] += 2 * C * value + C * C
            product += C * value
            x = columns[:, i].copy()
            if add(support, rows[i], x, C):
                kernel_values(columns, len(rows), x, gamma, with_new)
                kernel[:, support.size[0] - 1] = with_new
        _end_step(before, product, counts, squared_norm, t, tol, patience, max_iter)
        if counts[_DONE]:
            return


@fast
def _descend(support, rows, points, drawn, buffers, counts, squared_norm, settings):  # type: ignore[no-untyped-def]
    """Make the steps of drawn rows, until training ends.

    With ``s = (t-1) w_t`` and ``s' = t w_(t+1)``, the squared length of a step follows from
    ``||s||^2`` (``squared_norm``), ``||s'||^2`` and ``s.s'``, which follow from function values.
    """
    C, gamma, budget, strategy, tol, patience, max_iter = settings
    scratch, places, changes = buffers
    kernel = np.empty(len(support.rows))
    for i in range(len(rows)):
        counts[_STEP] += 1
        t = counts[_STEP]
        before = squared_norm[0]
        product = before
        value = 0.0
        if support.size[0] > 0:
            kernel_values(support.points, support.size[0], points[i], gamma, kernel)
            value = _product(support, kernel)
        if t == 1 or value < t - 1:
            squared_norm[0] += 2 * C * value + C * C
            product += C * value
            if add(support, rows[i], points[i], C):
                kernel[support.size[0] - 1] = 1.0
            if support.size[0] > budget:
                n = maintenance(support, strategy, gamma, drawn[i], places, changes, scratch)
                along, length = _effect(support, gamma, places[:n], changes[:n], scratch)
                squared_norm[0] += 2 * along + length
                product += along
                for j in range(n):
                    product -= C * changes[j] * kernel[places[j]]
                apply(support, places[:n], changes[:n])
                counts[_REMOVALS] += 1
        _end_step(before, product, counts, squared_norm, t, tol, patience, max_iter)
        if counts[_DONE]:
            return


@fast
def _end_step(before, product, counts, squared_norm, t, tol, patience, max_iter):  # type: ignore[no-untyped-def]
    """Count small steps, and set `_DONE` in the counts when training ends."""
    small = _is_small(before, product, squared_norm, t, tol)
    counts[_SMALL] = counts[_SMALL] + 1 if small else 0
    if counts[_SMALL] >= patience or t == max_iter:
        counts[_DONE] = 1


@fast
def _product(support, kernel):  # type: ignore[no-untyped-def]
    """Return the sum of the coefficients times kernel values."""
    total = 0.0
    for j in range(support.size[0]):
        total += support.coefficients[j] * kernel[j]
    return total


@fast
def _effect(support, gamma, places, changes, kernel):  # type: ignore[no-untyped-def]
    """Return the inner product of the function with a change of it, and the change's squared norm.

    The function is that before the change of coefficients.
    """
    along = length = 0.0
    for i in range(len(places)):
        kernel_values(support.points, support.size[0], support.points[:, places[i]], gamma, kernel)
        along += changes[i] * _product(support, kernel)
        for j in range(len(places)):
            length += changes[i] * changes[j] * kernel[places[j]]
    return along, length


@fast
def _is_small(before, product, squared_norm, t, tol):  # type: ignore[no-untyped-def]
    """Return whether step t > 1 is at most ``tol`` long."""
    if t == 1:
        return False
    squared = squared_norm[0] / t**2 - 2 * product / (t * (t - 1.0)) + before / (t - 1.0) ** 2
    return squared <= tol**2

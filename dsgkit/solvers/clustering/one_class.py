"""The large-margin one-class support vector machine, trained by stochastic gradient descent.

It minimises ``1/2 ||w||^2 + C/n sum_i max(0, 1 - w.phi(x_i))`` with steps ``1/t``:
``w_(t+1) = (t-1)/t w_t + C/t [w_t.phi(x) < 1] phi(x)``. What is kept is ``t w_(t+1)``: it never
decays, so that the coefficients of rows drawn equally often are equal, not but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit._jit import fast
from dsgkit.progress import report
from dsgkit.random.draws import draw_with_replacement
from dsgkit.random.stream import DRAWS, words
from dsgkit.solvers.clustering.budget import Support, add, apply, maintenance
from dsgkit.solvers.clustering.kernel_values import kernel_values

Array = NDArray[np.float64]

ROWS, NEIGHBORS = 0, 1
"""Numbers of the sources of what is drawn at random."""

CHUNK = 4096
"""Steps whose rows are read together."""

_STEP, _REMOVALS, _SMALL, _DONE = range(4)
"""Places of the counts: steps, vectors removed, small steps in a row, and whether it is over."""


@dataclass(frozen=True)
class OneClass:
    """A trained machine.

    Attributes
    ----------
    support_vectors : ndarray of shape (s, n_inputs)
    coefficients : ndarray of shape (s,)
    n_steps, n_removals : int
    """

    support_vectors: Array
    coefficients: Array
    n_steps: int
    n_removals: int


@dataclass(frozen=True)
class Descent:
    """How to train.

    Attributes
    ----------
    C, gamma : float
        Weight of the mean loss; kernel parameter.
    budget : int or None
        Most support vectors.
    strategy : int
        What becomes of those beyond; see `dsgkit.solvers.clustering.budget`.
    n_neighbors : int
        What they are projected onto.
    tol : float
        Length of a step in feature space up to which it is small.
    patience : int
        Small steps in a row that end the training; the first step does not count.
    max_iter : int
    seed : int
    """

    C: float
    gamma: float
    budget: int | None
    strategy: int
    n_neighbors: int
    tol: float
    patience: int
    max_iter: int
    seed: int

    def train(self, X: Any) -> OneClass:
        """Return the machine trained on some rows, which are read as they are drawn."""
        n, n_inputs = X.shape
        most = CHUNK if self.budget is None else self.budget + 1
        support = Support.empty(n_inputs, most)
        counts, squared_norm = np.zeros(4, np.int64), np.zeros(1)
        while not counts[_DONE]:
            first = int(counts[_STEP])
            length = min(CHUNK, self.max_iter - first)
            if self.budget is None:
                support = support.with_room_for(length)
            rows = draw_with_replacement(self.seed, ROWS, first, length, 1, n)[:, 0]
            k = self.n_neighbors
            drawn = words(self.seed, first * k, length * k, DRAWS + NEIGHBORS).reshape(length, k)
            points = np.ascontiguousarray(X[rows], np.float64)
            _descend(support, rows, points, drawn, counts, squared_norm, self._compiled())
            report(min(1.0, counts[_STEP] / self._steps(n)))
        size, n_steps = support.size[0], int(counts[_STEP])
        return OneClass(
            support.points[:, :size].T.copy(),
            support.coefficients[:size] / n_steps,
            n_steps,
            int(counts[_REMOVALS]),
        )

    def _compiled(self) -> tuple[float, float, int, int, float, int, int]:
        """Return the settings as compiled code takes them."""
        budget = -1 if self.budget is None else self.budget
        settings = self.C, self.gamma, budget, self.strategy, self.tol, self.patience, self.max_iter
        return settings

    def _steps(self, n: int) -> float:
        return expected_steps(self.C, self.tol, self.patience, self.max_iter)


def expected_steps(C: float, tol: float, patience: int, max_iter: int) -> float:
    """Return about how many steps a training takes.

    A step is at most ``(C + ||w||)/t`` long, and ``||w||`` near 1.
    """
    return min(max_iter, (C + 1) / tol + patience) if tol else max_iter


@fast
def _descend(support, rows, points, drawn, counts, squared_norm, settings):  # type: ignore[no-untyped-def]
    """Do the steps of some drawn rows, until it is over.

    With ``s = (t-1) w_t``, ``s' = t w_(t+1)``: the squared length of a step follows from
    ``||s||^2`` (``squared_norm``), ``||s'||^2`` and ``s.s'``, and these from values of functions.
    """
    C, gamma, budget, strategy, tol, patience, max_iter = settings
    kernel = np.empty(len(support.rows))
    scratch = np.empty(len(support.rows))
    places = np.empty(drawn.shape[1] + 1, np.int64)
    changes = np.empty(drawn.shape[1] + 1)
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
            if budget >= 0 and support.size[0] > budget:
                n = maintenance(support, strategy, gamma, drawn[i], places, changes, scratch)
                along, length = _effect(support, gamma, places[:n], changes[:n], scratch)
                squared_norm[0] += 2 * along + length
                product += along
                for j in range(n):
                    product -= C * changes[j] * kernel[places[j]]
                apply(support, places[:n], changes[:n])
                counts[_REMOVALS] += 1
        counts[_SMALL] = (
            counts[_SMALL] + 1 if _is_small(before, product, squared_norm, t, tol) else 0
        )
        if counts[_SMALL] >= patience or t == max_iter:
            counts[_DONE] = 1
            return


@fast
def _product(support, kernel):  # type: ignore[no-untyped-def]
    """Return the sum of the coefficients times kernel values."""
    total = 0.0
    for j in range(support.size[0]):
        total += support.coefficients[j] * kernel[j]
    return total


@fast
def _effect(support, gamma, places, changes, kernel):  # type: ignore[no-untyped-def]
    """Return the product of a sum of kernels with what is added to it, and the latter's square.

    The sum is that of all support vectors, before the change of some coefficients.
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
    """Tell whether step t > 1 is at most ``tol`` long."""
    if t == 1:
        return False
    squared = squared_norm[0] / t**2 - 2 * product / (t * (t - 1.0)) + before / (t - 1.0) ** 2
    return squared <= tol**2

"""Large-margin one-class support vector machine, by stochastic gradient descent on a budget.

It minimises ``1/2 ||w||^2 + C/n sum_i max(0, 1 - w.phi(x_i))`` with steps ``1/t``:
``w_(t+1) = (t-1)/t w_t + C/t [w_t.phi(x) < 1] phi(x)``. The code keeps ``t w_(t+1)``, which never
decays, so that rows drawn equally often have exactly equal coefficients.

Beyond the budget the vector with the smallest coefficient is removed, of equal ones the first. It
is dropped, or first projected onto the span, in feature space, of its nearest (PNN) or of random
(PRN) other vectors (Wang, Crammer & Vucetic, "Breaking the curse of kernelization", JMLR 13, 2012).
Kernels are Gaussian, so that all vectors have length 1 there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.clustering.domain import Domain, kernel_values, squared_distances
from dsgkit.linalg import Array
from dsgkit.random import DRAWS, draw_with_replacement, words
from dsgkit.system.jit import fast
from dsgkit.system.progress import report

ROWS, NEIGHBORS = 0, 1
"""Numbers of the random sources."""

LARGEST_FELT = 2048.0  # C above which a training takes no more steps
CHUNK_STEPS = 4096
"""Steps per block of rows that are read."""

REMOVAL, NEAREST, RANDOM = 0, 1, 2
"""Treatments of a removed vector: dropped, or projected onto its nearest or random neighbours."""

SINGULAR_DISTANCE = 1e-8
"""A unit vector within this squared distance of the span of others counts as part of the span."""

_STEP, _REMOVALS, _SMALL, _DONE = range(4)
"""Indices of the counts: steps, removed vectors, small steps in a row, and whether it has ended."""


class Support(NamedTuple):
    """Support vectors in the order of their arrival; the first ``size[0]`` places are in use."""

    points: Array  # one per column
    rows: NDArray[np.int64]  # their positions among the training rows
    coefficients: Array
    size: NDArray[np.int64]


def one_class(
    X: Any,
    C: float,
    gamma: float,
    *,
    tol: float,
    patience: int,
    max_iter: int,
    seed: int,
    budget: int | None = None,
    strategy: int = REMOVAL,
    n_neighbors: int = 0,
) -> tuple[Domain, int, int]:
    """Return the domain, the steps and the removals of a training, which reads rows as drawn.

    It ends after ``patience`` steps in a row, the first not counted, that are at most ``tol`` long
    in feature space. The strategy, `REMOVAL`, `NEAREST` or `RANDOM`, is that of removed vectors.
    """
    n, n_inputs = X.shape
    most = n if budget is None else min(budget, n)
    room = min(most, max_iter) + 1  # one more, which is removed
    vectors, coefficients = np.empty((n_inputs, room)), np.empty(room)
    support = Support(vectors, np.empty(room, np.int64), coefficients, np.zeros(1, np.int64))
    counts, squared_norm = np.zeros(4, np.int64), np.zeros(1)
    k = 0 if strategy == REMOVAL else min(n_neighbors, most)
    buffers = np.empty(room), np.empty(k + 1, np.int64), np.empty(k + 1)
    settings = C, gamma, most, strategy, tol, patience, max_iter
    expected = expected_steps(C, tol, patience, max_iter)
    while not counts[_DONE]:
        first = int(counts[_STEP])
        length = min(CHUNK_STEPS, max_iter - first)
        rows = draw_with_replacement(seed, ROWS, first, length, 1, n)[:, 0]
        points = np.ascontiguousarray(X[rows], np.float64)
        drawn = np.empty((length, 0), np.uint64)
        if strategy == RANDOM:
            drawn = words(seed, first * k, length * k, DRAWS + NEIGHBORS).reshape(length, k)
        _descend(support, rows, points, drawn, buffers, counts, squared_norm, settings)
        report(min(1.0, counts[_STEP] / expected))
    size, n_steps = support.size[0], int(counts[_STEP])
    domain = Domain(vectors[:, :size].T.copy(), coefficients[:size] / n_steps, gamma)
    return domain, n_steps, int(counts[_REMOVALS])


def expected_steps(C: float, tol: float, patience: int, max_iter: int) -> float:
    """Return the approximate number of steps.

    A step is at most ``(C + ||w||)/t`` long, and ``||w||`` is near 1. At a row inside the domain
    it is ``||w||/t``: such a step soon comes, whatever C, and with a large C soon all are such.
    """
    if not tol:
        return max_iter
    longest = 1 + (min(C, LARGEST_FELT) if patience > 1 else 0.0)
    return min(max_iter, longest / tol + patience)


def objective(domain: Domain, C: float, X: Any) -> float:
    """Return ``1/2 ||w||^2`` and C times the mean loss at the rows of ``X``."""
    squared_norm = domain.coefficients @ (domain.values(domain.support_vectors) + domain.level)
    return float(squared_norm / 2 + C * np.maximum(0, -domain.values(X)).mean())


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
        small = _is_small(before, product, squared_norm, t, tol)
        counts[_SMALL] = counts[_SMALL] + 1 if small else 0
        if counts[_SMALL] >= patience or t == max_iter:
            counts[_DONE] = 1
            return


@fast
def _is_small(before, product, squared_norm, t, tol):  # type: ignore[no-untyped-def]
    """Return whether step t > 1 is at most ``tol`` long."""
    if t == 1:
        return False
    squared = squared_norm[0] / t**2 - 2 * product / (t * (t - 1.0)) + before / (t - 1.0) ** 2
    return squared <= tol**2


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
def add(support, row, x, coefficient):  # type: ignore[no-untyped-def]
    """Add to the coefficient of a row; return whether it is a new support vector."""
    n = support.size[0]
    for j in range(n):
        if support.rows[j] == row:
            support.coefficients[j] += coefficient
            return False
    support.points[:, n] = x
    support.rows[n], support.coefficients[n] = row, coefficient
    support.size[0] += 1
    return True


@fast
def maintenance(support, strategy, gamma, words, places, changes, scratch):  # type: ignore[no-untyped-def]
    """Plan the removal of one support vector; return how many coefficients change.

    Their positions, first that of the removed vector, are written to ``places``, and their changes
    to ``changes``. ``RANDOM`` draws neighbours by the random words.
    """
    n = support.size[0]
    first = 0
    for j in range(1, n):
        if abs(support.coefficients[j]) < abs(support.coefficients[first]):
            first = j
    places[0], changes[0] = first, -support.coefficients[first]
    if strategy == REMOVAL:
        return 1
    k = min(len(places), n) - 1
    if strategy == NEAREST:
        squared_distances(support.points, n, support.points[:, first], scratch)
        _choose_nearest(scratch, n, first, places[1 : k + 1])
    else:
        _choose_random(words, n, first, places[1 : k + 1])
    projection(support.points, places[: k + 1], gamma, changes[1 : k + 1])
    for i in range(1, k + 1):
        changes[i] *= support.coefficients[first]
    return k + 1


@fast
def apply(support, places, changes):  # type: ignore[no-untyped-def]
    """Change the coefficients as planned, and remove the vector at the first place."""
    for place, change in zip(places, changes):  # noqa: B905  numba knows no strict
        support.coefficients[place] += change
    first, n = places[0], support.size[0]
    for j in range(first, n - 1):
        support.rows[j] = support.rows[j + 1]
        support.coefficients[j] = support.coefficients[j + 1]
    for k in range(len(support.points)):
        coordinate = support.points[k]
        for j in range(first, n - 1):
            coordinate[j] = coordinate[j + 1]
    support.size[0] = n - 1


@fast
def _choose_nearest(squared, n, centre, out):  # type: ignore[no-untyped-def]
    """Write the places of the smallest of ``n`` distances in order, without that of the centre."""
    count = 0
    for j in range(n):
        if j != centre and (count < len(out) or squared[j] < squared[out[-1]]):
            i = min(count, len(out) - 1)
            while i > 0 and squared[j] < squared[out[i - 1]]:
                out[i] = out[i - 1]
                i -= 1
            out[i] = j
            count = min(count + 1, len(out))


@fast
def _choose_random(words, n, centre, out):  # type: ignore[no-untyped-def]
    """Draw distinct places out of ``n`` without the centre, uniformly."""
    taken = np.empty(len(out) + 1, np.int64)
    taken[0] = centre
    for i in range(len(out)):
        left = np.uint64(n - 1 - i)
        place = np.int64(((words[i] >> np.uint64(32)) * left) >> np.uint64(32))
        # the place-th of those that are not taken
        for j in range(i + 1):
            if place < taken[j]:
                break
            place += 1
        out[i] = place
        j = i
        while j >= 0 and taken[j] > place:
            taken[j + 1] = taken[j]
            j -= 1
        taken[j + 1] = place


@fast
def projection(points, places, gamma, out):  # type: ignore[no-untyped-def]
    """Write the coefficients of the projection of the first place's vector onto the others' span.

    A Cholesky factorisation of their kernel matrix gives them; a vector in the span of the previous
    ones, within `SINGULAR_DISTANCE`, gets 0.
    """
    k = len(out)
    factor = np.zeros((k + 1, k))
    pivots = np.zeros(k, np.bool_)
    for i in range(k + 1):
        # the last row belongs to the vector that is projected
        place = places[(i + 1) % (k + 1)]
        for j in range(min(i + 1, k)):
            if j < i and not pivots[j]:
                continue
            rest = _kernel(points, place, places[j + 1], gamma)
            for m in range(j):
                rest -= factor[i, m] * factor[j, m]
            if j < i:
                factor[i, j] = rest / factor[j, j]
            elif rest > SINGULAR_DISTANCE:
                pivots[j] = True
                factor[j, j] = math.sqrt(rest)
    for i in range(k - 1, -1, -1):
        out[i] = 0.0
        if pivots[i]:
            rest = factor[k, i]
            for j in range(i + 1, k):
                rest -= factor[j, i] * out[j]
            out[i] = rest / factor[i, i]


@fast
def _kernel(points, i, j, gamma):  # type: ignore[no-untyped-def]
    """Return the kernel value of two columns."""
    squared = 0.0
    for k in range(len(points)):
        difference = points[k, i] - points[k, j]
        squared += difference * difference
    return math.exp(-gamma * squared)

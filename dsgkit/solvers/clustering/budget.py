"""Support vectors of kernel descent, and maintenance of their budget.

Beyond the budget the vector with the smallest coefficient is removed, of equal ones the first. It
is dropped, or first projected onto the span, in feature space, of its nearest (PNN) or of random
(PRN) other vectors. Kernels are Gaussian, so that all vectors have length 1 there.

References
----------
Wang, Crammer & Vucetic, "Breaking the curse of kernelization: budgeted stochastic gradient descent
for large-scale SVM training", JMLR 13, 2012.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array
from dsgkit.solvers.clustering.kernel_values import squared_distances
from dsgkit.system.jit import fast

REMOVAL, NEAREST, RANDOM = 0, 1, 2
"""Treatments of a removed vector: dropped, or projected onto its nearest or random neighbours."""

SINGULAR_DISTANCE = 1e-8
"""A unit vector within this squared distance of the span of others counts as part of the span."""


class Support(NamedTuple):
    """Support vectors in the order of their arrival; the first ``size[0]`` places are in use.

    Attributes
    ----------
    points : ndarray of shape (n_inputs, capacity)
        The vectors, transposed.
    rows : ndarray of int64, shape (capacity,)
        Their positions among the training rows.
    coefficients : ndarray of shape (capacity,)
    size : ndarray of int64, shape (1,)
    """

    points: Array
    rows: NDArray[np.int64]
    coefficients: Array
    size: NDArray[np.int64]

    @classmethod
    def empty(cls, n_inputs: int, capacity: int) -> Support:
        """Return an empty set with room for ``capacity`` support vectors."""
        points = np.empty((n_inputs, capacity))
        return cls(points, np.empty(capacity, np.int64), np.empty(capacity), np.zeros(1, np.int64))

    def with_room_for(self, n_more: int) -> Support:
        """Return the same support vectors with room for ``n_more``; itself if there is room."""
        n, capacity = self.size[0], len(self.rows)
        if n + n_more <= capacity:
            return self
        larger = Support.empty(len(self.points), max(2 * capacity, n + n_more))
        larger.points[:, :n] = self.points[:, :n]
        larger.rows[:n], larger.coefficients[:n] = self.rows[:n], self.coefficients[:n]
        larger.size[0] = n
        return larger


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

    Parameters
    ----------
    support : Support
    strategy : int
        One of `REMOVAL`, `NEAREST` and `RANDOM`.
    gamma : float
        Kernel parameter.
    words : ndarray of uint64, shape (n_neighbors,)
        Random words, from which `RANDOM` draws neighbours.
    places : ndarray of int64, shape (1 + n_neighbors,)
        Output: positions of the coefficients in ``support``, first that of the removed vector.
    changes : ndarray of shape (1 + n_neighbors,)
        Output: changes of these coefficients.
    scratch : ndarray of shape (capacity,)
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
    """Write the coefficients of the projection of the first vector onto the span of the others.

    Uses a Cholesky factorisation of their kernel matrix; a vector in the span of the previous ones,
    within `SINGULAR_DISTANCE`, gets 0.

    Parameters
    ----------
    points : ndarray of shape (n_inputs, capacity)
    places : ndarray of int64, shape (1 + k,)
        Columns of ``points``.
    gamma : float
    out : ndarray of shape (k,)
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

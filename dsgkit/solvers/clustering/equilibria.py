"""Equilibria of a sum of kernels: where the fixed-point map of mean shift leads.

The map is ``P(x) = sum_i alpha_i k(x_i, x) x_i / sum_i alpha_i k(x_i, x)``; its fixed points are
those at which the gradient of the sum vanishes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import row_blocks
from dsgkit.solvers.clustering import many_columns
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.kernel_values import exponential, squared_distances
from dsgkit.system.jit import fast, fast_parallel, prange, reducing
from dsgkit.system.progress import report

TOLERANCE = 1e-4
"""Length of a step that ends a trajectory, in kernel widths."""

REFINED_TOLERANCE = 1e-8
"""The same for the equilibria, which are few and refined after all trajectories have ended."""

MAX_STEPS = 2000
"""Steps of a trajectory that does not converge."""

CELL_WIDTH = 0.01
"""Side of the cells within which ends of trajectories are the same, in kernel widths."""

MERGE_DISTANCE = 0.05
"""Distance within which ends in different cells are the same, in kernel widths."""

BLOCK_TRAJECTORIES = 2**14
"""Trajectories that are followed together."""


class Equilibria(NamedTuple):
    """Where trajectories lead.

    Attributes
    ----------
    points : ndarray of shape (e, n_inputs)
        The distinct equilibria, in the order of the first trajectory that leads to each.
    which : ndarray of int64, shape (n,)
        Which of them each trajectory leads to.
    n_unconverged : int
        Trajectories that ended before they converged: after `MAX_STEPS` steps, or where the sum
        of kernels is not positive, so that there is no next point.
    """

    points: Array
    which: NDArray[np.int64]
    n_unconverged: int


def find_equilibria(domain: Domain, X: Any, rows: NDArray[np.int64]) -> Equilibria:
    """Return the equilibria that the trajectories from some rows lead to.

    Beyond the result, memory is taken for a block of rows at a time.

    Parameters
    ----------
    domain : Domain
    X : rows of shape (n, n_inputs)
    rows : ndarray of int64, shape (n_starts,)
        Numbers of the rows to start from.
    """
    found: list[Array] = []
    which = np.empty(len(rows), np.int64)
    n_found = n_unconverged = 0
    for block in row_blocks(len(rows), BLOCK_TRAJECTORIES):
        starts = np.asarray(X[rows[block]], np.float64)
        ends, n_steps = trajectories(domain, starts, TOLERANCE)
        points, of_ends = _distinct(domain, ends)
        which[block] = n_found + of_ends
        found.append(points)
        n_found += len(points)
        n_unconverged += int(np.count_nonzero(n_steps < 0))
        report(block.stop / len(rows))
    # where the map hardly moves, trajectories to one equilibrium may have ended apart
    points, same = _distinct(domain, np.concatenate(found))
    points, refined = _distinct(domain, trajectories(domain, points, REFINED_TOLERANCE)[0])
    return Equilibria(points, refined[same[which]], n_unconverged)


def _distinct(domain: Domain, ends: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the distinct ones of some ends, and which of these each is."""
    number = merge(ends, CELL_WIDTH * domain.width, MERGE_DISTANCE * domain.width)
    # of the ends that are the same, the highest is the nearest to the equilibrium
    order = np.lexsort((-domain.values(ends), number))
    first = np.searchsorted(number[order], np.arange(number.max() + 1))
    return ends[order[first]], number


def trajectories(
    domain: Domain, starts: Array, tolerance: float
) -> tuple[Array, NDArray[np.int64]]:
    """Follow the map from some points until it moves them less than a tolerance.

    Parameters
    ----------
    domain : Domain
    starts : ndarray of shape (n, n_inputs)
    tolerance : float
        In kernel widths.

    Returns
    -------
    ends : ndarray of shape (n, n_inputs)
    n_steps : ndarray of int64, shape (n,)
        Negative where a trajectory did not converge.
    """
    ends = np.array(starts, np.float64, order="C")
    n_steps = np.empty(len(ends), np.int64)
    tol = tolerance * domain.width
    # products round more than the short steps of `REFINED_TOLERANCE` allow
    if tolerance > REFINED_TOLERANCE and many_columns.by_products(domain):
        many_columns.follow(domain, ends, tol, MAX_STEPS, n_steps)
    else:
        columns = np.ascontiguousarray(domain.support_vectors.T)
        _follow(columns, domain.coefficients, domain.gamma, tol, ends, n_steps)
    return ends, n_steps


@fast_parallel
def _follow(columns, coefficients, gamma, tol, points, n_steps):  # type: ignore[no-untyped-def]
    """Move every point along its trajectory to the end."""
    for i in prange(len(points)):
        weights = np.empty(len(coefficients))
        moved = np.empty(points.shape[1])
        n_steps[i] = -MAX_STEPS
        for step in range(MAX_STEPS):
            if not _map(columns, coefficients, gamma, points[i], weights, moved):
                n_steps[i] = -step - 1
                break
            squared = 0.0
            for k in range(len(moved)):
                squared += (moved[k] - points[i, k]) ** 2
                points[i, k] = moved[k]
            if squared <= tol * tol:
                n_steps[i] = step + 1
                break


@reducing
def _map(columns, coefficients, gamma, x, weights, moved):  # type: ignore[no-untyped-def]
    """Write the image of a point; return whether there is one.

    Kernel values are relative to the largest: far from all vectors, they would all be 0.
    """
    n = len(coefficients)
    squared_distances(columns, n, x, weights)
    smallest = weights[0]
    for j in range(1, n):
        smallest = min(smallest, weights[j])
    total = 0.0
    for j in range(n):
        weights[j] = coefficients[j] * exponential(gamma * (smallest - weights[j]))
        total += weights[j]
    if not total > 0.0:
        return False
    for k in range(len(x)):
        coordinate, weighted = columns[k], 0.0
        for j in range(n):
            weighted += weights[j] * coordinate[j]
        moved[k] = weighted / total
    return True


def merge(points: Array, cell: float, distance: float) -> NDArray[np.int64]:
    """Return numbers of points, the same for those of one cell and of cells near each other.

    Parameters
    ----------
    points : ndarray of shape (n, n_inputs)
    cell : float
        Side of the cells, which are cubes of a grid.
    distance : float
        Cells are joined if the first points in them are at most so far apart; and so are those
        that others join.

    Returns
    -------
    ndarray of int64, shape (n,)
        Numbers from 0 on, in the order of the first point of each.
    """
    cells = np.rint(points / cell) + 0.0  # no negative zeros
    _, first, of_point = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    pairs = near_pairs(points[first], distance)
    number = components(len(first), pairs)[of_point.reshape(-1)]
    return by_first(number)


def by_first(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Renumber from 0 on in the order of first appearance."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def components(n: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the connected component of each of ``n`` nodes, the pairs being edges."""
    edges = np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])
    return connected_components(coo_array(edges, shape=(n, n)), directed=False)[1].astype(np.int64)


def near_pairs(points: Array, distance: float) -> NDArray[np.int64]:
    """Return pairs of points at most so far apart that join all that these would join.

    Shape (p, 2), p below n: a pair that is already joined by others is left out.
    """
    along = _heights(points)
    order = np.argsort(along, kind="stable")
    # heights are rounded
    gap = distance + 2.0**-40 * float(np.abs(along).max(initial=0))
    return order[_near_pairs(points[order], along[order], gap, distance)]


def _heights(points: Array) -> Array:
    """Return how far points are along a direction: two are at least as far apart as along it.

    It is a random one that leans to the wide columns: in a single column, very many points may be
    equal.
    """
    weights = np.random.default_rng(0).normal(size=points.shape[1]) * np.ptp(points, axis=0)
    length = float(np.abs(weights).max(initial=0)) or 1.0
    weights /= length
    weights /= float(np.linalg.norm(weights)) or 1.0
    return np.asarray((points - points[:1]) @ weights)


@fast
def _near_pairs(points, along, gap, distance):  # type: ignore[no-untyped-def]
    """Return joining pairs of points that are sorted along a direction.

    Those that are more than ``gap`` apart along it are more than ``distance`` apart.
    """
    n = len(points)
    parent = np.arange(n)
    pairs = np.empty((max(n - 1, 0), 2), np.int64)
    found = 0
    for i in range(n):
        for j in range(i + 1, n):
            if along[j] - along[i] > gap:
                break
            a, b = _root(parent, i), _root(parent, j)
            if a == b:
                continue
            squared = 0.0
            for k in range(points.shape[1]):
                squared += (points[i, k] - points[j, k]) ** 2
            if squared <= distance * distance:
                parent[b] = a
                pairs[found, 0], pairs[found, 1] = i, j
                found += 1
    return pairs[:found]


@fast
def _root(parent, i):  # type: ignore[no-untyped-def]
    """Return the root of a tree of joined points, and shorten the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i

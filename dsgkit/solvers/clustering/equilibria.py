"""Equilibria of a sum of kernels: limits of the fixed-point map of mean shift.

The map is ``P(x) = sum_i alpha_i k(x_i, x) x_i / sum_i alpha_i k(x_i, x)``; its fixed points are
the points at which the gradient of the sum vanishes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dsgkit.linalg import Array, row_blocks
from dsgkit.solvers.clustering import many_columns
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.kernel_values import exponential, squared_distances
from dsgkit.system.jit import fast, fast_parallel, prange, reducing
from dsgkit.system.progress import report

TOLERANCE = 1e-4
"""Step length at which a trajectory ends, in kernel widths."""

REFINED_TOLERANCE = 1e-8
"""Same, for refining the few equilibria after the trajectories have ended."""

MAX_STEPS = 2000
"""Most steps of a trajectory."""

CELL_WIDTH = 0.01
"""Side of the grid cells whose ends of trajectories are merged, in kernel widths."""

MERGE_DISTANCE = 0.05
"""Distance within which ends in different cells are merged, in kernel widths."""

BLOCK_TRAJECTORIES = 2**14
"""Trajectories per block."""


class Equilibria(NamedTuple):
    """Equilibria that trajectories lead to.

    Attributes
    ----------
    points : ndarray of shape (e, n_inputs)
        Distinct equilibria, in the order of the first trajectory that leads to each.
    which : ndarray of int64, shape (n,)
        Position in ``points`` of the equilibrium of each trajectory.
    n_unconverged : int
        Trajectories that did not converge: they ended after `MAX_STEPS` steps, or where the sum of
        kernels is not positive, so that there is no next point.
    """

    points: Array
    which: NDArray[np.int64]
    n_unconverged: int


def find_equilibria(domain: Domain, X: Any, rows: NDArray[np.int64]) -> Equilibria:
    """Return the equilibria that the trajectories from some rows lead to.

    Rows are processed in blocks to save memory.

    Parameters
    ----------
    domain : Domain
    X : rows of shape (n, n_inputs)
    rows : ndarray of int64, shape (n_starts,)
        Positions of the rows to start from.
    """
    equilibria: list[Array] = []
    which = np.empty(len(rows), np.int64)
    n_found = n_unconverged = 0
    for block in row_blocks(len(rows), BLOCK_TRAJECTORIES):
        starts = np.asarray(X[rows[block]], np.float64)
        ends, n_steps = trajectories(domain, starts, TOLERANCE)
        points, of_ends = _distinct(domain, ends)
        which[block] = n_found + of_ends
        equilibria.append(points)
        n_found += len(points)
        n_unconverged += int(np.count_nonzero(n_steps < 0))
        report(block.stop / len(rows))
    # where steps are short, trajectories to one equilibrium may have ended at different points
    points, same = _distinct(domain, np.concatenate(equilibria))
    points, refined = _distinct(domain, trajectories(domain, points, REFINED_TOLERANCE)[0])
    return Equilibria(points, refined[same[which]], n_unconverged)


def _distinct(domain: Domain, ends: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the merged ends, and for each end the position of its merged one."""
    number = merge(ends, CELL_WIDTH * domain.width, MERGE_DISTANCE * domain.width)
    # of merged ends, the one with the largest value is nearest to the equilibrium
    order = np.lexsort((-domain.values(ends), number))
    first = np.searchsorted(number[order], np.arange(number.max() + 1))
    return ends[order[first]], number


def trajectories(
    domain: Domain, starts: Array, tolerance: float
) -> tuple[Array, NDArray[np.int64]]:
    """Iterate the map from some points until it moves them less than a tolerance.

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
    """Write the image of a point; return whether it exists.

    Kernel values are relative to the largest one: far from all vectors, they would all underflow.
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
    """Return cluster numbers, the same for points in one cell and in cells near each other.

    Parameters
    ----------
    points : ndarray of shape (n, n_inputs)
    cell : float
        Side of the cells, which are cubes of a grid.
    distance : float
        Cells are joined if the distance of their first points is at most this; clusters are the
        connected components.

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
    """Return a spanning forest of the graph of points within a distance, shape (p, 2), p < n.

    Points are sorted along one direction, so that only neighbours along it are compared.
    """
    along = _projections(points)
    order = np.argsort(along, kind="stable")
    # a margin for the rounding of projections
    gap = distance + 2.0**-40 * float(np.abs(along).max(initial=0))
    return order[_near_pairs(points[order], along[order], gap, distance)]


def _projections(points: Array) -> Array:
    """Return the projections of points onto a random direction; they do not increase distances.

    The direction is weighted by the columns' ranges. A single column would not do: many points may
    have the same value.
    """
    weights = np.random.default_rng(0).normal(size=points.shape[1]) * np.ptp(points, axis=0)
    length = float(np.abs(weights).max(initial=0)) or 1.0
    weights /= length
    weights /= float(np.linalg.norm(weights)) or 1.0
    return np.asarray((points - points[:1]) @ weights)


@fast
def _near_pairs(points, along, gap, distance):  # type: ignore[no-untyped-def]
    """Return the spanning forest of points that are sorted along a direction.

    Points more than ``gap`` apart along it are more than ``distance`` apart.
    """
    n = len(points)
    parent = np.arange(n)
    pairs = np.empty((max(n - 1, 0), 2), np.int64)
    count = 0
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
                pairs[count, 0], pairs[count, 1] = i, j
                count += 1
    return pairs[:count]


@fast
def _root(parent, i):  # type: ignore[no-untyped-def]
    """Return the root of a point's tree, with path compression."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i

"""Geometry of a domain: equilibria inside it, segments that join them, and nearest points.

The fixed-point map of mean shift is ``P(x) = sum_i a_i k(x_i, x) x_i / sum_i a_i k(x_i, x)``; its
fixed points, the equilibria, are the points at which the gradient of the sum vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dsgkit.clustering.domain import Domain, exponential, squared_distances
from dsgkit.linalg import Array, row_blocks
from dsgkit.system.jit import fast_parallel, prange, reducing
from dsgkit.system.progress import report

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

SURFACE = 1e-7
"""Relative tolerance of the level, for the rounding of points on the boundary."""

TOLERANCE, REFINED_TOLERANCE = 1e-4, 1e-8
"""Step lengths at which trajectories end, and when the few equilibria are refined, in widths."""

MAX_STEPS = 2000
BLOCK_TRAJECTORIES = 2**14

CELL_WIDTH, MERGE_DISTANCE = 0.01, 0.05
"""In kernel widths: ends of trajectories in one cell of a grid are merged, and near cells."""

PRODUCT_INPUTS, PRODUCT_ENTRIES = 32, 2**20
"""Columns from which trajectories and nearest points are found by matrix products, which takes half
or a tenth of the time, and entries of these."""

PRODUCT_NORM, PRODUCT_ERROR = 2.0**26, 2.0**-40
"""Largest squared norm times gamma for which their exponents are accurate, and bound of the error
of a squared distance, relative to those of the norms."""

MAX_EXPONENTS = 2**25
"""Most exponents (256 MiB) at points for the test of segments by their ends, which in many columns
is 10 times faster."""

N_NEIGHBORS, BLOCK_PAIRS = 10, 2**18
"""Neighbours of every point that are tested before all other pairs, and pairs per block."""


# Equilibria


def find_equilibria(domain: Domain, starts: Array) -> tuple[Array, Labels, int]:
    """Return the equilibria that trajectories lead to, that of each start, and the number lost.

    Lost are trajectories that ended after `MAX_STEPS` steps, or where the sum of kernels is not
    positive, so that there is no next point. Equilibria are in the order of their first starts.
    """
    ends, converged = np.empty_like(starts), np.empty(len(starts), np.bool_)
    for block in row_blocks(len(starts), BLOCK_TRAJECTORIES):
        ends[block], converged[block] = trajectories(domain, starts[block], TOLERANCE)
        report(block.stop / len(starts))
    points, which = _distinct(domain, ends)
    # where steps are short, trajectories to one equilibrium may have ended at different points
    points, same = _distinct(domain, points)
    points, refined = _distinct(domain, trajectories(domain, points, REFINED_TOLERANCE)[0])
    return points, refined[same[which]], int(np.count_nonzero(~converged))


def _distinct(domain: Domain, ends: Array) -> tuple[Array, Labels]:
    """Return the merged ends, and for each end the position of its merged one."""
    number = merge(ends, CELL_WIDTH * domain.width, MERGE_DISTANCE * domain.width)
    # of merged ends, the one with the largest value is nearest to the equilibrium
    order = np.lexsort((-domain.values(ends), number))
    first = np.searchsorted(number[order], np.arange(number.max() + 1))
    return ends[order[first]], number


def merge(points: Array, cell: float, distance: float) -> Labels:
    """Return cluster numbers, the same for points in one cell and in cells near each other.

    Cells are cubes of a grid; they are joined if their first points are within ``distance``.
    """
    cells = np.rint(points / cell) + 0.0  # no negative zeros
    # before pairs are counted: of n equal points there would be n^2
    _, first, of_point = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    pairs = cKDTree(points[first]).query_pairs(distance, output_type="ndarray")
    return by_first(components(len(first), pairs)[of_point.reshape(-1)])


def trajectories(domain: Domain, starts: Array, tolerance: float) -> tuple[Array, Mask]:
    """Return where the map moves points less than a tolerance, in widths, and whether it does."""
    tol = tolerance * domain.width
    # products round more than the short steps of `REFINED_TOLERANCE` allow
    if starts.shape[1] >= PRODUCT_INPUTS and tolerance > REFINED_TOLERANCE:
        centre = domain.support_vectors.mean(axis=0)
        vectors = domain.support_vectors - centre
        if domain.gamma * np.einsum("ij,ij->i", vectors, vectors).max() <= PRODUCT_NORM:
            ends, converged = _follow_by_products(domain, vectors, starts - centre, tol)
            return ends + centre, converged
    ends, converged = np.array(starts, np.float64, order="C"), np.empty(len(starts), np.bool_)
    columns = np.ascontiguousarray(domain.support_vectors.T)
    _follow(columns, domain.coefficients, domain.gamma, tol, ends, converged)
    return ends, converged


def _follow_by_products(
    domain: Domain, vectors: Array, ends: Array, tol: float
) -> tuple[Array, Mask]:
    """Move points along their trajectories by products with the centred support vectors."""
    offsets = domain.gamma * np.einsum("ij,ij->i", vectors, vectors)
    weighted = domain.coefficients[:, None] * vectors
    converged = np.zeros(len(ends), np.bool_)
    for block in row_blocks(len(ends), max(1, PRODUCT_ENTRIES // len(vectors))):
        left = np.arange(block.start, block.stop)
        for _ in range(MAX_STEPS):
            kernel = (2 * domain.gamma * ends[left]) @ vectors.T
            kernel -= offsets
            kernel -= kernel.max(axis=1, keepdims=True)  # far from all, they would underflow
            np.exp(kernel, out=kernel)
            total = kernel @ domain.coefficients
            exists = total > 0
            left = left[exists]
            moved = (kernel @ weighted)[exists] / total[exists, None]
            step = moved - ends[left]
            ends[left] = moved
            done = np.einsum("ij,ij->i", step, step) <= tol**2
            converged[left[done]] = True
            left = left[~done]
            if not len(left):
                break
    return ends, converged


@fast_parallel
def _follow(columns, coefficients, gamma, tol, points, converged):  # type: ignore[no-untyped-def]
    """Move every point along its trajectory to the end."""
    for i in prange(len(points)):
        weights = np.empty(len(coefficients))
        moved = np.empty(points.shape[1])
        converged[i] = False
        for _ in range(MAX_STEPS):
            if not _map(columns, coefficients, gamma, points[i], weights, moved):
                break
            squared = 0.0
            for k in range(len(moved)):
                squared += (moved[k] - points[i, k]) ** 2
                points[i, k] = moved[k]
            if squared <= tol * tol:
                converged[i] = True
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


# Segments


def connected(
    domain: Domain, points: Array, n_segment: int, most_exponents: int = MAX_EXPONENTS
) -> Labels:
    """Return the cluster of each point, from 0 on in the order of their first points.

    Two points are joined if f >= 0 at ``n_segment`` points, evenly spaced, of the segment between
    them, with its ends; clusters are the connected components. Only pairs that are not connected
    yet are tested, near ones first, which gives the same components.
    """
    labels = np.arange(len(points))
    inside = np.flatnonzero(domain.values(points) >= -SURFACE * domain.level)
    points, n = points[inside], len(inside)
    if n < 2:
        return labels
    # a sum is only known to reach the level before its end if no term is negative
    by_ends = n * len(domain.coefficients) <= most_exponents and domain.coefficients.min() >= 0
    if by_ends:
        exponents = domain.gamma * cdist(points, domain.support_vectors, "sqeuclidean")
    # a segment that leaves the domain mostly does so in the middle
    shares = np.linspace(0, 1, n_segment)
    shares = shares[np.argsort(np.abs(shares - 0.5), kind="stable")]
    first_of = np.arange(n)  # the first point of each point's component
    for pairs in _candidates(points):
        pairs = pairs[first_of[pairs[:, 0]] != first_of[pairs[:, 1]]]
        if by_ends:
            settings = domain.coefficients, domain.gamma, domain.level * (1 - SURFACE)
            edges = points, np.ascontiguousarray(pairs)
            joined = np.asarray(_joined(exponents, *settings, *edges, shares))
        else:
            joined = _joined_by_values(domain, points, pairs, shares)
        known = np.column_stack([first_of, np.arange(n)])
        number = components(n, np.concatenate([known, pairs[joined]]))
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        first_of = first[inverse]
    labels[inside] = inside[first_of]
    return by_first(labels)


def _candidates(points: Array) -> Iterator[NDArray[np.int64]]:
    """Yield all pairs in blocks; those of near points come first, and once more later."""
    n = len(points)
    k = min(N_NEIGHBORS + 1, n)
    neighbors = cKDTree(points).query(points, k)[1].reshape(n, k)[:, 1:]
    for column in neighbors.T:  # the nearest of each, then the next
        yield np.column_stack([np.arange(n), column])
    rows = max(1, BLOCK_PAIRS // n)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        first, second = np.triu_indices(stop - start, 1, n - start)
        yield np.column_stack([first + start, second + start])
        report(stop / n)


def _joined_by_values(domain: Domain, points: Array, pairs: Labels, shares: Array) -> Mask:
    """Return a mask of the pairs of points whose whole segment is in the domain."""
    joined = np.full(len(pairs), True)
    for block in row_blocks(len(pairs), BLOCK_TRAJECTORIES):
        left = np.arange(block.start, block.stop)
        for share in shares:
            a, b = points[pairs[left, 0]], points[pairs[left, 1]]
            inside = domain.values(a + share * (b - a)) >= -SURFACE * domain.level
            joined[left[~inside]] = False
            left = left[inside]
    return joined


@fast_parallel
def _joined(exponents, coefficients, gamma, least, points, pairs, shares):  # type: ignore[no-untyped-def]
    """Return the same from the exponents ``e_i(x) = gamma ||x_i - x||^2`` at the points.

    On a segment from a to b they are, whatever the number of columns,
    ``(1 - t) e_i(a) + t e_i(b) - t (1 - t) gamma ||a - b||^2``. Coefficients must not be negative.
    """
    result = np.empty(len(pairs), np.bool_)
    for p in prange(len(pairs)):
        a, b = pairs[p]
        squared = 0.0
        for k in range(points.shape[1]):
            squared += (points[a, k] - points[b, k]) ** 2
        result[p] = True
        for share in shares:
            less = share * (1 - share) * gamma * squared
            if not _reaches(exponents[a], exponents[b], share, less, coefficients, least):
                result[p] = False
                break
    return result


@reducing
def _reaches(first, second, share, less, coefficients, least):  # type: ignore[no-untyped-def]
    """Return whether the sum of kernels is at least ``least`` at a position on a segment."""
    total = 0.0
    for start in range(0, len(first), 256):  # slices are vectorised; most sums are reached early
        a, b = first[start : start + 256], second[start : start + 256]
        weights = coefficients[start : start + 256]
        for i in range(len(a)):
            exponent = (1 - share) * a[i] + share * b[i] - less
            total += weights[i] * exponential(-max(exponent, 0.0))
        if total >= least:
            return True
    return False


def components(n: int, pairs: Labels) -> Labels:
    """Return the connected component of each of ``n`` nodes, the pairs being edges."""
    edges = np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])
    return connected_components(coo_array(edges, shape=(n, n)), directed=False)[1].astype(np.int64)


def by_first(numbers: NDArray[np.integer]) -> Labels:
    """Renumber from 0 on in the order of first appearance."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


# Nearest points


def labels_of_nearest(tree: cKDTree, labels: Labels, X: Any, rows: Labels) -> Labels:
    """Return for some rows of ``X`` the label of the nearest point of a tree."""
    found = np.full(len(rows), labels[0])
    if (labels != labels[0]).any():
        for block in row_blocks(len(rows), BLOCK_TRAJECTORIES):
            points = np.asarray(X[rows[block]], np.float64)
            found[block] = labels[nearest(tree, points)]
            report(block.stop / len(rows))
    return found


def nearest(tree: cKDTree, X: Array) -> Labels:
    """Return the position of the point nearest to each row, of equally near ones the first.

    The tree returns any of them, and rows of whole numbers are often equally far from several.
    """
    if X.shape[1] >= PRODUCT_INPUTS:
        return _nearest_by_products(np.asarray(tree.data), X)
    distances, places = tree.query(X, 2)
    found = places[:, 0]
    tied = np.flatnonzero(distances[:, 1] <= distances[:, 0] * (1 + 1e-12))
    if len(tied):
        radii = distances[tied, 0] * (1 + 1e-12)
        near = tree.query_ball_point(X[tied], radii, return_sorted=True)
        for row, candidates in zip(tied, near, strict=True):
            squares = ((tree.data[candidates] - X[row]) ** 2).sum(axis=1)
            found[row] = candidates[squares.argmin()]
    return np.asarray(found, np.int64)


def _nearest_by_products(points: Array, X: Array) -> Labels:
    """Return what `nearest` does, for rows of many columns, where a tree helps little."""
    centre, found = points.mean(axis=0), np.empty(len(X), np.int64)
    centred = points - centre
    for block in row_blocks(len(X), max(1, PRODUCT_ENTRIES // len(points))):
        rows = X[block] - centre
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.einsum("ij,ij->i", centred, centred)
            squares = norms - 2 * rows @ centred.T  # less the norm of the row
            error = PRODUCT_ERROR * (norms.max() + np.einsum("ij,ij->i", rows, rows))
            near = squares <= (squares.min(axis=1) + error)[:, None]
        found[block] = squares.argmin(axis=1)
        unclear = block.start + np.flatnonzero(near.sum(axis=1) != 1)
        found[unclear] = cdist(X[unclear], points, "sqeuclidean").argmin(axis=1)
    return found

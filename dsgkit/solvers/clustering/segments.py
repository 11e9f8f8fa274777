"""Clusters as connected components of points that are joined by segments within a domain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dsgkit.linalg import Array
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.ends import EndExponents
from dsgkit.solvers.clustering.equilibria import by_first, components
from dsgkit.solvers.clustering.kernel_values import kernel_values
from dsgkit.system.jit import fast_parallel, prange, reducing
from dsgkit.system.progress import report

Pairs = NDArray[np.int64]

N_NEIGHBORS = 10
"""Neighbours of every point that are tested before all other pairs."""

BLOCK_PAIRS = 2**18
"""Pairs per block; components are computed again after each block."""

BOUNDARY_TOLERANCE = 1e-7
"""Relative tolerance of the level, for the rounding of points on the boundary."""


def connected(
    domain: Domain, points: Array, n_segment: int, *, by_ends: bool = False
) -> NDArray[np.int64]:
    """Return the cluster of each point, from 0 on in the order of their first points.

    Two points are joined if f >= 0 at ``n_segment`` points, evenly spaced, of the segment between
    them, with its ends; clusters are the connected components. Only pairs that are not connected
    yet are tested, near ones first, which gives the same components.

    Parameters
    ----------
    domain : Domain
    points : ndarray of shape (n, n_inputs)
    n_segment : int
    by_ends : bool
        Whether segments are tested by `EndExponents`, which is faster for many points and support
        vectors but needs memory.
    """
    labels = np.arange(len(points))
    inside = np.flatnonzero(domain.values(points) >= -BOUNDARY_TOLERANCE * domain.level)
    labels[inside] = inside[_components_inside(domain, points[inside], n_segment, by_ends)]
    return by_first(labels)


def _components_inside(
    domain: Domain, points: Array, n_segment: int, by_ends: bool
) -> NDArray[np.int64]:
    """Return the component of each point of the domain, as the position of its first point."""
    n = len(points)
    joined = np.empty((0, 2), np.int64)
    labels = np.arange(n)
    if n < 2:
        return labels
    shares = segment_shares(n_segment)
    ends = EndExponents(domain, points) if by_ends else None
    for pairs in _candidates(points):
        open_pairs = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]
        if not len(open_pairs):
            continue
        if ends is None:
            is_joined = joined_pairs(domain, points, open_pairs, shares)
        else:
            least = domain.level * (1 - BOUNDARY_TOLERANCE)
            is_joined = ends.joined(open_pairs, shares, least)
        new = open_pairs[is_joined]
        if len(new):
            joined = np.concatenate([joined, new])
            labels = components(n, joined)
            joined = _spanning(labels)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def _spanning(labels: NDArray[np.int64]) -> Pairs:
    """Return pairs that connect each component: each of its points with the first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.column_stack([first[inverse], np.arange(len(labels))])


def _candidates(points: Array) -> Iterator[Pairs]:
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


def segment_shares(n_segment: int) -> Array:
    """Return evenly spaced positions on a segment, from 0 to 1, those in the middle first.

    A segment that leaves the domain mostly does so in the middle.
    """
    shares = np.linspace(0, 1, n_segment)
    return shares[np.argsort(np.abs(shares - 0.5), kind="stable")]


def joined_pairs(domain: Domain, points: Array, pairs: Pairs, shares: Array) -> NDArray[np.bool_]:
    """Return a mask of the pairs of points that are joined by a segment within the domain.

    Parameters
    ----------
    domain : Domain
    points : ndarray of shape (n, n_inputs)
    pairs : ndarray of int64, shape (p, 2)
    shares : ndarray of shape (m,)
        Positions on the segment, from 0 to 1, at which the domain is tested.
    """
    columns = np.ascontiguousarray(domain.support_vectors.T)
    least = domain.level * (1 - BOUNDARY_TOLERANCE)
    return _joined(columns, domain.coefficients, domain.gamma, least, points, pairs, shares)


@fast_parallel
def _joined(columns, coefficients, gamma, least, points, pairs, shares):  # type: ignore[no-untyped-def]
    """Return for every pair whether the sum of kernels is large enough along its segment."""
    result = np.empty(len(pairs), np.bool_)
    for p in prange(len(pairs)):
        a, b = points[pairs[p, 0]], points[pairs[p, 1]]
        kernel = np.empty(columns.shape[1])
        x = np.empty(len(a))
        result[p] = True
        for share in shares:
            for k in range(len(x)):
                x[k] = a[k] + share * (b[k] - a[k])
            if _sum(columns, coefficients, gamma, x, kernel) < least:
                result[p] = False
                break
    return result


@reducing
def _sum(columns, coefficients, gamma, x, kernel):  # type: ignore[no-untyped-def]
    """Return the sum of kernels at a point."""
    n = len(coefficients)
    kernel_values(columns, n, x, gamma, kernel)
    total = 0.0
    for j in range(n):
        total += coefficients[j] * kernel[j]
    return total

"""Segments that cannot be within a domain, found without exponentials.

A sum of kernels reaches its level at x only if one of its exponents ``gamma ||x_i - x||^2`` is at
most ``log(sum_i alpha_i/level)``. On the segment from a to b exponents follow from those at its
ends: ``(1 - t) e_i(a) + t e_i(b) - t (1 - t) gamma ||a - b||^2``, whatever the number of columns.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dsgkit._jit import fast, fast_parallel, prange
from dsgkit.solvers.clustering.domain import Domain

Array = NDArray[np.float64]

_ROUNDING = 1e-9
"""Of an exponent, relative to the terms that it is the difference of."""

_CHUNK = 256
"""Support vectors after which it is seen whether one is near."""


class Screen:
    """Tells of many pairs of points which may be joined by a segment within a domain.

    Parameters
    ----------
    domain : Domain
        With s support vectors of positive coefficients.
    points : ndarray of shape (n, n_inputs)
        8 n s bytes are kept of them.
    """

    def __init__(self, domain: Domain, points: Array) -> None:
        self._points = points
        self._gamma = domain.gamma
        self._exponents = domain.gamma * cdist(points, domain.support_vectors, "sqeuclidean")
        self._most = math.log(domain.coefficients.sum() / domain.level)

    def may_join(self, pairs: NDArray[np.int64], shares: Array) -> NDArray[np.bool_]:
        """Return a mask of pairs, False only where the segment leaves the domain.

        Parameters
        ----------
        pairs : ndarray of int64, shape (p, 2)
        shares : ndarray of shape (m,)
            Where on the segment, from 0 to 1, the domain is looked at.
        """
        return _may_join(self._exponents, self._points, self._gamma, self._most, pairs, shares)


@fast_parallel
def _may_join(exponents, points, gamma, most, pairs, shares):  # type: ignore[no-untyped-def]
    """Tell of every pair whether some support vector is near at all points of its segment."""
    result = np.empty(len(pairs), np.bool_)
    for p in prange(len(pairs)):
        a, b = pairs[p]
        squared = 0.0
        for column in range(points.shape[1]):
            squared += (points[a, column] - points[b, column]) ** 2
        result[p] = True
        for share in shares:
            less = share * (1 - share) * gamma * squared
            limit = most + less + _ROUNDING * (1 + most + less)
            if not _any_below(exponents[a], exponents[b], share, limit):
                result[p] = False
                break
    return result


@fast
def _any_below(first, second, share, limit):  # type: ignore[no-untyped-def]
    """Tell whether a mean of two exponents, weighted by a share, is at most a limit."""
    rest = 1 - share
    for start in range(0, len(first), _CHUNK):
        # slices, whose places are known not to be negative, are gone through in large registers
        chunk, other = first[start : start + _CHUNK], second[start : start + _CHUNK]
        count = 0
        for i in range(len(chunk)):
            if rest * chunk[i] + share * other[i] <= limit:
                count += 1
        if count > 0:
            return True
    return False

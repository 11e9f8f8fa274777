"""Test of segments within a domain from the kernel's exponents at their ends.

On the segment from a to b, the exponents ``e_i(x) = gamma ||x_i - x||^2`` follow from those at its
ends: ``(1 - t) e_i(a) + t e_i(b) - t (1 - t) gamma ||a - b||^2``, whatever the number of columns.
The sum of kernels reaches its level only if one of them is at most ``log(sum_i alpha_i/level)``.
This rejects most segments between far points without computing an exponential.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dsgkit.linalg import Array
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.kernel_values import exponential
from dsgkit.system.jit import fast, fast_parallel, prange, reducing

_EXPONENT_ERROR = 1e-9
"""Rounding error of an exponent, relative to the terms of its difference."""

_CHUNK_VECTORS = 256
"""Support vectors between two checks for an early exit."""


class EndExponents:
    """Exponents at many points, for the segments between them.

    Parameters
    ----------
    domain : Domain
        With s support vectors of positive coefficients.
    points : ndarray of shape (n, n_inputs)
        Their exponents take 8 n s bytes.
    """

    def __init__(self, domain: Domain, points: Array) -> None:
        self._domain = domain
        self._points = points
        self._exponents = cdist(points, domain.support_vectors, "sqeuclidean")
        self._exponents *= domain.gamma

    def joined(self, pairs: NDArray[np.int64], shares: Array, least: float) -> NDArray[np.bool_]:
        """Return a mask of pairs, True where the sum of kernels is large enough on the segment.

        Parameters
        ----------
        pairs : ndarray of int64, shape (p, 2)
        shares : ndarray of shape (m,)
            Positions on the segment, from 0 to 1, at which the domain is tested.
        least : float
            Least sum of kernels.
        """
        coefficients, gamma = self._domain.coefficients, self._domain.gamma
        most = math.log(coefficients.sum() / least)
        settings = coefficients, gamma, least, most
        return _joined(self._exponents, self._points, *settings, pairs, shares)


@fast_parallel
def _joined(exponents, points, coefficients, gamma, least, most, pairs, shares):  # type: ignore[no-untyped-def]
    """Return for every pair whether the sum of kernels is large enough along its segment."""
    result = np.empty(len(pairs), np.bool_)
    for p in prange(len(pairs)):
        a, b = pairs[p]
        squared = 0.0
        for column in range(points.shape[1]):
            squared += (points[a, column] - points[b, column]) ** 2
        result[p] = True
        for share in shares:
            less = share * (1 - share) * gamma * squared
            limit = most + less + _EXPONENT_ERROR * (1 + most + less)
            first, second = exponents[a], exponents[b]
            if not (
                _any_below(first, second, share, limit)
                and _reaches(first, second, share, less, coefficients, least)
            ):
                result[p] = False
                break
    return result


@fast
def _any_below(first, second, share, limit):  # type: ignore[no-untyped-def]
    """Return whether a mean of two exponents, weighted by a share, is at most a limit."""
    rest = 1 - share
    for start in range(0, len(first), _CHUNK_VECTORS):
        # loops over slices are vectorised, as their indices are known not to be negative
        chunk, other = first[start : start + _CHUNK_VECTORS], second[start : start + _CHUNK_VECTORS]
        count = 0
        for i in range(len(chunk)):
            if rest * chunk[i] + share * other[i] <= limit:
                count += 1
        if count > 0:
            return True
    return False


@reducing
def _reaches(first, second, share, less, coefficients, least):  # type: ignore[no-untyped-def]
    """Return whether a sum of kernels is at least ``least``."""
    rest = 1 - share
    total = 0.0
    for start in range(0, len(first), _CHUNK_VECTORS):
        chunk, other = first[start : start + _CHUNK_VECTORS], second[start : start + _CHUNK_VECTORS]
        weights = coefficients[start : start + _CHUNK_VECTORS]
        for i in range(len(chunk)):
            exponent = rest * chunk[i] + share * other[i] - less
            total += weights[i] * exponential(-max(exponent, 0.0))
        if total >= least:
            return True
    return False

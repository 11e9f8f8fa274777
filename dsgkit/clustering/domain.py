"""Domain of a clustering: the points where a sum of kernels reaches a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.kernels import gaussian_expansion
from dsgkit.linalg import Array, row_blocks, spaced
from dsgkit.system.jit import fast

BLOCK_ROWS = 4096
WIDTH_ROWS, FEWEST_NEIGHBORS = 500, 7
"""Most rows that a kernel width is fitted to, and least neighbours at it, or half of the rows."""

VARIANCE_RANGE = 1e-280, 1e280
"""Variances for which gamma, kernel width and squared distances neither over- nor underflow."""


@dataclass(frozen=True)
class Domain:
    """Where ``f(x) = sum_i alpha_i exp(-gamma ||x_i - x||^2) - level`` is at least 0."""

    support_vectors: Array
    coefficients: Array
    gamma: float
    level: float = 1.0

    @property
    def width(self) -> float:
        """Width of the kernel, ``1/sqrt(2 gamma)``: the unit of lengths."""
        return 1 / math.sqrt(2 * self.gamma)

    def values(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,)."""
        values = np.empty(len(X))
        for block in row_blocks(len(X), BLOCK_ROWS):
            rows = np.asarray(X[block], np.float64)
            values[block] = gaussian_expansion(
                rows, self.support_vectors, self.coefficients, self.gamma
            )
        return values - self.level


# Kernel values of one point with many, in compiled loops that vectorise

_PER_LN2 = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""Their sum is ln 2; the first has so few bits that its products with integers are exact."""

_ROUNDING_SHIFT = 1.5 * 2**52
"""Adding it rounds a number to the nearest integer, which is in the last bits of the sum."""

_BIAS = np.int64(1023)
_FRACTION_BITS = np.int64(52)
_MIN_EXPONENT = -600.0


@fast
def exponential(x):  # type: ignore[no-untyped-def]
    """Return exp(x) for x <= 0, within 2 units in the last place.

    Below -600 it is exp(-600), some 10^-261, whose product with a coefficient is not denormal:
    denormal numbers take a hundred cycles. Unlike the library's function it has no branches, so
    that loops over it are vectorised, which makes them 5 times faster.
    """
    x = max(x, _MIN_EXPONENT)
    shifted = x * _PER_LN2 + _ROUNDING_SHIFT
    n = shifted - _ROUNDING_SHIFT
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    # Taylor's series: |r| is at most ln(2)/2, and the first term left out below 2^-52
    y = 1 / 479001600
    y = y * r + 1 / 39916800
    y = y * r + 1 / 3628800
    y = y * r + 1 / 362880
    y = y * r + 1 / 40320
    y = y * r + 1 / 5040
    y = y * r + 1 / 720
    y = y * r + 1 / 120
    y = y * r + 1 / 24
    y = y * r + 1 / 6
    y = y * r + 0.5
    y = y * r + 1.0
    y = y * r + 1.0
    power = (np.float64(shifted).view(np.int64) + _BIAS) << _FRACTION_BITS
    return y * np.int64(power).view(np.float64)


@fast
def squared_distances(columns, n, x, out):  # type: ignore[no-untyped-def]
    """Write the squared distances of a point from the first ``n`` columns."""
    out[:n] = 0.0
    for k in range(len(x)):
        centre, coordinate = x[k], columns[k]
        for j in range(n):
            difference = coordinate[j] - centre
            out[j] += difference * difference


@fast
def kernel_values(columns, n, x, gamma, out):  # type: ignore[no-untyped-def]
    """Write ``exp(-gamma ||x - x_j||^2)`` for the first ``n`` columns x_j."""
    squared_distances(columns, n, x, out)
    for j in range(n):
        out[j] = exponential(-gamma * out[j])


# The width of the kernel


def gamma_of_neighbours(X: Any, share: float) -> float:
    """Return the gamma at which a row has a share of all rows as neighbours, at least 7.

    The neighbours of row i are counted by the perplexity ``exp(-sum_j p_j log p_j)`` of
    ``p_j = exp(-gamma ||x_i - x_j||^2)``, scaled to sum to 1 over all rows j that differ from row i
    (Hinton & Roweis, "Stochastic neighbor embedding", NIPS 2002): k rows at one distance, all
    others far away, count as k. The geometric mean of these numbers equals the share of all rows.
    Unlike a rule based on the variance alone, it gives narrow groups in a plane a larger gamma than
    a cloud in many columns. Equal rows have the gamma 1.
    """
    points = np.asarray(spaced(X, WIDTH_ROWS), np.float64)
    n = len(points)
    if not np.ptp(points, axis=0).any():
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        variance = points.var(axis=0).sum()
    if not VARIANCE_RANGE[0] < variance < VARIANCE_RANGE[1]:
        raise DataError(
            f"the rows' variance, {variance:.3g}, has no finite inverse: scale the features, or "
            "set gamma"
        )
    squares = cdist(points, points, "sqeuclidean") / variance
    other = squares > 0
    nearest = np.where(other, squares, np.inf).min(axis=1, keepdims=True)
    farther = np.where(other, squares - nearest, 0.0)
    target = math.log(min(max(share * n, FEWEST_NEIGHBORS), n / 2))
    low, high = math.log(2.0**-10), math.log(2.0**20)  # in units of the inverse variance

    def excess(log_gamma: float) -> float:
        exponents = math.exp(log_gamma) * farther
        weights = np.where(other, np.exp(-exponents), 0.0)
        total = weights.sum(axis=1)
        entropies = np.log(total) + (weights * exponents).sum(axis=1) / total
        return float(entropies.mean()) - target

    if excess(low) <= 0 or excess(high) >= 0:
        return math.exp(low if excess(low) <= 0 else high) / variance
    return math.exp(brentq(excess, low, high, xtol=1e-11)) / variance

"""The domain of novelty: where a sum of kernels reaches a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dsgkit.kernels.gaussian import gaussian_expansion
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import row_blocks
from dsgkit.solvers.clustering.centre import middle

FAR_SQUARED_DISTANCE = 2.0**20
"""Squared distance from the middle, times gamma, beyond which rows are far.

Kernel values of other rows, by products, are within some 2^-28 of themselves. Those of far rows are
computed from differences, which takes longer.
"""

BLOCK_ROWS = 4096
"""Rows that are seen from the middle together."""

_EXACT_VALUES = 2**18
"""Kernel values of far rows that are computed together."""


@dataclass(frozen=True)
class Domain:
    """Where ``f(x) = sum_i alpha_i exp(-gamma ||x_i - x||^2) - level`` is at least 0.

    Attributes
    ----------
    support_vectors : ndarray of shape (s, n_inputs)
    coefficients : ndarray of shape (s,)
    """

    support_vectors: Array
    coefficients: Array
    gamma: float
    level: float = 1.0

    @property
    def width(self) -> float:
        """The width of the kernel, ``1/sqrt(2 gamma)``: lengths are measured by it."""
        return 1 / math.sqrt(2 * self.gamma)

    @cached_property
    def _centred(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """The middle of the support vectors, these as seen from it, and which are not far."""
        centre = middle(self.support_vectors)
        vectors = self.support_vectors - centre
        # a row that is not far is at least some 1000 widths from these: their kernel values are 0
        return centre, vectors, ~self._far(vectors, 4 * FAR_SQUARED_DISTANCE)

    def _far(self, centred: Array, limit: float) -> NDArray[np.bool_]:
        """Return which rows are beyond a limit, as seen from the middle."""
        with np.errstate(over="ignore"):
            far = self.gamma * np.einsum("ij,ij->i", centred, centred) > limit
        return np.asarray(far)

    def values(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,)."""
        values = np.empty(len(X))
        centre, vectors, near = self._centred
        near_vectors, near_coefficients = vectors[near], self.coefficients[near]
        for block in row_blocks(len(X), BLOCK_ROWS):
            given = np.asarray(X[block], np.float64)
            rows = given - centre
            sums = gaussian_expansion(rows, near_vectors, near_coefficients, self.gamma)
            far = np.flatnonzero(self._far(rows, FAR_SQUARED_DISTANCE))
            for some in row_blocks(len(far), max(1, _EXACT_VALUES // len(vectors))):
                sums[far[some]] = self._exact(given[far[some]])
            values[block] = sums - self.level
        return values

    def _exact(self, rows: Array) -> Array:
        """Return the sums of kernels at some rows, from differences."""
        with np.errstate(over="ignore"):
            exponents = self.gamma * cdist(rows, self.support_vectors, "sqeuclidean")
        return np.asarray(np.exp(-exponents) @ self.coefficients)

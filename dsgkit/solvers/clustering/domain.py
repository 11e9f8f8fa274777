"""Domain of a clustering: the points where a sum of kernels reaches a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dsgkit.kernels import gaussian_expansion
from dsgkit.linalg import Array, row_blocks
from dsgkit.solvers.clustering.centre import middle

FAR_SQUARED_DISTANCE = 2.0**20
"""Squared distance from the centre, times gamma, beyond which rows are far.

Kernel values of other rows, from products, have a relative error of about 2^-28. Those of far rows
are computed from differences, which takes longer.
"""

BLOCK_ROWS = 4096
"""Rows per block."""

_EXACT_VALUES = 2**18
"""Kernel values of far rows per block."""


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
        """Width of the kernel, ``1/sqrt(2 gamma)``: the unit of lengths."""
        return 1 / math.sqrt(2 * self.gamma)

    @cached_property
    def _centred(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Centre of the support vectors, these relative to it, and a mask of those not far."""
        centre = middle(self.support_vectors)
        vectors = self.support_vectors - centre
        # rows that are not far are some 1000 widths from the others, with kernel values of 0
        return centre, vectors, ~self._far(vectors, 4 * FAR_SQUARED_DISTANCE)

    def _far(self, centred: Array, limit: float) -> NDArray[np.bool_]:
        """Return a mask of the centred rows beyond a limit."""
        with np.errstate(over="ignore"):
            far = self.gamma * np.einsum("ij,ij->i", centred, centred) > limit
        return np.asarray(far)

    def values(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,)."""
        values = np.empty(len(X))
        centre, vectors, near = self._centred
        near_vectors, near_coefficients = vectors[near], self.coefficients[near]
        for block in row_blocks(len(X), BLOCK_ROWS):
            points = np.asarray(X[block], np.float64)
            rows = points - centre
            sums = gaussian_expansion(rows, near_vectors, near_coefficients, self.gamma)
            far = np.flatnonzero(self._far(rows, FAR_SQUARED_DISTANCE))
            for part in row_blocks(len(far), max(1, _EXACT_VALUES // len(vectors))):
                sums[far[part]] = self._exact_sums(points[far[part]])
            values[block] = sums - self.level
        return values

    def _exact_sums(self, rows: Array) -> Array:
        """Return the sums of kernels at rows, computed from differences."""
        with np.errstate(over="ignore"):
            exponents = self.gamma * cdist(rows, self.support_vectors, "sqeuclidean")
        return np.asarray(np.exp(-exponents) @ self.coefficients)

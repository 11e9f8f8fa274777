"""The domain of novelty: where a sum of kernels reaches a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels.gaussian import gaussian_expansion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """Where ``f(x) = sum_i alpha_i exp(-gamma ||x_i - x||^2) - level`` is at least 0.

    Attributes
    ----------
    support_vectors : ndarray of shape (s, n_inputs)
    coefficients : ndarray of shape (s,)
    gamma, level : float
    """

    support_vectors: Array
    coefficients: Array
    gamma: float
    level: float = 1.0

    @property
    def width(self) -> float:
        """The width of the kernel, ``1/sqrt(2 gamma)``: lengths are measured by it."""
        return 1 / math.sqrt(2 * self.gamma)

    def values(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,)."""
        values = gaussian_expansion(X, self.support_vectors, self.coefficients, self.gamma)
        return values - self.level

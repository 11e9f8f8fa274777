"""The Laplacian kernel: exact values, and its random frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dsgkit.kernels.base import Draws, Kernel, Spectrum
from dsgkit.kernels.expansions import expansion_memory, expansion_of, finite_rows
from dsgkit.kernels.rounding import MAX_LENGTH_RATIO, largest_scale
from dsgkit.numerics.arrays import Array, Single


def _values(A: Array, B: Array, sigma: float) -> Array:
    values = cdist(A, B, "cityblock")
    values *= -sigma
    return np.exp(values, out=values)


def laplacian_gram(A: Any, B: Any, sigma: float) -> Array:
    """Return the kernel values ``exp(-sigma ||a - b||_1)`` of all pairs of rows."""
    return _values(finite_rows(A), finite_rows(B), sigma)


def laplacian_expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``."""
    return expansion_of(lambda A, B: _values(A, B, sigma), X, centers, coefficients)


def laplacian_frequencies(draws: Draws, n_inputs: int, sigma: float) -> Single:
    """Return frequencies with independent Cauchy coordinates of scale sigma.

    A coordinate is the cotangent of a random angle: the quotient of two normals with a common
    radius. It is 0 if the radius is 0 (one in 2^25) or the cotangent undefined (one in 2^32).
    """
    N = draws.normals(2 * n_inputs)
    cosines, sines = N[:, ::2], N[:, 1::2]
    W = np.zeros_like(cosines)
    np.divide(cosines, sines, out=W, where=sines != 0)
    W *= np.float32(sigma)
    return W


LAPLACIAN = Kernel(
    name="laplacian",
    formula="exp(-sigma ||x - x'||_1)",
    gram=laplacian_gram,
    expansion=laplacian_expansion,
    memory=expansion_memory,
    longest=lambda sigma: largest_scale(1.0) / sigma,
    farthest=lambda sigma: MAX_LENGTH_RATIO * largest_scale(1.0) / sigma,
    norm=1,  # w.x is Cauchy with scale sigma ||x||_1
    spectrum=Spectrum(laplacian_frequencies, heavy_tailed=True),
)

"""The Gaussian kernel: exact values by float64 matrix products, and its random frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.kernels.base import Draws, Kernel, Spectrum
from dsgkit.kernels.rounding import MAX_LENGTH_RATIO
from dsgkit.numerics.arrays import Array, Single
from dsgkit.numerics.rows import row_blocks

BLOCK_ENTRIES = 2**18
"""Kernel values of a block (of 64 to 128 rows), so that exponents stay in cache."""

CANCELLING_SQUARED_NORM = 2.0**16
"""Squared norm times sigma above which one of the rows is subtracted from all.

Exponents are differences of such numbers: up to here they are within some 2^-35 of the exact ones.
Subtraction removes a common offset of the rows. If their spread alone is that large, nearly all
kernel values are 0, and the others are computed from differences of rows.
"""

SMALL_SIGMA = 1e-100
"""Sigma below which squared distances may overflow although the kernel is above 0."""

ZERO_EXPONENT = -746.0
"""Exponent at which the kernel is 0 in double precision."""

DIFFERENCE_COLUMNS = 4096
"""Columns of a block that are computed from differences at a time."""

_EXPONENTIAL_FLOPS = 220.0
"""Measured operations of a kernel value in addition to its products, mostly memory access."""

LARGEST_PROJECTION = 5000.0
"""Beyond, rounding a projection to float32 changes its cosine by more than 2^-12."""

PROJECTION_SPREAD = 6.0
"""Assumed bound of a random projection in standard deviations: two of 10^9 exceed it."""


def _block_rows(n_columns: int) -> int:
    return min(max(64, BLOCK_ENTRIES // max(1, n_columns)), 128)


class _Exponents:
    """Exponents ``-sigma ||a - b||^2`` for rows b, as a matrix product.

    If sigma is below `SMALL_SIGMA`, rows are scaled by a power of two, which is exact, so that it
    is near 1: then distances overflow only where the kernel is 0.

    Parameters
    ----------
    B : rows of shape (n_b, n_inputs)
    sigma : float
    """

    def __init__(self, B: Any, sigma: float) -> None:
        exponent = math.frexp(sigma)[1] // 2 if sigma < SMALL_SIGMA else 0
        self._unit, self._sigma = math.ldexp(1.0, exponent), math.ldexp(sigma, -2 * exponent)
        self._centre: Any = None
        self._spread: Any = None  # the rows B, if they are so far apart that sums cancel
        B = np.asarray(B, np.float64)
        rows, norms = self._with_norms(B)
        if self._cancels(norms):
            self._centre = B[0].copy()
            rows, norms = self._with_norms(B)
        if self._cancels(norms):
            # a median, which is robust to single far rows
            self._centre = np.partition(B, len(B) // 2, axis=0)[len(B) // 2]
            rows, norms = self._with_norms(B)
            self._spread = B
        self._right = np.column_stack([rows, np.ones(len(rows)), norms])

    def write(self, A: Any, out: Array) -> None:
        """Write the exponents of the rows of ``A`` with the first columns of ``out``."""
        A = np.asarray(A, np.float64)
        rows, norms = self._with_norms(A)
        sigma = self._sigma
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.column_stack([2 * sigma * rows, -sigma * norms, np.full(len(rows), -sigma)])
            np.matmul(left, self._right[: out.shape[1]].T, out=out)
        if self._spread is not None:
            self._write_near(A, norms, out)
            return
        far = norms > 4 * CANCELLING_SQUARED_NORM / sigma
        if far.any():  # twice as far as any b: the kernel is 0, even if sums overflow
            out[far] = -np.inf

    def _write_near(self, A: Array, norms: Array, out: Array) -> None:
        """Recompute exponents whose kernel may be above 0 from differences of rows."""
        n_columns, n_terms = out.shape[1], self._right.shape[1]
        with np.errstate(over="ignore"):
            sizes = norms.max(initial=0) + self._right[:n_columns, -1]
            # bound of the rounding error of a sum of products
            error = 4 * n_terms * np.finfo(np.float64).eps * self._sigma * sizes
            near = np.flatnonzero(~(out <= ZERO_EXPONENT - error).all(axis=0))
            for block in row_blocks(len(near), DIFFERENCE_COLUMNS):
                B = self._spread[near[block]] * self._unit
                out[:, near[block]] = -self._sigma * cdist(A * self._unit, B, "sqeuclidean")

    def _cancels(self, norms: Array) -> bool:
        return bool(norms.max(initial=0) > CANCELLING_SQUARED_NORM / self._sigma)

    def _with_norms(self, X: Array) -> tuple[Array, Array]:
        """Return the centred and scaled rows, and their squared norms."""
        with np.errstate(over="ignore"):
            rows = X if self._centre is None else X - self._centre
            if self._unit != 1:
                rows = rows * self._unit
            norms = np.einsum("ij,ij->i", rows, rows)
        if not (np.isfinite(norms).all() or np.isfinite(X).all()):
            raise DataError("features hold NaN or infinite values; remove or replace those rows")
        return rows, norms


def _exponentiate(exponents: Array) -> None:
    """Turn exponents into kernel values in place; by rounding, some may be above 0."""
    np.minimum(exponents, 0, out=exponents)
    np.exp(exponents, out=exponents)


def gaussian_gram(A: Any, B: Any, sigma: float, out: Array | None = None) -> Array:
    """Return the kernel values ``exp(-sigma ||a - b||^2)`` of all pairs of rows.

    Parameters
    ----------
    A : rows of shape (n_a, n_inputs)
        Read block by block.
    B : rows of shape (n_b, n_inputs)
        If it is the same object as ``A``, the result is exactly symmetric with a diagonal of ones.
    sigma : float
    out : ndarray of float64, shape (n_a, n_b), optional
        Output array.

    Returns
    -------
    ndarray of float64, shape (n_a, n_b)

    Raises
    ------
    DataError
        If a feature is NaN or infinite.
    """
    if out is None:
        out = np.empty((len(A), len(B)))
    exponents = _Exponents(B, sigma)
    for block in row_blocks(len(A), _block_rows(len(B))):
        # a symmetric matrix is computed up to the diagonal block, and mirrored
        stop = block.stop if A is B else len(B)
        part = out[block, :stop]
        exponents.write(A[block], part)
        _exponentiate(part)
        if A is B:
            _mirror(out, block)
    return out


def _mirror(out: Array, block: slice) -> None:
    """Complete the symmetric matrix ``out`` whose rows ``block`` are known up to the diagonal."""
    out[: block.start, block] = out[block, : block.start].T
    below = np.tril(out[block, block], -1)
    out[block, block] = below + below.T
    np.fill_diagonal(out[block, block], 1.0)


def gaussian_expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``, block by block.

    Parameters
    ----------
    X : rows of shape (n, n_inputs)
    centers : ndarray of shape (n_centers, n_inputs)
    coefficients : ndarray of shape (n_centers,) or (n_centers, n_functions)
    sigma : float

    Returns
    -------
    ndarray of float64, shape (n,) or (n, n_functions)
    """
    values = np.empty((len(X), *coefficients.shape[1:]))
    exponents = _Exponents(centers, sigma)
    buffer = np.empty((_block_rows(len(centers)), len(centers)))
    for block in row_blocks(len(X), len(buffer)):
        part = buffer[: block.stop - block.start]
        exponents.write(X[block], part)
        _exponentiate(part)
        values[block] = part @ coefficients
    return values


def expansion_memory(n_centers: int, n_inputs: int) -> int:
    """Return the bytes that `gaussian_expansion` allocates, beyond its result."""
    n_columns, n_rows = n_inputs + 2, _block_rows(n_centers)
    return 8 * (n_rows * n_centers + n_columns * (n_centers + 2 * n_rows))


def expansion_flops(n_centers: float, n_inputs: int) -> float:
    """Return the operations of `gaussian_expansion` at one row, as counted in `Cost`."""
    return n_centers * (4.0 * n_inputs + _EXPONENTIAL_FLOPS + 4)


def gaussian_frequencies(draws: Draws, n_inputs: int, sigma: float) -> Single:
    """Return frequencies from N(0, 2 sigma I), the spectrum of ``exp(-sigma ||x - x'||^2)``."""
    W = draws.normals(n_inputs)
    W *= np.float32(np.sqrt(2 * sigma))
    return W


def _longest(sigma: float) -> float:
    # w.x is normal with variance 2 sigma ||x||^2
    return LARGEST_PROJECTION / (PROJECTION_SPREAD * math.sqrt(2 * sigma))


GAUSSIAN = Kernel(
    name="gaussian",
    formula="exp(-sigma ||x - x'||^2)",
    gram=gaussian_gram,
    expansion=gaussian_expansion,
    memory=expansion_memory,
    longest=_longest,
    farthest=lambda sigma: MAX_LENGTH_RATIO * _longest(sigma),
    spectrum=Spectrum(gaussian_frequencies),
)

"""Kernels: exact values of all pairs of rows, and sums of them, in float64.

Their random features are in `dsgkit.features`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError, NotFiniteError, shown
from dsgkit.linalg import Array, row_blocks

BLOCK_ENTRIES = 2**18
"""Kernel values of a block (of 64 to 128 rows), so that they stay in cache."""

CANCELLING_SQUARED_NORM = 2.0**16
"""Squared norm times sigma above which a Gaussian exponent is not a sum of products.

Exponents are differences of such numbers: up to here they are within some 2^-35 of the exact ones.
"""

LARGEST_DEGREE = 20

LARGEST_PROJECTION = 5000.0
"""Beyond, rounding a projection to float32 changes its cosine by more than 2^-12."""

PROJECTION_SPREAD = 6.0  # in standard deviations: two of 10^9 random projections exceed it

FARTHER = 32.0
"""Largest norm of other rows, relative to that of labelled rows.

Rounding changes the features of such a row by .007 in the root mean square (784 columns), less than
the noise of thousands of features; with ten times that norm, they would be noise themselves. A
standardised column of n rows can hold a value of sqrt(n) deviations, which does no harm.
"""

_CHECKED_ROWS = 8192
_EXPONENTIAL_FLOPS = 220.0  # of a kernel value beyond its products, measured: memory access

Write = Callable[[Array, Array], None]  # of the kernel of rows A with as many B as columns


@dataclass(frozen=True)
class Kernel:
    """A kernel function of pairs of rows."""

    name: str  # with parameters, such as ``dot_product(3)``
    formula: str
    against: Callable[[Array, float], Write]  # maps rows B and sigma to what writes values with B
    # the largest norms, by sigma, of labelled rows and of all others whose random features are
    # accurate enough: sums of absolute values (1), or Euclidean norms (2)
    longest: Callable[[float], float] = lambda sigma: math.inf
    farthest: Callable[[float], float] = lambda sigma: math.inf
    norm: Literal[1, 2] = 2
    shift_invariant: bool = False  # a function of ``x - x'``, which has random Fourier features
    degree: int | None = None  # p of ``(sigma <x, x'>)^p``

    @property
    def has_random_features(self) -> bool:
        """Whether the kernel has random features, Fourier features or sketches."""
        return self.shift_invariant or self.degree is not None

    def gram(self, A: Any, B: Any, sigma: float) -> Array:
        """Return the values of all pairs of rows, shape (n_a, n_b).

        ``A`` is read block by block. If it is the same object as ``B``, the result is exactly
        symmetric, and half of it is computed.
        """
        symmetric, columns = A is B, finite_rows(B)
        out, write = np.empty((len(A), len(B))), self.against(columns, sigma)
        for block in row_blocks(len(A), _block_rows(len(B))):
            if not symmetric:
                write(finite_rows(A[block]), out[block])
                continue
            write(columns[block], out[block, : block.stop])
            out[: block.start, block] = out[block, : block.start].T
            part = out[block, block]
            part[:] = np.tril(part) + np.tril(part, -1).T
        if symmetric and self.shift_invariant:
            np.fill_diagonal(out, 1.0)
        return out

    def expansion(self, X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
        """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``, in blocks.

        Coefficients, and so values, may be of several functions: shape (n, n_functions).
        """
        centers = finite_rows(centers)
        values = np.empty((len(X), *coefficients.shape[1:]))
        if self.name == "linear":
            with np.errstate(over="ignore", invalid="ignore"):
                slope, bias = centers.T @ coefficients, coefficients.sum(axis=0)
                for block in row_blocks(len(X), _CHECKED_ROWS):
                    values[block] = finite_rows(X[block]) @ slope + bias
            return _representable(values, "the linear kernel")
        write, n = self.against(centers, sigma), len(centers)
        buffer = np.empty((_block_rows(n), n))
        for block in row_blocks(len(X), len(buffer)):
            part = buffer[: block.stop - block.start]
            write(finite_rows(X[block]), part)
            values[block] = part @ coefficients
        return values


def _block_rows(n_columns: int) -> int:
    return min(max(64, BLOCK_ENTRIES // max(1, n_columns)), 128)


def finite_rows(rows: Any) -> Array:
    """Return rows in float64; refuse NaN and infinite features."""
    rows = np.asarray(rows, np.float64)
    if not np.isfinite(rows).all():
        raise NotFiniteError
    return rows


def _representable(values: Array, limit: str) -> Array:
    if not np.isfinite(values).all():
        raise _too_large(limit)
    return values


def _too_large(limit: str) -> DataError:
    return DataError(f"features too large for {limit}: subtract the mean or scale them")


def _gaussian(B: Array, sigma: float) -> Write:
    """Exponents are a matrix product of rows, seen from one of them if their norms are large.

    If their spread alone is large, nearly all values are 0; the others take differences of rows.
    """
    limit = CANCELLING_SQUARED_NORM / sigma
    centre: Any = 0.0
    with np.errstate(over="ignore"):
        norms = np.einsum("ij,ij->i", B, B)
        if norms.max(initial=0) > limit:
            centre = B[0].copy()
            norms = np.einsum("ij,ij->i", B - centre, B - centre)
        right = np.column_stack([B - centre, np.ones(len(B)), norms])

    def from_products(A: Array, out: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            rows = A - centre
            norms = np.einsum("ij,ij->i", rows, rows)
            left = np.column_stack([2 * sigma * rows, -sigma * norms, np.full(len(rows), -sigma)])
            np.matmul(left, right[: out.shape[1]].T, out=out)
        out[norms > 4 * limit] = -np.inf  # twice as far as any b: the kernel is 0
        np.minimum(out, 0, out=out)  # by rounding, some may be above
        np.exp(out, out=out)

    def from_differences(A: Array, out: Array) -> None:
        with np.errstate(over="ignore"):
            np.exp(-sigma * cdist(A, B[: out.shape[1]], "sqeuclidean"), out=out)

    return from_differences if norms.max(initial=0) > limit else from_products


def _laplacian(B: Array, sigma: float) -> Write:
    def write(A: Array, out: Array) -> None:
        with np.errstate(over="ignore"):
            np.multiply(cdist(A, B[: out.shape[1]], "cityblock"), -sigma, out=out)
        np.exp(out, out=out)

    return write


def _linear(B: Array, sigma: float) -> Write:
    def write(A: Array, out: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            out[:] = _representable(A @ B[: out.shape[1]].T + 1, "the linear kernel")

    return write


def dot_product(degree: int) -> Kernel:
    """Return the kernel ``(sigma <x, x'>)^p`` for a degree p in 1..20."""

    def against(B: Array, sigma: float) -> Write:
        def write(A: Array, out: Array) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                powers = (sigma * (A @ B[: out.shape[1]].T)) ** degree
            out[:] = _representable(powers, f"sigma={sigma:g}")

        return write

    # k(x, x) of labelled rows is at most 2^80, as the engine sums values in float32; of others at
    # most 2^126, so that products of features stay within float32
    return Kernel(
        name=f"dot_product({degree})",
        formula="(sigma <x, x'>)^p",
        against=against,
        longest=lambda sigma: math.sqrt(2.0 ** (80 / degree) / sigma),
        farthest=lambda sigma: math.sqrt(2.0 ** (126 / degree) / sigma),
        degree=degree,
    )


def _longest(sigma: float) -> float:
    """833 / sqrt(2 sigma): w.x is normal with variance ``2 sigma ||x||^2``."""
    return LARGEST_PROJECTION / (PROJECTION_SPREAD * math.sqrt(2 * sigma))


GAUSSIAN = Kernel(
    name="gaussian",
    formula="exp(-sigma ||x - x'||^2)",
    against=_gaussian,
    longest=_longest,
    farthest=lambda sigma: FARTHER * _longest(sigma),
    shift_invariant=True,
)
LAPLACIAN = Kernel(
    name="laplacian",
    formula="exp(-sigma ||x - x'||_1)",
    against=_laplacian,
    # w.x is Cauchy with scale sigma ||x||_1: at 512, rounding it to float32 changes its cosine by
    # 2^-12 in the mean
    longest=lambda sigma: 512 / sigma,
    farthest=lambda sigma: FARTHER * 512 / sigma,
    norm=1,
    shift_invariant=True,
)
LINEAR = Kernel("linear", "<x, x'> + 1", _linear)

KERNELS = {
    "gaussian": GAUSSIAN,
    "laplacian": LAPLACIAN,
    "dot_product(p)": dot_product(3),
    "linear": LINEAR,
}
"""Kernels by the pattern of their names."""

gaussian_gram, gaussian_expansion = GAUSSIAN.gram, GAUSSIAN.expansion


def expansion_memory(n_centers: int, n_inputs: int) -> int:
    """Return the bytes that `Kernel.expansion` allocates, beyond its result."""
    n_columns, n_rows = n_inputs + 2, _block_rows(n_centers)
    return 8 * (n_rows * n_centers + n_columns * (n_centers + 2 * n_rows))


def expansion_flops(n_centers: float, n_inputs: int) -> float:
    """Return the operations of a Gaussian expansion at one row, as counted in `Cost`."""
    return n_centers * (4.0 * n_inputs + _EXPONENTIAL_FLOPS + 4)


@functools.cache
def kernel_named(name: str) -> Kernel:
    """Return a kernel by its name, such as ``laplacian`` or ``dot_product(3)``."""
    if name in KERNELS and "(" not in name:
        return KERNELS[name]
    match = re.fullmatch(r"dot_product\((\d{1,9})\)", name)
    if match and 1 <= int(match[1]) <= LARGEST_DEGREE:
        return dot_product(int(match[1]))
    if match:
        raise DataError(f"kernel {shown(name)}: p must be in 1..{LARGEST_DEGREE}, got {match[1]}")
    raise DataError(f"unknown kernel {shown(name)}; known: {', '.join(KERNELS)}")


def check_projections(
    rows: Any, sigma: float, kernel: str = "gaussian", *, labeled: bool = True
) -> None:
    """Refuse rows whose random features would be noise: their norm times sqrt(sigma) is too large.

    Rows are read in blocks. NaN and infinite values are refused, too.
    """
    known = kernel_named(kernel)
    longest = known.longest(sigma) if labeled else known.farthest(sigma)
    for block in row_blocks(len(rows), _CHECKED_ROWS):
        part = np.asarray(rows[block])
        with np.errstate(over="ignore", invalid="ignore"):
            if known.norm == 1:
                short = np.abs(part).sum(axis=1, dtype=np.float64) <= longest
            else:
                squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
                short = np.sqrt(squares) <= longest
        if not short.all():
            if not np.isfinite(part).all():
                raise NotFiniteError(
                    "features hold NaN or infinite values, or some too large for float32: remove "
                    "or scale those rows"
                )
            raise _too_large(f"sigma={sigma:g}")

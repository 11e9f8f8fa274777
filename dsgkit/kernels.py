"""Kernels: exact values, expansions, and distributions of random frequencies."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError, shown
from dsgkit.linalg import Array, Single, read_rows, row_blocks


class Draws(Protocol):
    """Random numbers for the frequencies of some blocks, m per block.

    Every call returns a new array with the same numbers.
    """

    def normals(self, n_rows: int) -> Single:
        """Return independent standard normals, shape (n_blocks, n_rows, m).

        The first rows do not depend on ``n_rows``. Rows 2k and 2k + 1 are the two coordinates of
        points in a plane.
        """
        ...

    def gammas(self, shape: float) -> Array:
        """Return independent gamma-distributed numbers, shape (n_blocks, m)."""
        ...


@dataclass(frozen=True)
class Spectrum:
    """Distribution of w in ``k(x, x') = E[cos(w.(x - x'))]`` (Bochner).

    Attributes
    ----------
    frequencies : callable
        Maps ``(draws, n_inputs, sigma)`` to frequencies in radians, a new array of float32 of shape
        (n_blocks, n_inputs, m).
    heavy_tailed : bool
        Whether projections may be of any size; else those of accepted rows are below 2^22 half
        turns.
    """

    frequencies: Callable[[Draws, int, float], Single]
    heavy_tailed: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel function of pairs of rows.

    Attributes
    ----------
    name : str
        Name including parameters, such as ``matern(1.5)``.
    gram : callable
        Maps ``(A, B, sigma)`` to the exact values of all pairs of rows, float64 of shape
        (n_a, n_b).
    expansion : callable
        Maps ``(X, centers, coefficients, sigma)`` to ``sum_j coefficients[j] k(centers[j], x)`` at
        the rows x of X, float64 of shape (n,) or (n, n_functions).
    memory : callable
        Maps ``(n_centers, n_inputs)`` to the bytes that ``expansion`` allocates, beyond its result.
    longest : callable
        Maps ``sigma`` to the largest norm of labelled rows with accurate random features.
    farthest : callable
        Maps ``sigma`` to the largest norm of all other rows.
    norm : {1, 2}
        The norm of a row in both: the sum of absolute values, or the Euclidean one.
    spectrum : Spectrum or None
        None without Fourier features.
    degree : int or None
        p of ``(sigma <x, x'>)^p``; None for other kernels.
    """

    name: str
    formula: str
    gram: Callable[[Any, Any, float], Array]
    expansion: Callable[[Any, Array, Array, float], Array]
    memory: Callable[[int, int], int]
    longest: Callable[[float], float]
    farthest: Callable[[float], float]
    norm: Literal[1, 2] = 2
    spectrum: Spectrum | None = None
    degree: int | None = None

    @property
    def has_random_features(self) -> bool:
        """Whether the kernel has random features, Fourier features or sketches."""
        return self.spectrum is not None or self.degree is not None


BLOCK_ENTRIES = 2**20
"""Kernel values that an expansion holds at a time."""

KernelFunction = Callable[[Array, Array], Array]
"""Maps two sets of rows to the kernel of all pairs."""


def finite_rows(rows: Any) -> Array:
    """Return rows in float64.

    Raises
    ------
    DataError
        If a feature is NaN or infinite.
    """
    rows = np.asarray(rows, np.float64)
    if not np.isfinite(rows).all():
        raise DataError("features hold NaN or infinite values; remove or replace those rows")
    return rows


def _block_memory(n_centers: int, n_inputs: int) -> int:
    """Return the bytes that `expansion_of` allocates, beyond its result."""
    n_rows = max(1, BLOCK_ENTRIES // max(1, n_centers))
    return 8 * (4 * n_rows * n_centers + n_inputs * (n_centers + n_rows))


def expansion_of(
    kernel: KernelFunction, X: Any, centers: NDArray[Any], coefficients: NDArray[Any]
) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``.

    Parameters
    ----------
    kernel : callable
    X : rows of shape (n, n_inputs)
        Read block by block.
    centers : ndarray of shape (n_centers, n_inputs)
    coefficients : ndarray of shape (n_centers,) or (n_centers, n_functions)

    Returns
    -------
    ndarray of float64, shape (n,) or (n, n_functions)
    """
    out = np.empty((len(X), *coefficients.shape[1:]))
    centers = finite_rows(centers)
    for block in row_blocks(len(X), max(1, BLOCK_ENTRIES // max(1, len(centers)))):
        out[block] = kernel(finite_rows(X[block]), centers) @ coefficients
    return out


FEATURE_TOLERANCE = 2.0**-12
"""Largest mean error of a feature, and largest error of one of the Gaussian kernel."""

MAX_LENGTH_RATIO = 32.0
"""Largest norm of other rows, relative to that of labelled rows.

Rounding the projection of such a row to float32 changes a feature by up to 2^-7, and rounding its
sum of products by several times as much: measured with 784 columns, up to .08, and .007 in the root
mean square. The error of a kernel value is the square of the latter, less than the noise of
thousands of random features. With ten times that norm, features would be noise themselves.

These rows need not meet `FEATURE_TOLERANCE`, as labelled rows must: a standardised column of n rows
can hold a value of sqrt(n) deviations, and one such row among millions does no harm. Its kernel
with others is 0.
"""


@functools.cache
def largest_scale(degrees: float) -> float:
    """Return the scale s at which the mean error of ``cos(s T)`` is `FEATURE_TOLERANCE`.

    Parameters
    ----------
    degrees : float
        Degrees of freedom of the t distribution of T; 1 is Cauchy.
    """
    scales = 2.0 ** np.arange(-60, 25, 0.25)
    errors = np.array([_mean_error(scale, degrees) for scale in scales])
    return float(scales[np.searchsorted(errors, FEATURE_TOLERANCE) - 1])


def _mean_error(scale: float, degrees: float) -> float:
    """Return ``E min(2, 2^-24 scale |T|)``, the integral of its tail probabilities."""
    errors = np.geomspace(1e-14, 2, 2000)
    beyond = 2 * special.stdtr(degrees, -errors / (scale * 2.0**-24))
    return float(np.trapezoid(beyond, errors))


_GAUSSIAN_ENTRIES = 2**18
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
    return min(max(64, _GAUSSIAN_ENTRIES // max(1, n_columns)), 128)


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


def _laplacian_values(A: Array, B: Array, sigma: float) -> Array:
    values = cdist(A, B, "cityblock")
    values *= -sigma
    return np.exp(values, out=values)


def laplacian_gram(A: Any, B: Any, sigma: float) -> Array:
    """Return the kernel values ``exp(-sigma ||a - b||_1)`` of all pairs of rows."""
    return _laplacian_values(finite_rows(A), finite_rows(B), sigma)


def laplacian_expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``."""
    return expansion_of(lambda A, B: _laplacian_values(A, B, sigma), X, centers, coefficients)


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
    memory=_block_memory,
    longest=lambda sigma: largest_scale(1.0) / sigma,
    farthest=lambda sigma: MAX_LENGTH_RATIO * largest_scale(1.0) / sigma,
    norm=1,  # w.x is Cauchy with scale sigma ||x||_1
    spectrum=Spectrum(laplacian_frequencies, heavy_tailed=True),
)


LARGEST_NU = 50.0
"""Up to here, Bessel functions overflow only where the kernel is within 1e-11 of 1."""

_MAX_DISTANCE = 1e4
"""Distance beyond which the kernel is 0."""


def matern_of_distance(r: Array, nu: float) -> Array:
    """Return ``2^(1 - nu) / Gamma(nu) s^nu K_nu(s)`` at ``s = sqrt(2 nu) r``; r is overwritten.

    Parameters
    ----------
    r : ndarray of float64
        Distances in units of the length scale.
    nu : float
    """
    r *= np.sqrt(2 * nu)
    np.minimum(r, _MAX_DISTANCE, out=r)
    if nu == 0.5:
        return np.exp(-r)
    if nu == 1.5:
        return (1 + r) * np.exp(-r)
    if nu == 2.5:
        return (1 + r + r**2 / 3) * np.exp(-r)
    values = np.ones_like(r)
    positive = r > 0
    s = r[positive]
    with np.errstate(all="ignore"):
        log = (1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(s) - s
        values[positive] = np.exp(log + np.log(special.kve(nu, s)))
    return np.minimum(values, 1)


def matern(nu: float) -> Kernel:
    """Return the Matern kernel of smoothness ``nu`` and length scale ``1 / sigma``.

    A larger sigma is a narrower kernel, as for the other kernels. ``nu = 1/2`` is the exponential
    kernel ``exp(-sigma ||x - x'||)``.

    Parameters
    ----------
    nu : float
        In (0, 50].

    Raises
    ------
    ValueError
        If it is out of range.
    """
    if not 0 < nu <= LARGEST_NU:
        raise ValueError(f"nu must be > 0 and <= {LARGEST_NU:g}, got {nu:g}")

    def values(A: Array, B: Array, sigma: float) -> Array:
        return matern_of_distance(sigma * cdist(A, B), nu)

    def gram(A: Any, B: Any, sigma: float) -> Array:
        return values(finite_rows(A), finite_rows(B), sigma)

    def expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
        return expansion_of(lambda A, B: values(A, B, sigma), X, centers, coefficients)

    def frequencies(draws: Draws, n_inputs: int, sigma: float) -> Single:
        """Return frequencies from the t distribution with 2 nu degrees of freedom, scale sigma."""
        W = draws.normals(n_inputs)
        scale = sigma * np.sqrt(nu / draws.gammas(nu))
        W *= np.minimum(scale, 2.0**64).astype(np.float32)[:, None, :]
        return W

    return Kernel(
        name=f"matern({float(nu)})",
        formula=_FORMULA,
        gram=gram,
        expansion=expansion,
        memory=_block_memory,
        longest=lambda sigma: largest_scale(2 * nu) / sigma,
        farthest=lambda sigma: MAX_LENGTH_RATIO * largest_scale(2 * nu) / sigma,
        spectrum=Spectrum(frequencies, heavy_tailed=True),
    )


_FORMULA = "2^(1-nu)/Gamma(nu) s^nu K_nu(s), s = sqrt(2 nu) sigma ||x - x'||"


LARGEST_DEGREE = 20

LARGEST_VALUE = 2.0**80
"""Largest ``k(x, x)`` of labelled rows: the engine sums values in float32."""

FARTHEST_VALUE = 2.0**126
"""Largest ``k(x, x)`` of all other rows: products of their features stay within float32."""


def dot_product(degree: int) -> Kernel:
    """Return the kernel ``(sigma <x, x'>)^p``; of degree 1 it is the linear one.

    Parameters
    ----------
    degree : int
        p, in 1..20.

    Raises
    ------
    ValueError
        If it is out of range.
    """
    if not 1 <= degree <= LARGEST_DEGREE:
        raise ValueError(f"p must be in 1..{LARGEST_DEGREE}, got {degree}")

    def values(A: Array, B: Array, sigma: float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            powers = (sigma * (A @ B.T)) ** degree
        if not np.isfinite(powers).all():
            raise DataError(f"features too large for sigma={sigma:g}: scale them, e.g. to [0, 1]")
        return powers

    def gram(A: Any, B: Any, sigma: float) -> Array:
        return values(finite_rows(A), finite_rows(B), sigma)

    def expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
        return expansion_of(lambda A, B: values(A, B, sigma), X, centers, coefficients)

    return Kernel(
        name=f"dot_product({degree})",
        formula="(sigma <x, x'>)^p",
        gram=gram,
        expansion=expansion,
        memory=_block_memory,
        longest=lambda sigma: math.sqrt(LARGEST_VALUE ** (1 / degree) / sigma),
        farthest=lambda sigma: math.sqrt(FARTHEST_VALUE ** (1 / degree) / sigma),
        degree=degree,
    )


LINEAR_ROWS = 4096
"""Rows that an expansion reads at a time."""


def linear_gram(A: Any, B: Any, sigma: float) -> Array:
    """Return ``<a, b> + 1`` of all pairs of rows; sigma is not used."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(finite_rows(A) @ finite_rows(B).T + 1)


def linear_expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``."""
    out = np.empty((len(X), *coefficients.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):
        slope, bias = finite_rows(centers).T @ coefficients, coefficients.sum(axis=0)
        for block in row_blocks(len(X), LINEAR_ROWS):
            out[block] = finite_rows(X[block]) @ slope + bias
    return _finite(out)


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise DataError("features too large for the linear kernel: scale them, e.g. to [0, 1]")
    return values


LINEAR = Kernel(
    name="linear",
    formula="<x, x'> + 1",
    gram=linear_gram,
    expansion=linear_expansion,
    memory=_block_memory,
    longest=lambda sigma: math.inf,
    farthest=lambda sigma: math.inf,
)


@dataclass(frozen=True)
class Family:
    """Kernels that differ in a parameter in their names.

    ``pattern`` shows their names. ``make`` returns the kernel for the text in parentheses, or
    raises `ValueError`; it is None for a single kernel.
    """

    pattern: str
    example: Kernel
    make: Callable[[str], Kernel] | None = None


FAMILIES = {
    "gaussian": Family("gaussian", GAUSSIAN),
    "laplacian": Family("laplacian", LAPLACIAN),
    "matern": Family("matern(nu)", matern(1.5), lambda text: matern(float(text))),
    "dot_product": Family("dot_product(p)", dot_product(3), lambda text: dot_product(int(text))),
    "linear": Family("linear", LINEAR),
}

_NAME = re.compile(r"(\w+)(?:\((.+)\))?")


@functools.cache
def kernel_named(name: str) -> Kernel:
    """Return a kernel by its name, such as ``laplacian``, ``matern(1.5)`` or ``dot_product(3)``.

    Raises
    ------
    DataError
        If no kernel has that name.
    """
    match = _NAME.fullmatch(name)
    family = FAMILIES.get(match[1]) if match else None
    if match and family and (match[2] is None) == (family.make is None):
        try:
            return family.make(match[2]) if family.make else family.example
        except ValueError as error:
            raise DataError(f"kernel {shown(name)}: {error}") from None
    known = ", ".join(family.pattern for family in FAMILIES.values())
    raise DataError(f"unknown kernel {shown(name)}; known: {known}")


BLOCK_ROWS = 8192
"""Rows that are checked at a time."""


def read_within(
    table: Any, index: slice | NDArray[np.integer], kernel: str, sigma: float
) -> Single:
    """Copy rows as `read_rows` does, and check them for a kernel's random features.

    Raises
    ------
    DataError
        If a feature is NaN or infinite, or the norm of a row exceeds `Kernel.farthest`.
    """
    known = kernel_named(kernel)
    with np.errstate(over="ignore"):  # a number beyond single precision becomes infinite
        rows = read_rows(table, index)
    place = first_longer(rows, known.farthest(sigma), known.norm)
    if place is not None:
        raise too_long(table, int(np.arange(len(table))[index][place]), sigma)
    return rows


def first_longer(rows: NDArray[Any], longest: float, norm: Literal[1, 2]) -> int | None:
    """Return the position of the first row with a norm above ``longest``, or NaN; None if none."""
    with np.errstate(over="ignore", invalid="ignore"):
        if norm == 1:
            suspects = ~(np.abs(rows).sum(axis=1) <= longest / 2)
        else:
            suspects = ~(np.einsum("ij,ij->i", rows, rows) <= np.square(longest) / 4)
        candidates = np.flatnonzero(suspects)
        # the sums above are fast, but may round or overflow in the precision of the rows
        lengths = np.linalg.norm(rows[candidates].astype(np.float64), norm, axis=1)
        beyond = candidates[~(lengths <= longest)]
    return int(beyond[0]) if len(beyond) else None


def too_long(table: Any, row: int, sigma: float) -> DataError:
    """Return the error for a row of a table whose random features would be wrong."""
    place = f"row {row} of {len(table)}, counted from 0"
    if not np.isfinite(np.asarray(table[row : row + 1])).all():
        return DataError(
            f"features hold NaN or infinite values; remove or replace those rows ({place})"
        )
    return DataError(
        f"features too large for sigma={sigma:g}: scale them, e.g. to [0, 1], or lower sigma "
        f"({place})"
    )


def check_projections(rows: Any, sigma: float, kernel: str = "gaussian") -> None:
    """Raise `DataError` for rows whose random features would be inaccurate.

    Parameters
    ----------
    rows : rows of shape (n, n_inputs)
        Read block by block.
    sigma : float
    kernel : str

    Raises
    ------
    DataError
        If a feature is NaN or infinite, or the norm of a row exceeds `Kernel.longest`.
    """
    known = kernel_named(kernel)
    longest = known.longest(sigma)
    for block in row_blocks(len(rows), BLOCK_ROWS):
        place = first_longer(np.asarray(rows[block], np.float64), longest, known.norm)
        if place is not None:
            raise too_long(rows, block.start + place, sigma)


MAX_ACCURATE_NORM = 2.0**26
"""Squared norm times sigma up to which rounding an exponent matters no more than LIBSVM's rounding
of kernel values to float32."""


def without_gaps(rows: Any, sigma: float, centre: Array | float = 0.0) -> Array:
    """Return rows with the same Gaussian kernel matrix, but no far groups.

    If neighbours in a column are so far apart that the kernel is 0, the rows beyond are moved
    closer, as far as it remains 0; all other distances are preserved.

    Parameters
    ----------
    rows : array of shape (n, n_inputs)
    sigma : float
    centre : float or ndarray of shape (n_inputs,)
        Subtracted from the rows; if distances are then accurate, nothing else is done.

    Returns
    -------
    ndarray of float64, shape (n, n_inputs)
    """
    rows = np.asarray(rows, np.float64)
    with np.errstate(over="ignore"):
        centred = rows - centre
        if np.einsum("ij,ij->i", centred, centred).max(initial=0) <= MAX_ACCURATE_NORM / sigma:
            return np.asarray(centred)
        widest = 1.01 * math.sqrt(-ZERO_EXPONENT / sigma)
        return np.column_stack([_closed_up(column, widest) for column in rows.T])


def _closed_up(column: Array, widest: float) -> Array:
    """Shift numbers to start at 0 and have gaps between neighbours of at most ``widest``."""
    order = np.argsort(column)
    ordered = column[order]
    ends = np.append(np.flatnonzero(np.diff(ordered) > widest), len(column) - 1)
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts + 1
    shifts = np.append(0, np.cumsum(ordered[ends] - ordered[starts] + widest)[:-1])
    closed = np.empty_like(column)
    closed[order] = ordered - np.repeat(ordered[starts], lengths) + np.repeat(shifts, lengths)
    return closed

"""Products with kernel matrices that are computed panel by panel and not kept, in float32.

A panel is the kernel of some rows with all centres, small enough to stay in cache. One product with
it gives the values of functions at its rows; a second one, which needs those values, the gradient
with respect to their coefficients.

For the Gaussian kernel, the mean of the centres is subtracted from all rows. With
``s = sigma max_c ||c||^2``, the relative error of a value is then about ``2^-22 s``; `in_single`
returns whether that suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from dsgkit.kernels import Kernel, finite_rows, kernel_named
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.system.jit import fast, fast_parallel, prange
from dsgkit.system.machine import single_blas_thread, threads_for

Correlate = Callable[[Array], NDArray[np.floating]]

PANEL_ROWS = 128
"""Rows of a panel."""

TILE_CENTERS = 256
"""Centres that a thread takes at a time."""

_TILE_ROWS = 32
"""Rows of a product: ``_TILE_ROWS * TILE_CENTERS`` dot products stay in the first-level cache."""

MAX_SCALE = 2.0**12
"""Largest s for which Gaussian kernel values are accurate enough, within 0.1%."""

VALUES_PER_THREAD = 2**15
"""Smallest number of kernel values worth a thread."""

_ROUNDING_SHIFT = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer
_MIN_EXPONENT = np.float32(-120.0)  # smaller values become 2^-120
# Cephes' exp2f: 2^r for |r| <= 1/2, within 1.7e-7
_E1, _E2 = np.float32(6.931472028550421e-1), np.float32(2.402264791363012e-1)
_E3, _E4 = np.float32(5.550332471162809e-2), np.float32(9.618437357674640e-3)
_E5, _E6 = np.float32(1.339887440266574e-3), np.float32(1.535336188319500e-4)


def in_single(kernel: str, centers: Array, sigma: float) -> bool:
    """Return whether `Panels` are accurate for a kernel at some centres."""
    known = kernel_named(kernel)
    if known.degree is not None:
        squared = np.einsum("ij,ij->i", centers, centers).max()
        return bool(squared <= known.longest(sigma) ** 2)
    if known.name != "gaussian":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        centred = centers - centers.mean(axis=0)
        return bool(np.einsum("ij,ij->i", centred, centred).max() <= MAX_SCALE / sigma)


class Panels:
    """The functions ``k(., c)`` of some centres c, evaluated panel by panel.

    Parameters
    ----------
    kernel : str
        A kernel for which `in_single` is true; see `kernel_named`.
    centers : ndarray of float64, shape (n_centers, n_inputs)
    sigma : float
    """

    def __init__(self, kernel: str, centers: Array, sigma: float) -> None:
        self._kernel: Kernel = kernel_named(kernel)
        self._n, n_inputs = centers.shape
        chunks = -(-self._n // TILE_CENTERS)
        degree = self._kernel.degree
        self._centre = centers.mean(axis=0) if degree is None else np.zeros(n_inputs)
        self._sigma = sigma
        # exponents are to base 2
        self._scale = sigma if degree is not None else 2 * sigma * np.log2(np.e)
        padded = np.zeros((chunks * TILE_CENTERS, n_inputs), np.float32)
        padded[: self._n] = centers - self._centre
        self._half_norms = self._offsets(padded).reshape(chunks, TILE_CENTERS)
        by_chunk = padded.reshape(chunks, TILE_CENTERS, n_inputs).transpose(0, 2, 1)
        self._centers = np.ascontiguousarray(by_chunk)
        self._panel = np.empty((chunks, PANEL_ROWS, TILE_CENTERS), np.float32)

    def blocks(self, rows: Any, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield the values of functions ``Phi W`` at rows, panel by panel.

        Parameters
        ----------
        rows : rows of shape (n, n_inputs)
        W : ndarray of shape (n_centers, G)

        Yields
        ------
        values : ndarray of shape (n_rows, G)
        correlate : callable
            Maps C, shape (n_rows, k), to ``Phi' C``; valid only until the next panel.

        Raises
        ------
        DataError
            If a feature is NaN or infinite.
        """
        chunks, n_models = len(self._centers), W.shape[1]
        weights = np.zeros((chunks, TILE_CENTERS, n_models), np.float32)
        weights.reshape(-1, n_models)[: self._n] = W
        work = min(PANEL_ROWS, len(rows)) * chunks * TILE_CENTERS
        with single_blas_thread(), threads_for(work, VALUES_PER_THREAD):
            for block in row_blocks(len(rows), PANEL_ROWS):
                X, offsets = self._centred(finite_rows(rows[block]))
                parts = np.zeros((get_num_threads(), len(X), n_models), np.float32)
                _fill(
                    X * np.float32(self._scale),
                    offsets,
                    self._centers,
                    self._half_norms,
                    self._kernel.degree or 0,
                    weights,
                    self._panel,
                    parts,
                )
                yield parts.sum(axis=0, dtype=np.float64), self._correlate

    def _correlate(self, C: Array) -> Single:
        chunks = len(self._panel)
        out = np.empty((chunks, TILE_CENTERS, C.shape[1]), np.float32)
        _correlate(self._panel, np.ascontiguousarray(C, np.float32), out, get_num_threads())
        return out.reshape(chunks * TILE_CENTERS, -1)[: self._n]

    def _centred(self, rows: Array) -> tuple[Single, Single]:
        """Return centred rows, and the offset to subtract from their exponents."""
        X = rows - self._centre
        if self._kernel.degree is not None:
            X = X.astype(np.float32)
            return X, self._offsets(X)
        with np.errstate(over="ignore"):
            # twice as far as any centre, the kernel is 0, and squares may overflow
            far = np.einsum("ij,ij->i", X, X) > 4 * MAX_SCALE / self._sigma
        X[far] = 0
        X = X.astype(np.float32)
        offsets = self._offsets(X)
        offsets[far] = MAX_SCALE
        return X, offsets

    def _offsets(self, X: Single) -> Single:
        """Return the offset to subtract from each row's exponents."""
        return np.einsum("ij,ij->i", X, X) * np.float32(self._scale / 2)


@fast
def _share(count: int, part: int, parts: int) -> tuple[int, int]:
    """Return the bounds of one of ``parts`` even runs of ``0..count``."""
    return count * part // parts, count * (part + 1) // parts


@fast
def _exp2(u):  # type: ignore[no-untyped-def]
    """Return 2^u for ``-120 <= u <= 0``, branch-free."""
    shifted = u + _ROUNDING_SHIFT
    r = u - (shifted - _ROUNDING_SHIFT)
    p = (((((_E6 * r + _E5) * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + np.float32(1.0)
    whole = np.int32(np.float32(shifted).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + whole).view(np.float32)


@fast
def _gaussian(z, offset, offsets):  # type: ignore[no-untyped-def]
    for j in range(len(z)):
        u = z[j] - offset - offsets[j]
        z[j] = _exp2(max(min(u, np.float32(0.0)), _MIN_EXPONENT))


@fast
def _power(z: Single, degree: int) -> None:
    for j in range(len(z)):
        base = value = z[j]
        for _ in range(degree - 1):
            value *= base
        z[j] = value


@fast_parallel
def _fill(X, offsets, centers, center_offsets, degree, W, panel, parts):  # type: ignore[no-untyped-def]
    """Compute a panel, and its product with W as a partial sum per thread."""
    n, n_parts = X.shape[0], parts.shape[0]
    for part in prange(n_parts):
        first, last = _share(centers.shape[0], part, n_parts)
        for chunk in range(first, last):
            tiles = panel[chunk, :n]
            for lo in range(0, n, _TILE_ROWS):
                hi = min(lo + _TILE_ROWS, n)
                z = tiles[lo:hi]
                np.dot(X[lo:hi], centers[chunk], z)
                for i in range(hi - lo):
                    if degree == 0:
                        _gaussian(z[i], offsets[lo + i], center_offsets[chunk])
                    elif degree > 1:
                        _power(z[i], degree)
            parts[part] += np.dot(tiles, W[chunk])


@fast_parallel
def _correlate(panel: Single, C: Single, out: Single, n_parts: int) -> None:
    for part in prange(n_parts):
        first, last = _share(panel.shape[0], part, n_parts)
        for chunk in range(first, last):
            np.dot(panel[chunk, : len(C)].T, C, out[chunk])

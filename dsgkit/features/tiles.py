"""Compiled kernels for cosine and sine features of a tile of rows.

A tile is a few dozen rows by one block of frequencies: small enough that its projections, features
and function values stay in a core's cache between being computed and being used. The projection
is a BLAS call on one thread; tiles run in parallel.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from dsgkit._jit import fast, fast_parallel, prange, reducing_parallel

TILE_ROWS = 64
"""Rows of a tile: 64 rows of 512 float32 features take 128 KiB, an eighth of a usual L2 cache."""
MANY_MODELS_TILE_ROWS = 256
"""Rows of a tile when many models share it: BLAS packs the coefficients anew for every tile."""

_TWO_OVER_PI = np.float32(0.63661975)
_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer
# pi/2 in three parts, each short enough that its multiples are exact (Cody & Waite)
_P1, _P2, _P3 = np.float32(1.5703125), np.float32(4.8375129699707031e-4), np.float32(7.5497899e-8)


@fast
def sincos(x):  # type: ignore[no-untyped-def]
    """Return (cos x, sin x) in float32, branch-free; absolute error below 2e-6 for |x| < 5000."""
    shifted = x * _TWO_OVER_PI + _ROUND
    quadrant = np.float32(shifted).view(np.int32)
    k = shifted - _ROUND
    y = ((x - k * _P1) - k * _P2) - k * _P3
    z = y * y
    s = np.float32(-1.9515295891e-4) * z + np.float32(8.3321608736e-3)
    s = (s * z + np.float32(-1.6666654611e-1)) * z * y + y
    c = np.float32(2.443315711809948e-5) * z + np.float32(-1.388731625493765e-3)
    c = (c * z + np.float32(4.166664568298827e-2)) * z * z - np.float32(0.5) * z + np.float32(1.0)
    swap = (quadrant & np.int32(1)) != 0
    cosine = s if swap else c
    sine = c if swap else s
    cosine = -cosine if ((quadrant + np.int32(1)) & np.int32(2)) != 0 else cosine
    sine = -sine if (quadrant & np.int32(2)) != 0 else sine
    return cosine, sine


@fast
def _tile_features(Z, m, out):  # type: ignore[no-untyped-def]
    """Write [cos Z, sin Z] of a tile of projections into ``out`` (rows, 2m)."""
    for i in range(Z.shape[0]):
        z = Z[i]
        row = out[i]
        for j in range(m):
            c, s = sincos(z[j])
            row[j] = c
            row[m + j] = s


@fast
def _bounds(n, tile_rows, part, parts):  # type: ignore[no-untyped-def]
    """Return the rows of one of ``parts`` runs of whole tiles."""
    tiles = (n + tile_rows - 1) // tile_rows
    return min(n, tiles * part // parts * tile_rows), min(
        n, tiles * (part + 1) // parts * tile_rows
    )


@fast_parallel
def _cos_sin(X, W, out, Z):  # type: ignore[no-untyped-def]
    parts, rows, m = Z.shape
    for part in prange(parts):
        start, stop = _bounds(X.shape[0], rows, part, parts)
        for lo in range(start, stop, rows):
            hi = min(lo + rows, stop)
            z = Z[part, : hi - lo]
            np.dot(X[lo:hi], W, z)
            _tile_features(z, m, out[lo:hi])


@fast_parallel
def _correlate(Xt, Wt, C, Z, cosines, sines, out):  # type: ignore[no-untyped-def]
    m = Wt.shape[0]
    parts = Z.shape[0]
    for part in prange(parts):
        lo, hi = m * part // parts, m * (part + 1) // parts
        z, c, s = Z[part, : hi - lo], cosines[part, : hi - lo], sines[part, : hi - lo]
        np.dot(Wt[lo:hi], Xt, z)
        for j in range(hi - lo):
            for i in range(z.shape[1]):
                c[j, i], s[j, i] = sincos(z[j, i])
        np.dot(c, C, out[lo:hi])
        np.dot(s, C, out[m + lo : m + hi])


@fast_parallel
def _accumulate(X, W, A, F, Z, Phi, V):  # type: ignore[no-untyped-def]
    parts, rows, m = Z.shape
    for part in prange(parts):
        start, stop = _bounds(X.shape[0], rows, part, parts)
        for lo in range(start, stop, rows):
            hi = min(lo + rows, stop)
            z, phi, v = Z[part, : hi - lo], Phi[part, : hi - lo], V[part, : hi - lo]
            np.dot(X[lo:hi], W, z)
            _tile_features(z, m, phi)
            np.dot(phi, A, v)
            for i in range(hi - lo):
                for g in range(v.shape[1]):
                    F[lo + i, g] += v[i, g]


@reducing_parallel
def _accumulate_one(X, W, a, F, Z):  # type: ignore[no-untyped-def]
    parts, rows, m = Z.shape
    for part in prange(parts):
        start, stop = _bounds(X.shape[0], rows, part, parts)
        for lo in range(start, stop, rows):
            hi = min(lo + rows, stop)
            z = Z[part, : hi - lo]
            np.dot(X[lo:hi], W, z)
            for i in range(hi - lo):
                total = np.float32(0.0)
                for j in range(m):
                    c, s = sincos(z[i, j])
                    total += c * a[j] + s * a[m + j]
                F[lo + i] += total


def _scratch(rows: int, columns: int) -> NDArray[np.float32]:
    """Return one tile buffer per thread."""
    return np.empty((get_num_threads(), rows, columns), np.float32)


def cos_sin(X: NDArray[np.float32], W: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unnormalised features ``[cos XW, sin XW]``.

    Parameters
    ----------
    X : ndarray of float32, shape (n, n_inputs)
    W : ndarray of float32, shape (n_inputs, m)

    Returns
    -------
    ndarray of float32, shape (n, 2m)
    """
    out = np.empty((len(X), 2 * W.shape[1]), np.float32)
    _cos_sin(X, W, out, _scratch(TILE_ROWS, W.shape[1]))
    return out


def correlate(
    X: NDArray[np.float32], W: NDArray[np.float32], C: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return ``[cos XW, sin XW].T @ C``, each thread a share of the frequencies.

    Parameters
    ----------
    X : ndarray of float32, shape (n, n_inputs)
    W : ndarray of float32, shape (n_inputs, m)
    C : ndarray of float32, shape (n, n_models)

    Returns
    -------
    ndarray of float32, shape (2m, n_models)
    """
    m = W.shape[1]
    out = np.empty((2 * m, C.shape[1]), np.float32)
    share = -(-m // get_num_threads())
    scratch = (_scratch(share, len(X)) for _ in range(3))
    _correlate(np.ascontiguousarray(X.T), np.ascontiguousarray(W.T), C, *scratch, out)
    return out


def add_block(
    X: NDArray[np.float32],
    W: NDArray[np.float32],
    coefficients: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Add ``[cos XW, sin XW] @ coefficients`` to ``values``, tile by tile.

    Parameters
    ----------
    X : ndarray of float32, shape (n, n_inputs)
    W : ndarray of float32, shape (n_inputs, m)
    coefficients : ndarray of float32, shape (2m, n_models)
    values : ndarray of float32, shape (n, n_models)
        Changed in place.
    """
    m, n_models = W.shape[1], coefficients.shape[1]
    if n_models == 1:
        _accumulate_one(X, W, coefficients[:, 0], values[:, 0], _scratch(TILE_ROWS, m))
        return
    rows = MANY_MODELS_TILE_ROWS if n_models > 2 * TILE_ROWS else TILE_ROWS
    scratch = _scratch(rows, m), _scratch(rows, 2 * m), _scratch(rows, n_models)
    _accumulate(X, W, coefficients, values, *scratch)

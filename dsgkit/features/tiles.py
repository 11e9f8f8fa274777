"""Compiled kernels for cosine and sine features of a tile of rows.

A tile is some rows by one block of frequencies, small enough that its projections stay in a core's
cache until they are used. The projection is a BLAS call on one thread; tiles run in parallel.
Results do not depend on the number of threads.

Frequencies are in *half turns*, ``u = w.x / pi``: subtracting whole half turns is then exact in
float32, whatever the size of u, and leaves one sign for cosine and sine.

Errors: `sincos` and `cosine` are within 2.5e-7 of the exact values at their float32 argument. The
argument is a float32 sum of products, within ``(n_inputs + 2) 2^-24 pi sum_k |W_k x_k|`` radians
of the exact one. If the features of a single model use a phase (`add_blocks`), phase and difference
are rounded too: up to ``2^-24 pi (|u| + 8)`` radians more. Underflow adds up to 2^-149, the
smallest float32, per product.

`sincos` supports up to 2^22 half turns: rows whose projections are larger are rejected when they
are read (`Blocks.read`). Those on heavy-tailed frequencies may be of any size: with ``wide``, whole
turns are subtracted first, which is exact too: a float32 beyond 2^24 becomes 0.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads

from dsgkit.linalg import Single
from dsgkit.system.jit import fast, fast_parallel, prange, reducing_parallel
from dsgkit.system.machine import cache_size, threads_for

MAX_TILE_ROWS = 256
"""Rows of the largest tile: enough to amortise packing a matrix for BLAS."""

MIN_TILE_ROWS = 16

MAX_UNPACKED_TERMS = 10**6
"""Size of a matrix product up to which OpenBLAS does not pack, which is 1.2 times faster."""

THREAD_FREQUENCIES = 64
"""Frequencies per task of `correlate`."""

TERMS_PER_THREAD = 3 * 2**20
"""Smallest number of multiply-adds worth a thread: some 0.05 to 0.1 ms."""

_SINCOS_TERMS = 9
"""Multiply-adds that take as long as a cosine and a sine."""

_ROUNDING_SHIFT = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer, up to 2^22
# Minimax polynomials in r^2 for |r| <= 1/2 of cos(pi r) and sin(pi r) / r, rounded to float32
_C1, _C2 = np.float32(-4.934795379638672), np.float32(4.058451175689697)
_C3, _C4 = np.float32(-1.3320938348770142), np.float32(0.2200806587934494)
_S0, _S1, _S2 = np.float32(3.14159265), np.float32(-5.1677069664), np.float32(2.5500314235687256)
_S3, _S4 = np.float32(-0.5980451703071594), np.float32(0.0772201269865036)


def tile_rows(n_inputs: int, n_frequencies: int, n_models: int) -> int:
    """Return the number of rows of a tile, a multiple of 8 in 16..256.

    As many as BLAS multiplies without packing (`MAX_UNPACKED_TERMS`, for the projection and for the
    product with the coefficients of several models). If packing is unavoidable, `MAX_TILE_ROWS`, so
    that it is 1/256 of the work. The projections always fit a core's second-level cache.
    """
    columns = max(n_inputs, 2 * n_models if n_models > 1 else 1)
    rows = MAX_UNPACKED_TERMS // (n_frequencies * columns)
    if rows < MIN_TILE_ROWS:
        rows = MAX_TILE_ROWS
    cached = cache_size() // (4 * n_frequencies)
    return max(MIN_TILE_ROWS, min(rows, cached, MAX_TILE_ROWS) // 8 * 8)


@fast
def _signed(x, sign):  # type: ignore[no-untyped-def]
    return np.int32(np.float32(x).view(np.int32) ^ sign).view(np.float32)


@fast
def sincos(u):  # type: ignore[no-untyped-def]
    """Return (cos(pi u), sin(pi u)) in float32, branch-free; within 2.5e-7 for |u| < 2^22."""
    shifted = u + _ROUNDING_SHIFT
    r = u - (shifted - _ROUNDING_SHIFT)  # subtract whole half turns, which leave a sign
    sign = np.int32(np.float32(shifted).view(np.int32) << np.int32(31))
    z = r * r
    c = (((_C4 * z + _C3) * z + _C2) * z + _C1) * z + np.float32(1.0)
    s = ((((_S4 * z + _S3) * z + _S2) * z + _S1) * z + _S0) * r
    return _signed(c, sign), _signed(s, sign)


@fast
def cosine(u):  # type: ignore[no-untyped-def]
    """Return cos(pi u) as `sincos` does; the compiler drops the sine."""
    return sincos(u)[0]


@fast
def tile_features(Z: Single, out: Single) -> None:
    """Write [cos pi Z, sin pi Z] of a tile of projections (rows, m) into ``out`` (rows, 2m).

    The halves of a row are separate views: with ``out[i, m + j]`` the loop is not vectorised.
    """
    m = Z.shape[1]
    for i in range(Z.shape[0]):
        z, cosines, sines = Z[i], out[i, :m], out[i, m:]
        for j in range(m):
            cosines[j], sines[j] = sincos(z[j])


@fast
def _fold(Z: Single) -> None:
    """Subtract whole turns from a tile of projections, exactly; one half turn remains at most."""
    for i in range(Z.shape[0]):
        z = Z[i]
        for j in range(Z.shape[1]):
            z[j] -= np.float32(2.0) * np.rint(z[j] * np.float32(0.5))


@fast_parallel
def _cos_sin(X: Single, W: Single, wide: bool, out: Single, Z: Single) -> None:
    parts, rows, _ = Z.shape
    n, tiles = X.shape[0], (X.shape[0] + rows - 1) // rows
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * rows, min((tile + 1) * rows, n)
            z = Z[part, : hi - lo]
            np.dot(X[lo:hi], W, z)
            if wide:
                _fold(z)
            tile_features(z, out[lo:hi])


@fast_parallel
def _correlate(X, Wt, wide, C, rows, Z, Phi, S, out):  # type: ignore[no-untyped-def]
    parts, m, n, G = Z.shape[0], Wt.shape[0], X.shape[0], C.shape[1]
    most = S.shape[1] // 2
    runs = (m + most - 1) // most
    for part in prange(parts):
        for run in range(runs * part // parts, runs * (part + 1) // parts):
            a, b = run * most, min((run + 1) * most, m)
            k = b - a
            s = S[part, : 2 * k]
            for lo in range(0, n, rows):
                hi = min(lo + rows, n)
                z = Z[part, : (hi - lo) * k].reshape((hi - lo, k))
                phi = Phi[part, : 2 * (hi - lo) * k].reshape((hi - lo, 2 * k))
                np.dot(X[lo:hi], Wt[a:b].T, z)
                if wide:
                    _fold(z)
                tile_features(z, phi)
                np.dot(phi.T, C[lo:hi], s)
                for j in range(k):
                    for g in range(G):
                        out[a + j, g] += s[j, g]
                        out[m + a + j, g] += s[k + j, g]


@fast_parallel
def _accumulate(X, W, wide, A, F, Z, Phi, V):  # type: ignore[no-untyped-def]
    parts, rows, _ = Z.shape
    n, tiles = X.shape[0], (X.shape[0] + rows - 1) // rows
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * rows, min((tile + 1) * rows, n)
            x, f = X[lo:hi], F[lo:hi]
            z, phi, v = Z[part, : hi - lo], Phi[part, : hi - lo], V[part, : hi - lo]
            for t in range(W.shape[0]):
                np.dot(x, W[t], z)
                if wide:
                    _fold(z)
                tile_features(z, phi)
                np.dot(phi, A[t], v)
                for i in range(hi - lo):
                    for g in range(v.shape[1]):
                        f[i, g] += v[i, g]


@reducing_parallel
def _accumulate_one(X, W, wide, amplitude, phase, f, Z):  # type: ignore[no-untyped-def]
    parts, rows, m = Z.shape
    n, tiles = X.shape[0], (X.shape[0] + rows - 1) // rows
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * rows, min((tile + 1) * rows, n)
            x, z = X[lo:hi], Z[part, : hi - lo]
            for t in range(W.shape[0]):
                np.dot(x, W[t], z)
                if wide:
                    _fold(z)
                a, p = amplitude[t], phase[t]
                for i in range(hi - lo):
                    row = z[i]
                    total = np.float32(0.0)
                    for j in range(m):
                        total += a[j] * cosine(row[j] - p[j])
                    f[lo + i] += total


def scratch(*shape: int) -> Single:
    """Return one buffer per thread."""
    return np.empty((get_num_threads(), *shape), np.float32)


def _terms(rows: int, n_inputs: int, n_frequencies: int, n_models: int) -> float:
    """Return the approximate multiply-adds of features of rows and their use by the models."""
    return float(rows) * n_frequencies * (n_inputs + _SINCOS_TERMS + 2 * n_models)


def cos_sin(X: Single, W: Single, *, wide: bool = False) -> Single:
    """Return the unnormalised features ``[cos pi XW, sin pi XW]``, shape (n, 2m).

    ``W`` (n_inputs, m) is in half turns; projections may be beyond 2^22 of them only with ``wide``.
    """
    n_inputs, m = W.shape
    out = np.empty((len(X), 2 * m), np.float32)
    with threads_for(_terms(len(X), n_inputs, m, 0), TERMS_PER_THREAD):
        _cos_sin(X, W, wide, out, scratch(tile_rows(n_inputs, m, 1), m))
    return out


def correlate(X: Single, W: Single, C: Single, *, wide: bool = False) -> Single:
    """Return ``[cos pi XW, sin pi XW].T @ C``, in parallel over the frequencies.

    ``C`` is of shape (n, n_models), the result (2m, n_models).
    """
    (n_inputs, m), n_models = W.shape, C.shape[1]
    out = np.zeros((2 * m, n_models), np.float32)
    area = MAX_TILE_ROWS * THREAD_FREQUENCIES
    with threads_for(_terms(len(X), n_inputs, m, n_models), TERMS_PER_THREAD):
        buffers = scratch(area), scratch(2 * area), scratch(2 * THREAD_FREQUENCIES, n_models)
        _correlate(X, np.ascontiguousarray(W.T), wide, C, MAX_TILE_ROWS, *buffers, out)
    return out


def add_blocks(
    X: Single, W: Single, coefficients: Single, values: Single, *, wide: bool = False
) -> None:
    """Add ``sum_t [cos pi X W_t, sin pi X W_t] @ coefficients_t`` to ``values``, tile by tile.

    For one model, the cosine and sine of a frequency are merged into one cosine with a phase:
    ``a cos u + b sin u = hypot(a, b) cos(u - atan2(b, a))``.

    ``W`` is of shape (n_blocks, n_inputs, m), coefficients of (n_blocks, 2m, n_models), and values
    of (n, n_models).
    """
    (n_blocks, n_inputs, m), n_models = W.shape, coefficients.shape[2]
    rows = tile_rows(n_inputs, m, n_models)
    with threads_for(_terms(n_blocks * len(X), n_inputs, m, n_models), TERMS_PER_THREAD):
        if n_models > 1:
            buffers = scratch(rows, m), scratch(rows, 2 * m), scratch(rows, n_models)
            _accumulate(X, W, wide, coefficients, values, *buffers)
            return
        a, b = coefficients[:, :m, 0], coefficients[:, m:, 0]
        amplitude, phase = np.hypot(a, b), np.arctan2(b, a) * np.float32(1 / np.pi)
        _accumulate_one(X, W, wide, amplitude, phase, values[:, 0], scratch(rows, m))

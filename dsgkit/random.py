"""Random bits, numbers and draws of rows that never change.

A model holds only seeds and coefficients, so block t of seed s must be the same on every machine
and in every later version. The bits come from Philox 4x32-10 (Salmon, Moraes, Dror & Shaw,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011); the normals from a Box-Muller transform
that uses only correctly rounded float32 operations (add, multiply, square root, conversions), which
no compiler or library release can change. A change takes a new `dsgkit.seeds.STREAM_VERSION`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Single
from dsgkit.system.jit import exact, exact_parallel, prange
from dsgkit.system.machine import threads_for

FREQUENCIES = 1
DRAWS = 2  # of rows: source i draws from stream DRAWS + i
SCALES = 2**31  # lengths of structured frequencies; larger than the stream of any source
SKETCHES = 2**31 + 1
SIGNS = 2**31 + 2
"""Numbers of independent streams of a seed."""

NORMALS_PER_THREAD, DRAWS_PER_THREAD = 2**15, 1000
"""Smallest counts of numbers, and of draws without replacement, worth a thread: some 0.1 ms."""

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_ROUNDS, _FEISTEL_ROUNDS = 10, 6
_MASK, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@exact
def _round(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """Return one round of Philox 4x32 on a counter (all uint32)."""
    p0 = _M0 * np.uint64(c0)
    p1 = _M1 * np.uint64(c2)
    return (
        np.uint32(p1 >> _HALF) ^ c1 ^ k0,
        np.uint32(p1 & _MASK),
        np.uint32(p0 >> _HALF) ^ c3 ^ k1,
        np.uint32(p0 & _MASK),
    )


@exact
def philox(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """Return the four output words of Philox 4x32-10 for one counter and key (all uint32)."""
    for _ in range(_ROUNDS):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)
    return c0, c1, c2, c3


@exact
def _philox_row(c1, c2, c3, k0, k1, words):  # type: ignore[no-untyped-def]
    """Fill column j of ``words`` (4, m) with Philox of counter (j, c1, c2, c3).

    Round by round over all columns: a loop that compilers vectorise, unlike one over `philox`.
    """
    w0, w1, w2, w3 = words[0], words[1], words[2], words[3]
    for j in range(words.shape[1]):
        w0[j], w1[j], w2[j], w3[j] = np.uint32(j), c1, c2, c3
    for _ in range(_ROUNDS):
        for j in range(words.shape[1]):
            w0[j], w1[j], w2[j], w3[j] = _round(w0[j], w1[j], w2[j], w3[j], k0, k1)
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)


@exact
def _log(u):  # type: ignore[no-untyped-def]
    """Return log((u + 1/2) / 2^32) of a uint32, in float32 (Cephes' logf polynomial)."""
    x = np.float32(u) + np.float32(0.5)
    bits = np.float32(x).view(np.int32)
    exponent = (bits >> np.int32(23)) - np.int32(126)
    mantissa = np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000)).view(np.float32)
    low = mantissa < np.float32(0.70710678)
    exponent = exponent - np.int32(low)
    r = (mantissa + mantissa if low else mantissa) - np.float32(1.0)
    e = np.float32(exponent) - np.float32(32.0)
    z = r * r
    y = np.float32(7.0376836292e-2)
    y = y * r + np.float32(-1.1514610310e-1)
    y = y * r + np.float32(1.1676998740e-1)
    y = y * r + np.float32(-1.2420140846e-1)
    y = y * r + np.float32(1.4249322787e-1)
    y = y * r + np.float32(-1.6668057665e-1)
    y = y * r + np.float32(2.0000714765e-1)
    y = y * r + np.float32(-2.4999993993e-1)
    y = y * r + np.float32(3.3333331174e-1)
    y = y * r * z + np.float32(-2.12194440e-4) * e - np.float32(0.5) * z
    return r + y + np.float32(0.693359375) * e


@exact
def _turn(u):  # type: ignore[no-untyped-def]
    """Return cosine and sine of u / 2^32 of a full turn, in float32.

    The quadrant is removed in integers, so the reduction is exact; polynomials of Cephes.
    """
    quadrant = np.uint32(u + np.uint32(0x20000000)) >> np.uint32(30)
    rest = np.uint32(u - np.uint32(quadrant << np.uint32(30))).view(np.int32)
    y = np.float32(rest) * np.float32(1.4629180792671596e-09)  # (pi/2) / 2^30
    z = y * y
    s = np.float32(-1.9515295891e-4) * z + np.float32(8.3321608736e-3)
    s = (s * z + np.float32(-1.6666654611e-1)) * z * y + y
    c = np.float32(2.443315711809948e-5) * z + np.float32(-1.388731625493765e-3)
    c = (c * z + np.float32(4.166664568298827e-2)) * z * z - np.float32(0.5) * z + np.float32(1.0)
    swap = (quadrant & np.uint32(1)) != 0
    cosine, sine = (s, c) if swap else (c, s)
    cosine = -cosine if quadrant == 1 or quadrant == 2 else cosine
    sine = -sine if quadrant >= 2 else sine
    return cosine, sine


@exact
def _normal_rows(words, out, row):  # type: ignore[no-untyped-def]
    """Fill up to four rows of ``out`` (d, m) from ``row`` on with the normals of ``words``."""
    for pair in range(2):
        first, second = row + 2 * pair, row + 2 * pair + 1
        if first < out.shape[0]:
            for j in range(out.shape[1]):
                radius = np.sqrt(np.float32(-2.0) * _log(words[2 * pair, j]))
                cosine, sine = _turn(words[2 * pair + 1, j])
                out[first, j] = radius * cosine
                if second < out.shape[0]:
                    out[second, j] = radius * sine


@exact_parallel
def _fill_normals(out, first, stream, k0, k1):  # type: ignore[no-untyped-def]
    """Fill ``out`` (count, d, m): entry (t, i, j) has counter (j, i // 4, first + t, stream)."""
    count, d, m = out.shape
    groups = (d + 3) // 4
    for task in prange(count * groups):
        t, group = task // groups, task % groups
        words = np.empty((4, m), np.uint32)
        _philox_row(np.uint32(group), np.uint32(first + t), stream, k0, k1, words)
        _normal_rows(words, out[t], 4 * group)


@exact_parallel
def _fill_words(out, first, stream, k0, k1):  # type: ignore[no-untyped-def]
    """Fill ``out`` (n, 2) of uint64: pair i holds the words of counter ``first + i``."""
    for i in prange(out.shape[0]):
        number = first + np.uint64(i)
        w0, w1, w2, w3 = philox(
            np.uint32(number & _MASK), np.uint32(number >> _HALF), np.uint32(0), stream, k0, k1
        )
        out[i, 0] = (np.uint64(w1) << _HALF) | np.uint64(w0)
        out[i, 1] = (np.uint64(w3) << _HALF) | np.uint64(w2)


def key_words(seed: int) -> tuple[np.uint32, np.uint32]:
    """Return the two words of Philox's key for a seed."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"a seed must be in 0..2^64-1, got {seed}")
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)


def normal_blocks(
    seed: int, first: int, count: int, n_rows: int, n_columns: int, stream: int = FREQUENCIES
) -> Single:
    """Return blocks number ``first`` to ``first + count`` of the standard normals of a seed.

    An entry depends only on the seed, the block (in 0..2^32-1), its row and its column: a block
    with more rows or columns starts with the entries of a smaller one.
    """
    out = np.empty((count, n_rows, n_columns), np.float32)
    with threads_for(out.size, NORMALS_PER_THREAD):
        _fill_normals(out, first, np.uint32(stream), *key_words(seed))
    return out


def words(seed: int, first: int, count: int, stream: int) -> NDArray[np.uint64]:
    """Return random 64-bit words number ``first`` to ``first + count`` of a seed's stream."""
    pair = first // 2
    out = np.empty(((first + count + 1) // 2 - pair, 2), np.uint64)
    with threads_for(out.size, NORMALS_PER_THREAD):
        _fill_words(out, np.uint64(pair), np.uint32(stream), *key_words(seed))
    return out.reshape(-1)[first - 2 * pair : first - 2 * pair + count]


def draw_with_replacement(
    seed: int, source: int, first: int, n_iterations: int, batch_size: int, pool_size: int
) -> NDArray[np.int64]:
    """Return positions in a pool of rows, shape (n_iterations, batch_size), drawn independently.

    They depend only on the seed, the numbers of source and iteration (from ``first`` on), and the
    size of the pool (below 2^32).
    """
    drawn = words(seed, first * batch_size, n_iterations * batch_size, DRAWS + source)
    positions = ((drawn >> _HALF) * np.uint64(pool_size)) >> _HALF
    return positions.astype(np.int64).reshape(n_iterations, batch_size)


@exact
def _permuted(position, bits, size, epoch, stream, k0, k1):  # type: ignore[no-untyped-def]
    """Return the image of a position under one epoch's Feistel permutation of 0..size-1."""
    half = np.uint32(bits // 2)
    mask = np.uint32((1 << (bits // 2)) - 1)
    x = np.uint64(position)
    while True:
        left, right = np.uint32(x >> np.uint64(half)), np.uint32(x & np.uint64(mask))
        for r in range(_FEISTEL_ROUNDS):
            mixed = philox(right, np.uint32(r), np.uint32(epoch), stream, k0, k1)[0]
            left, right = right, np.uint32((left ^ mixed) & mask)
        x = (np.uint64(left) << np.uint64(half)) | np.uint64(right)
        if x < np.uint64(size):
            return np.int64(x)


@exact_parallel
def _fill_passes(out, start, bits, size, stream, k0, k1):  # type: ignore[no-untyped-def]
    for i in prange(len(out)):
        place = start + i
        out[i] = _permuted(place % size, bits, size, place // size, stream, k0, k1)


def draw_in_passes(
    seed: int, source: int, first: int, n_iterations: int, batch_size: int, pool_size: int
) -> NDArray[np.int64]:
    """Return draws that visit every row once per pass, in a new random order each pass.

    The order is a Feistel network with cycle walking, evaluated position by position: a pass
    over ten million rows needs no memory for its permutation. Otherwise as `draw_with_replacement`.
    """
    bits = max(2, (pool_size - 1).bit_length())
    bits += bits % 2
    out = np.empty(n_iterations * batch_size, np.int64)
    stream = np.uint32(DRAWS + source)
    with threads_for(len(out), DRAWS_PER_THREAD):
        _fill_passes(out, first * batch_size, bits, pool_size, stream, *key_words(seed))
    return out.reshape(n_iterations, batch_size)


def drawn_rows(seed: int, count: int, n_rows: int, source: int = 0) -> NDArray[np.int64]:
    """Return ``count`` row numbers, ascending, drawn without replacement."""
    return np.sort(draw_in_passes(seed, source, 0, 1, count, n_rows)[0])

"""Draws of rows for iteration t, which depend only on the seed, the source and t."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.random.stream import DRAWS, key_words, philox, words
from dsgkit.system.jit import exact, exact_parallel, prange
from dsgkit.system.machine import threads_for

DRAWS_PER_THREAD = 1000
"""Smallest number of draws without replacement worth a thread: some 0.1 ms."""

_ROUNDS = 6


def draw_with_replacement(
    seed: int, source: int, first: int, n_iterations: int, batch_size: int, pool_size: int
) -> NDArray[np.int64]:
    """Return independent uniform draws for a run of iterations.

    Parameters
    ----------
    seed : int
        Seed of the run.
    source : int
        Number of the data source; sources draw independently.
    first, n_iterations : int
        Iterations ``first .. first + n_iterations`` (0-based).
    batch_size, pool_size : int
        Rows per iteration, and rows to draw from (below 2^32).

    Returns
    -------
    ndarray of int64, shape (n_iterations, batch_size)
        Positions in the pool. Pools of the same size get the same positions.
    """
    high = words(seed, first * batch_size, n_iterations * batch_size, DRAWS + source) >> np.uint64(
        32
    )
    positions = (high * np.uint64(pool_size)) >> np.uint64(32)
    return positions.astype(np.int64).reshape(n_iterations, batch_size)


@exact
def _permuted(position, bits, size, epoch, stream, k0, k1):  # type: ignore[no-untyped-def]
    """Return the image of a position under one epoch's Feistel permutation of 0..size-1."""
    half = np.uint32(bits // 2)
    mask = np.uint32((1 << (bits // 2)) - 1)
    x = np.uint64(position)
    while True:
        left, right = np.uint32(x >> np.uint64(half)), np.uint32(x & np.uint64(mask))
        for r in range(_ROUNDS):
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
    over ten million rows needs no memory for its permutation.

    Parameters and returns are those of `draw_with_replacement`.
    """
    bits = max(2, (pool_size - 1).bit_length())
    bits += bits % 2
    out = np.empty(n_iterations * batch_size, np.int64)
    stream = np.uint32(DRAWS + source)
    with threads_for(len(out), DRAWS_PER_THREAD):
        _fill_passes(out, first * batch_size, bits, pool_size, stream, *key_words(seed))
    return out.reshape(n_iterations, batch_size)

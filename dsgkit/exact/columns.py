"""A cache of kernel columns, computed on first use.

In addition to the rows there is one more point in feature space, the *anchor*: the origin, or the
mean of some of the rows (`dsgkit.exact.smo`). A column is stored in float32, each value rounded
from double; so a problem solved with them is that of a kernel within 2^-24 of the exact one. Values
do not depend on how many columns are kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import NotFiniteError
from dsgkit.linalg import Array, Single
from dsgkit.system.jit import fast, fast_parallel, prange

MIN_COLUMNS = 2
"""Columns that a step on a pair of variables needs at once."""

_TILE_DISTANCES = 512
"""Distances that are summed at a time, so that they stay in the first-level cache."""

_MIRROR_TILE = 64
"""Rows and columns that are mirrored at a time, for the same reason."""


class KernelColumns(NamedTuple):
    """A cache of kernel columns for compiled code; made by `kernel_columns`, read by `column`.

    Attributes
    ----------
    points : ndarray of shape (n_inputs, n)
        The rows, transposed.
    sigma : float
        0 for the linear kernel.
    mean_from : int
        The anchor is the mean of the rows from here on; ``n`` for the origin.
    store : ndarray of float32, shape (capacity + 1, n + 1)
        Columns that are kept; the last is the anchor's.
    slot : ndarray of shape (n + 1,)
        Position of each column in the store, or -1.
    owner, used : ndarrays of shape (capacity,)
        Column at each position (-1: none), and the time of its last use.
    clock : ndarray of shape (1,)
        Number of uses so far.
    """

    points: Array
    sigma: float
    mean_from: int
    store: Single
    slot: NDArray[np.int64]
    owner: NDArray[np.int64]
    used: NDArray[np.int64]
    clock: NDArray[np.int64]
    diagonal: Array

    @property
    def anchor(self) -> int:
        return len(self.slot) - 1


def kernel_columns(
    points: Array, kernel: str, sigma: float, capacity: int, mean_from: int | None = None
) -> KernelColumns:
    """Return the columns of the kernel matrix of rows, passed transposed, and of an anchor.

    The kernel is "gaussian", or "linear" with ``<x, x'> + 1``. The anchor is the mean in feature
    space of the rows from ``mean_from`` on, for which every column is computed once; None is the
    origin. Of ``n`` columns or more to keep (``capacity``), all are computed now, in parallel.
    """
    if not np.isfinite(points).all():
        raise NotFiniteError
    n, is_linear = points.shape[1], kernel == "linear"
    capacity = min(max(capacity, MIN_COLUMNS), n)
    columns = KernelColumns(
        points,
        0.0 if is_linear else float(sigma),
        n if mean_from is None else mean_from,
        np.empty((capacity + 1, n + 1), np.float32),
        np.full(n + 1, -1),
        np.full(capacity, -1),
        np.zeros(capacity, np.int64),
        np.zeros(1, np.int64),
        np.ones(n + 1),
    )
    if is_linear:
        columns.diagonal[:n] = np.einsum("ij,ij->j", points, points) + 1
    anchor = np.zeros(n + 1, np.float32)
    if capacity == n:
        _fill_all(columns)
        columns.slot[:n] = columns.owner[:] = np.arange(n)
        anchor[:n] = columns.store[:n, n]
    elif mean_from is not None:
        _means(columns, anchor)
    anchor[n] = anchor[columns.mean_from : n].mean(dtype=np.float64) if mean_from is not None else 0
    columns.store[capacity] = anchor
    columns.slot[n] = capacity
    columns.diagonal[n] = anchor[n]
    return columns


def columns_memory(n: int, n_inputs: int, capacity: int) -> int:
    """Return the bytes that `kernel_columns` allocates for ``n`` rows."""
    return 4 * (n + 1) * (min(max(capacity, MIN_COLUMNS), n) + 1) + 8 * n * (n_inputs + 4)


def columns_within(n: int, n_inputs: int, memory: int) -> int:
    """Return the largest capacity with which `columns_memory` is within ``memory``."""
    room = memory - columns_memory(n, n_inputs, MIN_COLUMNS)
    return MIN_COLUMNS + max(0, room) // (4 * (n + 1))


@fast
def column(columns: KernelColumns, i: int) -> Single:
    """Return column ``i``; it stays valid during the next call, but not a later one."""
    place = columns.slot[i]
    if place < 0:
        place = np.argmin(columns.used)
        if columns.owner[place] >= 0:
            columns.slot[columns.owner[place]] = -1
        columns.owner[place], columns.slot[i] = i, place
        _compute(columns, i, columns.store[place])
    if place < len(columns.used):  # the anchor's is never replaced
        columns.clock[0] += 1
        columns.used[place] = columns.clock[0]
    return columns.store[place]


@fast
def _compute(columns: KernelColumns, i: int, out: Single) -> None:
    """Write the kernel of row ``i`` with all rows and with the anchor."""
    _compute_from(columns, i, 0, out)
    out[-1] = _mean_from(columns.mean_from, out)


@fast
def _compute_from(columns: KernelColumns, i: int, first: int, out: Single) -> None:
    """Write the kernel of row ``i`` with the rows from ``first`` on."""
    if columns.sigma == 0:
        _compute_linear(columns.points, i, first, out)
        return
    points, (n_inputs, n) = columns.points, columns.points.shape
    squared = np.empty(_TILE_DISTANCES)
    for start in range(first, n, _TILE_DISTANCES):
        size = min(_TILE_DISTANCES, n - start)
        squared[:size] = 0.0
        for k in range(n_inputs):
            centre, coordinate = points[k, i], points[k, start : start + size]
            for j in range(size):
                difference = coordinate[j] - centre
                squared[j] += difference * difference
        for j in range(size):
            out[start + j] = math.exp(-columns.sigma * squared[j])


@fast
def _compute_linear(points: Array, i: int, first: int, out: Single) -> None:
    n_inputs, n = points.shape
    products = np.empty(_TILE_DISTANCES)
    for start in range(first, n, _TILE_DISTANCES):
        size = min(_TILE_DISTANCES, n - start)
        products[:size] = 1.0
        for k in range(n_inputs):
            centre, coordinate = points[k, i], points[k, start : start + size]
            if centre != 0:
                for j in range(size):
                    products[j] += coordinate[j] * centre
        for j in range(size):
            out[start + j] = products[j]


@fast
def _mean_from(first: int, values: Single) -> float:
    total, n = 0.0, len(values) - 1
    for j in range(first, n):
        total += values[j]
    return total / max(1, n - first)


@fast_parallel
def _fill_all(columns: KernelColumns) -> None:
    """Compute every column into the store: half of each, the rest by symmetry."""
    n, store = columns.points.shape[1], columns.store
    for pair in prange((n + 1) // 2):  # a long and a short column, to balance threads
        _compute_from(columns, pair, pair, store[pair])
        _compute_from(columns, n - 1 - pair, n - 1 - pair, store[n - 1 - pair])
    for tile in prange((n + _MIRROR_TILE - 1) // _MIRROR_TILE):
        rows = range(tile * _MIRROR_TILE, min(n, (tile + 1) * _MIRROR_TILE))
        for start in range(0, rows.stop, _MIRROR_TILE):
            for i in rows:
                for j in range(start, min(i, start + _MIRROR_TILE)):
                    store[i, j] = store[j, i]
        for i in rows:
            store[i, n] = _mean_from(columns.mean_from, store[i])


@fast_parallel
def _means(columns: KernelColumns, anchor: Single) -> None:
    """Compute every column, and keep its value at the anchor only."""
    n = columns.points.shape[1]
    for i in prange(n):
        out = np.empty(n + 1, np.float32)
        _compute(columns, i, out)
        anchor[i] = out[n]

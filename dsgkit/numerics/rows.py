"""Rows of a table: copied, in blocks, evenly spaced, and those outside of a fold."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Single

MAPPED_BYTES = 2**26
"""Size of the largest memory map that is read like an array."""

_BLOCK_BYTES, _SCATTERED_ROWS = 2**24, 16
"""Bytes of neighbouring rows, and number of scattered rows, that are read of it at a time."""


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def read_rows(table: Any, index: slice | NDArray[np.integer]) -> Single:
    """Copy rows in the format of the compiled kernels: writable, C-contiguous, float32.

    Slices are copied, too: kernels would be compiled again for a read-only array. A row of a
    memory map takes up to 2 MiB around it into memory, and these count as the process's. So a large
    map is read in blocks, whose pages are given back.

    Parameters
    ----------
    table : rows of shape (n, d)
        Array, memory map or any object with ``shape`` and indexing.
    index : slice or array of int

    Returns
    -------
    ndarray of float32, shape (n_rows, d)
    """
    is_map = isinstance(table, np.memmap) and table.mode == "r"  # changes of "c" are in memory only
    if not is_map or table.nbytes <= MAPPED_BYTES:
        return np.array(table[index], np.float32, order="C", subok=False)
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(len(table))
        n_rows, size = max(0, stop - start), max(1, _BLOCK_BYTES * len(table) // table.nbytes)
        places: Any = [slice(start + k.start, start + k.stop) for k in row_blocks(n_rows, size)]
    else:
        rows = np.arange(*index.indices(len(table))) if isinstance(index, slice) else index
        n_rows, size = len(rows), _SCATTERED_ROWS
        places = [rows[k] for k in row_blocks(n_rows, size)]
    out = np.empty((n_rows, table.shape[1]), np.float32)
    for block, place in zip(row_blocks(n_rows, size), places, strict=True):
        out[block] = table[place]
        table._mmap.madvise(mmap.MADV_DONTNEED)
    return out


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that cover ``n_rows`` rows in order."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def spaced(X: Any, count: int) -> Any:
    """Return at most ``count`` rows, evenly spaced, as the rows may be sorted."""
    n = len(X)
    return X[np.arange(n)] if n <= count else X[np.arange(count) * n // count]


def training_rows(held_out: NDArray[np.integer], n_rows: int) -> NDArray[np.int64]:
    """Return the rows outside a fold, in order.

    Raises
    ------
    DataError
        If the fold is not an array of positions.
    """
    try:
        positions = np.asarray(held_out)
        valid = positions.ndim == 1 and positions.dtype.kind in "iu"
        valid = valid and (not len(positions) or 0 <= positions.min() <= positions.max() < n_rows)
    except ValueError:  # arrays of several lengths
        valid = False
    if not valid:
        raise DataError(
            f"a fold must be an array of held-out positions in 0..{n_rows - 1}, such as "
            "[test for _, test in StratifiedKFold(5).split(X, y)]"
        )
    return np.setdiff1d(np.arange(n_rows), positions)

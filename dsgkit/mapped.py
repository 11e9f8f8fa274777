"""Reading rows of arrays and of memory maps.

The pages of a memory map that have been read count as memory of the process until the system wants
them back: a pass over a file of 10 GiB looks like, and in a container may be charged as, 10 GiB.
So a large map's pages are handed back as soon as its rows are copied.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAPPED_BYTES = 2**26
"""Bytes of a memory map that may be in memory at a time."""

_BYTES_PER_FAULT = 2**16  # Linux maps up to 16 pages around the one that is touched


def read_rows(table: Any, index: slice | NDArray[np.integer]) -> NDArray[np.float32]:
    """Copy rows, as the compiled kernels take them: writable, C-contiguous, float32.

    A copy even of a slice: for a read-only array kernels would be compiled anew.

    Parameters
    ----------
    table : rows of shape (n, d)
        Array, memory map or any object with ``shape`` and indexing.
    index : slice or array of int

    Returns
    -------
    ndarray of float32, shape (n_rows, d)
    """
    mapping = _mapping(table)
    if mapping is None:
        return np.array(table[index], np.float32, order="C", subok=False)
    rows = np.arange(*index.indices(len(table))) if isinstance(index, slice) else index
    order = np.argsort(rows, kind="stable")
    out = np.empty((len(rows), table.shape[1]), np.float32)
    length = max(1, MAPPED_BYTES // _mapped_per_row(table, index))
    for start in range(0, len(rows), length):
        part = order[start : start + length]
        out[part] = table[rows[part]]
        mapping.madvise(mmap.MADV_DONTNEED)
    return out


def _mapped_per_row(table: NDArray[Any], index: slice | NDArray[np.integer]) -> int:
    """Return a bound on the bytes that reading one row maps."""
    row_bytes = table.shape[1] * table.itemsize
    if isinstance(index, slice) and index.step in (None, 1) and table.flags.c_contiguous:
        return row_bytes
    pieces = 1 if table.strides[1] == table.itemsize else table.shape[1]
    return row_bytes + pieces * _BYTES_PER_FAULT


def _mapping(table: Any) -> mmap.mmap | None:
    """Return what a large memory map's pages can be handed back to.

    None for anything else, also for copy-on-write maps: their changes are in those pages only.
    """
    if not isinstance(table, np.ndarray) or table.nbytes <= MAPPED_BYTES:
        return None
    base: Any = table
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "c":
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") else None

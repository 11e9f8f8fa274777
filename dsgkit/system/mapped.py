"""Reading rows of arrays and of memory maps.

Access to a row of a memory map maps up to 2 MiB around it, which counts as memory of the process
until the system reclaims it: a pass over a file of 10 GiB looks like, and in a container may be
charged as, 10 GiB. So rows of a large map are read from its file instead.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.arrays import Single

MAPPED_BYTES = 2**26
"""Size of the largest memory map that is read like an array."""

_MAPS = Path("/proc/self/maps")


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def read_rows(table: Any, index: slice | NDArray[np.integer]) -> Single:
    """Copy rows in the format of the compiled kernels: writable, C-contiguous, float32.

    Slices are copied, too: kernels would be compiled again for a read-only array.

    Parameters
    ----------
    table : rows of shape (n, d)
        Array, memory map or any object with ``shape`` and indexing.
    index : slice or array of int

    Returns
    -------
    ndarray of float32, shape (n_rows, d)
    """
    with _file_of(table) as place:
        if place is not None:
            return _read(table, index, *place).astype(np.float32, copy=False)
    return np.array(table[index], np.float32, order="C", subok=False)


def _read(
    table: NDArray[Any], index: slice | NDArray[np.integer], file: int, offset: int
) -> NDArray[Any]:
    """Return rows of a table that lies C-contiguous in a file."""
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(len(table))
        out = np.empty((max(0, stop - start), table.shape[1]), table.dtype)
        _fill(out.reshape(-1).view(np.uint8), file, offset + start * table.strides[0])
        return out
    rows = positions(index, len(table))
    out = np.empty((len(rows), table.shape[1]), table.dtype)
    buffers = out.view(np.uint8)
    for place in np.argsort(rows, kind="stable"):
        _fill(buffers[place], file, offset + int(rows[place]) * table.strides[0])
    return out


def positions(index: slice | NDArray[np.integer], n: int) -> NDArray[np.integer]:
    """Return the row numbers of a numpy index."""
    if isinstance(index, slice):
        return np.arange(*index.indices(n))
    rows = np.where(index < 0, index + n, index)
    if rows.size and not (rows.min() >= 0 and rows.max() < n):
        raise IndexError(f"row numbers must be within {-n}..{n - 1}")
    return rows


def _fill(buffer: NDArray[np.uint8], file: int, offset: int) -> None:
    """Fill a buffer from an offset in a file."""
    done = 0
    while done < len(buffer):
        count = os.preadv(file, [buffer[done:].data], offset + done)
        if count == 0:
            raise OSError("the file of a memory map has become shorter")
        done += count


@contextlib.contextmanager
def _file_of(table: Any) -> Iterator[tuple[int, int] | None]:
    """Open the file of a large memory map; yield its descriptor and the offset of the rows.

    Yields None for anything else: other layouts, copy-on-write maps (their changes are in memory
    only), and files that were renamed or removed.
    """
    root = _root_of(table)
    if root is None or root.filename is None:
        yield None
        return
    try:
        file = os.open(root.filename, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        within = table.ctypes.data - root.ctypes.data
        same = os.fstat(file).st_ino == _mapped_inode(root.ctypes.data)
        yield (file, root.offset + within) if same else None
    finally:
        os.close(file)


def _root_of(table: Any) -> np.memmap | None:
    """Return the shared memory map of a large, C-contiguous array, or None."""
    if not isinstance(table, np.ndarray) or table.nbytes <= MAPPED_BYTES:
        return None
    root: Any = table
    while isinstance(root.base, np.ndarray):
        root = root.base
    mapped = isinstance(root, np.memmap) and isinstance(root.base, mmap.mmap) and root.mode != "c"
    return root if mapped and table.flags.c_contiguous else None


def _mapped_inode(address: int) -> int | None:
    """Return the inode of the file that is mapped at an address; None if unknown."""
    with contextlib.suppress(OSError):
        for line in _MAPS.read_text().splitlines():
            span, _, _, _, inode, *_ = line.split()
            start, end = (int(x, 16) for x in span.split("-"))
            if start <= address < end:
                return int(inode)
    return None

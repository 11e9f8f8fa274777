"""IDX files, such as those of MNIST: arrays of bytes after a short header."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.find import FoundFile
from dsgkit.data.lines import check_rows, check_sha256, open_content
from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array, Single

BLOCK_BYTES = 2**23
"""Values read at a time."""

_BYTES = b"\0\0\x08"
"""First bytes of a file of unsigned bytes; the number of dimensions follows."""


def read_rows(source: FoundFile, n_features: int) -> Iterator[Single]:
    """Read the items of a file, such as images, as rows.

    Parameters
    ----------
    source : FoundFile
        A file of at least two dimensions, the first of which counts the items.
    n_features : int
        Expected number of values of an item.

    Yields
    ------
    ndarray of float32, shape (n_block, n_features)
        Values from 0 to 255.

    Raises
    ------
    DataError
        If the file is not an IDX file of unsigned bytes, is shorter or longer than its header
        states, or has unexpected items, rows or checksum.
    """
    for block in _read(source, (n_features,)):
        yield block.astype(np.float32)


def read_labels(source: FoundFile) -> Array:
    """Read a file of labels, which has one dimension.

    Raises
    ------
    DataError
        As `read_rows`.
    """
    blocks = [block.astype(np.float64) for block in _read(source, ())]
    return np.concatenate(blocks)


def _read(source: FoundFile, item: tuple[int, ...]) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of items of a shape, and check the file against its header."""
    size = math.prod(item)
    step = max(1, BLOCK_BYTES // size)
    digest = hashlib.sha256()
    with open_content(source) as stream:
        n_items = _read_header(source, stream, digest, item)
        for start in range(0, n_items, step):
            count = min(step, n_items - start)
            data = stream.read(count * size)
            digest.update(data)
            if len(data) < count * size:
                raise DataError(
                    f"{source.label}: the file ends within item {start + len(data) // size + 1:,} "
                    f"of the {n_items:,} that its header says"
                )
            yield np.frombuffer(data, np.uint8).reshape(count, *item)
        if stream.read(1):
            raise DataError(
                f"{source.label}: the file continues after the {n_items:,} items of its header"
            )
    check_rows(source, n_items)
    check_sha256(source, digest.hexdigest())


def _read_header(
    source: FoundFile, stream: IO[bytes], digest: hashlib._Hash, item: tuple[int, ...]
) -> int:
    """Check that a file has items of a shape, and return their number."""
    start = stream.read(4)
    if len(start) < 4 or start[:3] != _BYTES:
        raise DataError(
            f"{source.label}: not an IDX file of unsigned bytes (it begins with {start.hex(' ')}, "
            "not with 00 00 08)"
        )
    n_dimensions = start[3]
    sizes = stream.read(4 * n_dimensions)
    digest.update(start + sizes)
    if len(sizes) < 4 * n_dimensions:
        raise DataError(f"{source.label}: the file ends within its header")
    shape = np.frombuffer(sizes, ">u4").tolist()
    if bool(item) != (n_dimensions > 1) or math.prod(shape[1:]) != math.prod(item) or not shape:
        actual = " x ".join(f"{size:,}" for size in shape[:4]) or "nothing"
        expected = f"items of {item[0]:,} values each" if item else "one label each"
        raise DataError(f"{source.label}: its header says {actual}, but not {expected}")
    return shape[0]

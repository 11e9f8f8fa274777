"""Arrays of ``.npz`` files, read so that no file harms: neither a broken one nor a forged one."""

from __future__ import annotations

import math
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dsgkit.system.files import open_regular
from dsgkit.text.errors import shown

MOST_UNPACKED = 2**30
"""Bytes of a file's compressed arrays: a thousandth of that can be written down for them."""

_LONGEST_SHOWN = 1000
"""Bytes of a value in a message."""

_KINDS = "biufUS"
"""Numbers and texts; no objects, which would be unpickled."""

_HEADERS: dict[tuple[int, int], Callable[[Any], tuple[tuple[int, ...], bool, np.dtype]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file by their names.

    Memory is bounded by the size of the file, or `MOST_UNPACKED`, whatever the file claims.

    Raises
    ------
    FileNotFoundError
    ValueError
        If it is not such a file, or not as it was written: every array has a checksum.
    """
    try:
        # the zipfile module and NumPy raise a dozen kinds of errors at bytes that are not theirs
        with (
            warnings.catch_warnings(),
            open_regular(path) as file,
            zipfile.ZipFile(file) as archive,
        ):
            warnings.simplefilter("error")
            members = archive.infolist()
            _check_sizes(members, os.fstat(file.fileno()).st_size)
            return {one.filename.removesuffix(".npy"): _array(archive, one) for one in members}
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error


def shown_entry(found: NDArray[Any]) -> str:
    """Return an array for a message: a single short value, or the shape of anything larger."""
    if found.shape or found.dtype.itemsize > _LONGEST_SHOWN:
        return f"{found.dtype} of shape {found.shape}"
    return shown(found.item())


def _check_sizes(members: list[zipfile.ZipInfo], size: int) -> None:
    plain = sum(one.file_size for one in members if one.compress_type == zipfile.ZIP_STORED)
    if plain > size:
        raise ValueError("its arrays claim more bytes than there are")
    if sum(one.file_size for one in members) - plain > MOST_UNPACKED:
        raise ValueError(f"its arrays take more than {MOST_UNPACKED:,} bytes")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"{member.filename}: unknown version {version} of the array format")
        shape, _, dtype = _HEADERS[version](file)
        if dtype.kind not in _KINDS:
            raise ValueError(f"{member.filename}: neither numbers nor text")
        if dtype.itemsize == 0:
            raise ValueError(f"{member.filename}: texts without characters")
        # to its last byte, or the checksum is not looked at
        bytes_there = member.file_size - file.tell()
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != bytes_there:
            raise ValueError(f"{member.filename}: its shape is not that of its bytes")
        file.seek(0)
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array

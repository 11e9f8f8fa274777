"""Safe reading of ``.npz`` files, which may be damaged or forged."""

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

from dsgkit.errors import shown
from dsgkit.system.files import open_regular

MOST_UNPACKED = 2**30
"""Bytes of a file's unpacked arrays: compression can shrink them a thousandfold."""

_LONGEST_SHOWN = 1000
"""Bytes of a value in a message."""

_KINDS = "biufUS"
"""Numbers and texts; no objects, which would be unpickled."""

_HEADERS: dict[tuple[int, int], Callable[[Any], tuple[tuple[int, ...], bool, np.dtype]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file by name.

    Memory is bounded by the size of the file, or `MOST_UNPACKED`, whatever the file claims.

    Raises
    ------
    FileNotFoundError
    ValueError
        If it is not an ``.npz`` file, or was changed: every array has a checksum.
    """
    try:
        # zipfile and NumPy raise a dozen kinds of errors for invalid bytes
        with (
            warnings.catch_warnings(),
            open_regular(path) as file,
            zipfile.ZipFile(file) as archive,
        ):
            warnings.simplefilter("error")
            members = archive.infolist()
            _check_sizes(members, os.fstat(file.fileno()).st_size)
            return {
                member.filename.removesuffix(".npy"): _array(archive, member) for member in members
            }
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error


def shown_entry(array: NDArray[Any]) -> str:
    """Return an array for a message: a single short value, else its type and shape."""
    if array.shape or array.dtype.itemsize > _LONGEST_SHOWN:
        return f"{array.dtype} of shape {array.shape}"
    return shown(array.item())


def _check_sizes(members: list[zipfile.ZipInfo], size: int) -> None:
    stored = sum(m.file_size for m in members if m.compress_type == zipfile.ZIP_STORED)
    if stored > size:
        raise ValueError("its arrays claim more bytes than the file has")
    if sum(member.file_size for member in members) - stored > MOST_UNPACKED:
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
        # the array must extend to the last byte, or zipfile does not check the checksum
        bytes_there = member.file_size - file.tell()
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != bytes_there:
            raise ValueError(f"{member.filename}: its shape does not match its bytes")
        file.seek(0)
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array

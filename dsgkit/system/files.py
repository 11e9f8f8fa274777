"""Atomic writes, arrays in files, names of folders, temporary folders."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_ABANDONED_SECONDS = 24 * 3600


def folder_name(name: str) -> str:
    """Return a name with characters that a folder's name must not contain replaced by ``_``."""
    return re.sub(r"^\W|[/\\\x00-\x1f]", "_", name)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file through a temporary one next to it; it is on disk when this returns.

    A file that exists is replaced; a device or a pipe is an `OSError`. ``write`` takes the open
    binary file. After an error the old file is unchanged (or replaced, if only the folder could not
    be synced), and no temporary file is left.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no regular file", str(path))
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk: files created or renamed in it survive a crash of the machine.

    Some file systems (FUSE, SMB) cannot do this to folders, which is left at that.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file by name; nothing is unpickled.

    Raises
    ------
    FileNotFoundError
    ValueError
        If it is not an ``.npz`` file of numbers and text, or is damaged; its text is one line.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile and NumPy raise a dozen kinds for invalid bytes
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a temporary folder, and remove it after the block unless it was renamed.

    Those of killed processes, which nobody has touched for a day, are removed, too.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for folder in parent.glob(f"{prefix}*"):
        with suppress(FileNotFoundError):
            touched = max(entry.stat().st_mtime for entry in (folder, *folder.rglob("*")))
            if touched < time.time() - _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Atomic writes, reading of archives, names of folders, temporary folders."""

from __future__ import annotations

import errno
import lzma
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

_ABANDONED_SECONDS = 24 * 3600


def folder_name(name: str) -> str:
    """Return a name with characters that a folder's name must not contain replaced by ``_``."""
    return re.sub(r"^\W|[/\\\x00-\x1f]", "_", name)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file through a temporary one next to it; it is on disk when this returns.

    Parameters
    ----------
    path : Path
        The file; replaced if it exists. A device or a pipe is an error.
    write : callable
        Takes the open binary file.

    Raises
    ------
    OSError
        If the file cannot be written. After any error the old file is unchanged (or replaced, if
        only the folder could not be synced), and no temporary file is left.
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
    """Flush a folder to disk: files created or renamed in it survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; a pipe could block, and a device be endless.

    Parameters
    ----------
    path : Path
    follow : bool
        Whether it may be a link.

    Raises
    ------
    OSError
        If it cannot be read or is not a regular file.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "no regular file", str(path))


def packed(path: Path) -> Path:
    """Return the path of a file once it is compressed, as in archived results."""
    return path.with_name(f"{path.name}.xz")


@contextmanager
def open_packed(path: Path) -> Iterator[BinaryIO]:
    """Open a file like `open_regular`, or ``<path>.xz`` if only that exists.

    Raises
    ------
    OSError
        If it cannot be read, is not a regular file, or the xz file is damaged.
    """
    archive = packed(path)
    if path.exists() or not archive.exists():
        with open_regular(path) as file:
            yield file
        return
    with open_regular(archive) as file, lzma.open(file) as unpacked:
        try:
            yield cast(BinaryIO, unpacked)
        except (lzma.LZMAError, EOFError):
            raise OSError(errno.EINVAL, "a damaged xz file", str(archive)) from None


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


def make_own_folder(folder: Path) -> None:
    """Make a folder if missing; a link, which could lead elsewhere, is an error.

    Raises
    ------
    OSError
        If it is a link, or cannot be made.
    """
    if folder.is_symlink():
        raise OSError(errno.ELOOP, "a link in the place of a folder; remove it", str(folder))
    folder.mkdir(exist_ok=True)


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a temporary folder, and remove it after the block unless it was renamed.

    Abandoned ones of killed processes are removed, too.
    """
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, f"{prefix}*")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, pattern: str) -> None:
    """Remove temporary folders of killed processes: those untouched for a day.

    Parameters
    ----------
    parent : Path
        The folder that contains them.
    pattern : str
        Pattern of their names.
    """
    for folder in parent.glob(pattern):
        with suppress(FileNotFoundError):
            touched = max(entry.stat().st_mtime for entry in (folder, *folder.rglob("*")))
            if touched < time.time() - _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)

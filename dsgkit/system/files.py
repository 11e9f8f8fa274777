"""Files written whole or not at all, names of folders, and what killed processes leave."""

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
from typing import BinaryIO, cast

from dsgkit.text.lines import why_no_line

_ABANDONED_SECONDS = 24 * 3600

LONGEST_PATH = 4095
"""Bytes of a path, as Linux has it."""

LONGEST_FILE_NAME = 255
"""Bytes of a part of a path, as most file systems have it."""


def folder_name(name: str) -> str:
    """Return a name with whatever it must not hold as that of a folder replaced by ``_``."""
    return re.sub(r"^\W|[/\\\x00-\x1f]", "_", name)


def why_no_path(text: str) -> str:
    """Return why no file can be at a path; empty if there can be one."""
    if not text:
        return "must not be empty"
    if why := why_no_line(text):
        return why
    if len(os.fsencode(text)) > LONGEST_PATH:
        return f"must have at most {LONGEST_PATH} bytes"
    if any(len(os.fsencode(part)) > LONGEST_FILE_NAME for part in Path(text).parts):
        return f"must have at most {LONGEST_FILE_NAME} bytes between slashes"
    return ""


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file through a temporary one next to it; it is on disk when this returns.

    Parameters
    ----------
    path : Path
        The file; replaced if it exists. A device or a pipe is not.
    write : callable
        Takes the open binary file.

    Raises
    ------
    OSError
        If the file cannot be written. After any error the old file is as it was (or the new one
        in its place, if only the folder could not be synced), and nothing else is left behind.
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
    """Have what was created or renamed in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading, if it is one: a pipe would be waited for, a device has no end.

    Parameters
    ----------
    path : Path
    follow : bool
        Whether it may be a link to one.

    Raises
    ------
    OSError
        If it cannot be read, or is something else.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "no regular file", str(path))


def packed(path: Path) -> Path:
    """Return where a file stands once it is compressed, as in results that are kept."""
    return path.with_name(f"{path.name}.xz")


@contextmanager
def open_packed(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading as `open_regular` does; ``<path>.xz`` where only that is there.

    Raises
    ------
    OSError
        If it cannot be read, or is something else, or the xz file is damaged.
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


def make_own_folder(folder: Path) -> None:
    """Make a folder, unless it is there; not a link, through which files would go elsewhere.

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
    """Make a folder in another one, and remove it in the end if it was not renamed.

    Those that killed processes have left there are removed, too.
    """
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, f"{prefix}*")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, pattern: str) -> None:
    """Remove temporary folders of killed processes, once no living one can still be at it.

    Parameters
    ----------
    parent : Path
        Where they lie.
    pattern : str
        Which names are those of temporary folders; only those untouched for a day go.
    """
    for folder in parent.glob(pattern):
        with suppress(FileNotFoundError):
            touched = max(entry.stat().st_mtime for entry in (folder, *folder.rglob("*")))
            if touched < time.time() - _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)

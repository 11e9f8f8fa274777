"""Writing the files of a report: whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dsgkit.errors import ResultsError
from dsgkit.files import write_atomically


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file whole, or raise and leave what was there; return its path.

    Parameters
    ----------
    path : Path
        Its folder is made if needed.
    write : callable
        Takes the open binary file.

    Raises
    ------
    ResultsError
        If the folder or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{path}: cannot be written ({reason}); name another folder") from error
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a text file, see `write_file`."""
    return write_file(path, lambda file: file.write(text.encode()))

"""Writing the files of a report: whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from dsgkit.errors import ResultsError


def write_file(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Write a file through a temporary one beside it, and return its path.

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
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                write(file)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{path}: cannot be written ({reason}); name another folder") from error
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a text file, see `write_file`."""
    return write_file(path, lambda file: file.write(text.encode()))

"""Arrays of a fit that figures are drawn from, in a file next to its record."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import ResultsError
from dsgkit.experiment.records import Record
from dsgkit.experiment.store import own_folder, write_whole
from dsgkit.system.files import open_regular, read_arrays, write_atomically

ARTEFACTS = "artefacts"
"""Name of the artefacts' folder in a results folder."""


def keep_artefact(folder: Path, record: Record) -> Record:
    """Write a record's arrays, if any, to a file, and return the record with the file's name.

    The file is on disk before the record is.

    Raises
    ------
    ResultsError
        If it cannot be written.
    """
    if "artefact" in record:
        own_folder(folder, ARTEFACTS)
        arrays: Mapping[str, Any] = record["artefact"]
        write_whole(folder / _name(record), lambda file: np.savez_compressed(file, **arrays))
    return name_artefact(record)


def name_artefact(record: Record) -> Record:
    """Return a record with its arrays, if any, replaced by the name of their file."""
    return {**record, "artefact": _name(record)} if "artefact" in record else record


def _name(record: Record) -> str:
    return f"{ARTEFACTS}/{record['key']}.npz"


def load_artefact(folder: Path, record: Record) -> dict[str, NDArray[Any]]:
    """Return the arrays of a stored record, by their names.

    Returns
    -------
    arrays : dict
        Empty if the record has none, or if its file is missing.

    Raises
    ------
    ResultsError
        If the file exists but cannot be read.
    """
    if "artefact" not in record:
        return {}
    path = folder / _name(record)
    try:
        return read_arrays(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ResultsError(
            f"{path}: cannot be read ({error}); remove it to draw the figures without it"
        ) from error


def copy_artefact(source: Path, target: Path, record: Record) -> bool:
    """Copy a record's artefact, if any, between results folders; return False if it is missing."""
    if "artefact" not in record:
        return True
    name = _name(record)
    with suppress(OSError), open_regular(source / name, follow=False) as file:
        if source != target:
            own_folder(target, ARTEFACTS)
            write_atomically(target / name, lambda copy: shutil.copyfileobj(file, copy))
        return True
    return False

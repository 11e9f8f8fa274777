"""Whether the tables and figures of a results folder are those of its records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from dsgkit import __version__
from dsgkit.experiment.results import CONFIG, PLAN
from dsgkit.experiment.store import CELLS
from dsgkit.report.files import write_text

STAMP = ".report.json"
"""In a results folder: what its report was made from, and the files that were made."""


def is_current(folder: Path) -> bool:
    """Whether a report was made from what the folder holds now, and is still there."""
    try:
        stamp = json.loads((folder / STAMP).read_text())
        made = all((folder / name).is_file() for name in stamp["files"])
        return bool(made and stamp["made_from"] == _state(folder))
    except (OSError, ValueError, TypeError, KeyError):
        return False


def mark_current(folder: Path, paths: Sequence[Path]) -> None:
    """Note that the report at ``paths`` was made from what the folder holds now."""
    files = [str(path.relative_to(folder)) for path in paths]
    write_text(folder / STAMP, json.dumps({"made_from": _state(folder), "files": files}) + "\n")


def _state(folder: Path) -> str:
    """Return a hash of all that a report is made from; of the records, when they last changed."""
    cells = (folder / CELLS).stat()
    digest = hashlib.sha256(f"{__version__} {cells.st_size} {cells.st_mtime_ns}".encode())
    for name in (CONFIG, PLAN):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()

"""Tables and figures of stored results; matplotlib is imported only when a figure is drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsgkit import __version__

if TYPE_CHECKING:
    from dsgkit.report.style import Width

STAMP = ".report.json"
"""File in a results folder with a hash of the report's inputs, and the files written."""


def draw_figures(
    results: Sequence[Any],
    folder: Path,
    only: Sequence[str] = (),
    formats: Sequence[str] = ("pdf", "png"),
    width: Width | None = None,
) -> list[Path]:
    """Draw figures of one or several results folders and return the paths of their files.

    Parameters
    ----------
    results : sequence of Results
        Several make one panel each, four in a row.
    folder : Path
        The files go to ``figures/`` in it.
    only : sequence of str
        Names of figures, or of an output with several figures, such as ``ranks``; by default, all
        that the experiments' ``outputs`` ask for.
    formats : sequence of {"pdf", "png", "svg"}
    width : {"column", "page"} or None
        Width in a two-column paper; None for a column with a single panel, else a page.

    Raises
    ------
    ResultsError
        If no fit has finished, a figure is unknown, or the folder cannot be written.
    """
    from dsgkit.errors import ResultsError
    from dsgkit.report.outputs import wanted_figures
    from dsgkit.report.summary import check_recorded, summarise

    check_recorded(results)
    shown = summarise(results)
    if not any(one.finished for one in shown):
        folders = ", ".join(str(one.folder) for one in results)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    figures, to = wanted_figures(shown, only, width), Path(folder) / "figures"
    if not figures:
        return []
    from dsgkit.report.panels import save

    return [path for figure in figures for path in save(figure.draw(), to / figure.name, formats)]


def refresh_report(folder: Path) -> None:
    """Write the tables and figures that a run's config asks for, unless they are there already.

    Figures need a finished fit.
    """
    from dsgkit.experiment.results import load_results
    from dsgkit.experiment.runs import load
    from dsgkit.report.formats import write_text
    from dsgkit.report.frame import finished
    from dsgkit.report.tables import write_tables

    made_from = _state(folder)
    if _is_current(folder, made_from):
        return
    (run,) = load(folder)
    paths = write_tables([run], folder)
    paths += draw_figures([load_results(folder)], folder) if finished(run) else []
    files = [str(path.relative_to(folder)) for path in paths]
    write_text(folder / STAMP, json.dumps({"made_from": made_from, "files": files}) + "\n")


def _is_current(folder: Path, made_from: str) -> bool:
    try:
        stamp = json.loads((folder / STAMP).read_text())
        made = all((folder / name).is_file() for name in stamp["files"])
        return made and stamp["made_from"] == made_from
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def _state(folder: Path) -> str:
    """Return a hash of a report's inputs; records enter by their file's size and time."""
    from dsgkit.experiment.folder import CONFIG, PLAN, TASK
    from dsgkit.experiment.store import CELLS

    cells = (folder / CELLS).stat()
    digest = hashlib.sha256(f"{__version__} {cells.st_size} {cells.st_mtime_ns}".encode())
    for name in (CONFIG, PLAN, TASK):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()

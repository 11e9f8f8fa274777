"""Tables and figures of stored results; matplotlib is imported only when a figure is drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from dsgkit import __version__
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import CONFIG, PLAN
from dsgkit.experiment.results import Results
from dsgkit.experiment.store import CELLS
from dsgkit.report.formats import write_text
from dsgkit.report.output import FigureOutput, late
from dsgkit.report.outputs import wanted_figures
from dsgkit.report.style import DEFAULT_FORMATS, Width
from dsgkit.report.summary import check_recorded, summarise
from dsgkit.report.tables import text_table, write_summaries, write_tables

__all__ = ["draw_figures", "refresh_report", "text_table", "write_report", "write_tables"]

STAMP = ".report.json"
"""File in a results folder with a hash of the report's inputs, and the files written."""

_CHUNK_BYTES = 2**20


def draw_figures(
    results: Sequence[Results],
    folder: Path,
    only: Sequence[str] = (),
    formats: Sequence[str] = DEFAULT_FORMATS,
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
    check_recorded(results)
    shown = summarise(results)
    if not any(one.finished for one in shown):
        folders = ", ".join(str(one.folder) for one in results)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    return _draw(wanted_figures(shown, only, width), folder, formats)


def _draw(
    figures: Sequence[FigureOutput], folder: Path, formats: Sequence[str] = DEFAULT_FORMATS
) -> list[Path]:
    save, to = late("panels", "save"), Path(folder) / "figures"
    return [path for figure in figures for path in save(figure.draw(), to / figure.name, formats)]


def write_report(results: Sequence[Results], folder: Path) -> list[Path]:
    """Write the tables and figures that the experiments ask for, and return their paths.

    Figures need a finished fit.
    """
    check_recorded(results)
    shown = summarise(results)
    figures = wanted_figures(shown) if any(one.finished for one in shown) else []
    return [*write_summaries(shown, folder), *_draw(figures, folder)]


def refresh_report(results: Results, folder: Path) -> None:
    """Write the report of one experiment in its own folder, unless it is there already."""
    if not _is_current(results, folder):
        paths = write_report([results], folder)
        files = [str(path.relative_to(folder)) for path in paths]
        stamp = {"made_from": _state(results, folder), "files": files}
        write_text(folder / STAMP, json.dumps(stamp) + "\n")


def _is_current(results: Results, folder: Path) -> bool:
    """Return whether the report matches the folder's results, and all its files exist."""
    try:
        stamp = json.loads((folder / STAMP).read_text())
        made = all((folder / name).is_file() for name in stamp["files"])
        return bool(made and stamp["made_from"] == _state(results, folder))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def _state(results: Results, folder: Path) -> str:
    """Return a hash of a report's inputs; records enter by their file's size and time."""
    cells = (folder / CELLS).stat()
    digest = hashlib.sha256(f"{__version__} {cells.st_size} {cells.st_mtime_ns}".encode())
    digest.update(results.task.model_dump_json().encode())
    for name in (CONFIG, PLAN):
        with (folder / name).open("rb") as file:
            while piece := file.read(_CHUNK_BYTES):
                digest.update(piece)
    return digest.hexdigest()

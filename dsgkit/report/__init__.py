"""Tables and figures of stored results; matplotlib is imported only when a figure is drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dsgkit import __version__

if TYPE_CHECKING:
    from dsgkit.experiment.runs import Run

STAMP = ".report.json"
"""File in a results folder with a hash of the report's inputs, and the files written."""


def draw_figures(
    runs: Sequence[Run],
    folder: Path,
    only: Sequence[str] = (),
    formats: Sequence[str] = ("pdf", "png"),
    width: float | None = None,
) -> list[Path]:
    """Draw figures of one or several runs into ``figures/`` in a folder, and return their paths.

    ``only`` has names of figures, or of an output with several; by default they are those that the
    configs ask for. The ``width`` is that of a column or a page of a paper with two columns.

    Raises
    ------
    ResultsError
        If no fit has finished, a figure is unknown, or the folder cannot be written.
    """
    from dsgkit.errors import ResultsError
    from dsgkit.report.figures import save, wanted_figures
    from dsgkit.report.frame import check_recorded, finished

    check_recorded(runs)
    if not any(map(finished, runs)):
        folders = ", ".join(str(run.folder) for run in runs)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    figures, to = wanted_figures(runs, only, width), Path(folder) / "figures"
    return [path for figure in figures for path in save(figure.draw(), to / figure.name, formats)]


def refresh_report(folder: Path) -> None:
    """Write the tables and figures that a run's config asks for, unless they are there already.

    Figures need a finished fit.
    """
    from dsgkit.experiment.folder import CONFIG, PLAN, TASK
    from dsgkit.experiment.runs import load
    from dsgkit.experiment.store import CELLS
    from dsgkit.report.formats import write_text
    from dsgkit.report.frame import finished
    from dsgkit.report.tables import write_tables

    # a run writes the small files again, equal or not, and only adds to the large one
    inputs = b"".join((folder / name).read_bytes() for name in (CONFIG, PLAN, TASK))
    hashed = hashlib.sha256(inputs).hexdigest()
    made_from = f"{__version__} {(folder / CELLS).stat().st_mtime_ns} {hashed}"
    with suppress(OSError, ValueError, TypeError, KeyError):
        stamp = json.loads((folder / STAMP).read_text())
        files = [folder / name for name in stamp["files"]]
        if stamp["made_from"] == made_from and all(file.is_file() for file in files):
            return
    (run,) = load(folder)
    paths = write_tables([run], folder)
    paths += draw_figures([run], folder) if finished(run) else []
    names = [str(path.relative_to(folder)) for path in paths]
    write_text(folder / STAMP, json.dumps({"made_from": made_from, "files": names}) + "\n")

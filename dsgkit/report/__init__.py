"""Tables and figures of stored results; matplotlib is imported only when a figure is drawn."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from dsgkit import __version__

STAMP = ".report.json"
"""File in a results folder with a hash of the report's inputs, and the files written."""


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
    if finished(run):
        from dsgkit.report.figures import draw_figures

        paths += draw_figures([run], folder)
    names = [str(path.relative_to(folder)) for path in paths]
    write_text(folder / STAMP, json.dumps({"made_from": made_from, "files": names}) + "\n")

"""The figures of a report, drawn without any display or global state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dsgkit.errors import ResultsError
from dsgkit.report.outputs import wanted_figures
from dsgkit.report.panels import save
from dsgkit.report.summary import Summary


def draw(shown: Sequence[Summary], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of what is summed up, see `dsgkit.report.draw_figures`."""
    if not any(one.finished for one in shown):
        folders = ", ".join(str(one.results.folder) for one in shown)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    return [
        path
        for figure in wanted_figures(shown, only)
        for path in save(figure.draw(), Path(folder) / "figures" / figure.name)
    ]

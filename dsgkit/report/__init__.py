"""Tables and figures of stored results; matplotlib is imported only when a figure is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dsgkit.experiment.results import Results
from dsgkit.report.current import is_current, mark_current
from dsgkit.report.summary import has_values
from dsgkit.report.tables import text_table, write_tables
from dsgkit.report.titles import all_outputs

__all__ = ["draw_figures", "refresh_report", "text_table", "write_report", "write_tables"]


def draw_figures(
    results: Sequence[Results], folder: Path, outputs: Sequence[str], only: Sequence[str] = ()
) -> list[Path]:
    """Draw the figures; see `dsgkit.report.figures.draw_figures`."""
    from dsgkit.report import figures

    return figures.draw_figures(results, folder, outputs, only)


def write_report(results: Sequence[Results], folder: Path) -> list[Path]:
    """Write the tables and figures that the experiments ask for, and return their paths.

    Figures need a finished fit.
    """
    paths = write_tables(results, folder)
    if any(has_values(one, "fit_seconds") for one in results):
        paths += draw_figures(results, folder, all_outputs(results))
    return paths


def refresh_report(results: Results, folder: Path) -> None:
    """Write the report of one experiment in its own folder, unless it is there already."""
    if not is_current(folder):
        mark_current(folder, write_report([results], folder))

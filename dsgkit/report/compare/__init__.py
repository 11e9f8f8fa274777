"""Comparison of two results folders: differences, and which of them are significant."""

from __future__ import annotations

from pathlib import Path

from dsgkit.report.compare.comparison import Comparison, compare
from dsgkit.report.compare.tables import all_tables
from dsgkit.report.compare.text import comparison_text
from dsgkit.report.formats import write_table

__all__ = ["Comparison", "compare", "comparison_text", "write_comparison"]


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the tables and the figure of a comparison and return their paths.

    The figure needs a fit that finished in both. Tables go to ``tables/`` in the folder as CSV,
    Markdown and LaTeX, the figure to ``figures/`` as PDF and PNG.

    Raises
    ------
    ResultsError
        If the folder cannot be written.
    """
    tables = all_tables(comparison)
    paths = [path for table in tables for path in write_table(table, folder / "tables")]
    if comparison.effects:
        from dsgkit.report.compare.figure import comparison_figure
        from dsgkit.report.panels import save

        paths += save(comparison_figure(comparison), folder / "figures" / "compare")
    return paths

"""Figures and tables of the papers as files, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dsgkit.errors import ResultsError
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.figures import Figures, Shown
from dsgkit.papers.figures_drawn import Look, figure_output, needed_evidence
from dsgkit.papers.figures_tables import table_output
from dsgkit.report.formats import write_table
from dsgkit.report.output import FigureOutput, TableOutput
from dsgkit.report.terminal import plain
from dsgkit.text import paragraph, terminal_width

__all__ = ["Look", "output_of", "written"]


def output_of(
    paper: Figures, shown: Shown, evidence: Evidence, look: Look
) -> FigureOutput | TableOutput:
    """Return a figure or table of a paper; raises as `table_output` does."""
    made = table_output(paper, shown, evidence, look)
    return made or figure_output(paper, shown, evidence, look)


def written(
    wanted: Sequence[tuple[Figures, Shown]],
    results: Sequence[Path],
    folder: Path,
    formats: Sequence[str],
    look: Look,
) -> Iterator[str]:
    """Write figures and tables, and yield a text for a terminal for each.

    Among several, those without results are reported and left out.

    Raises
    ------
    ResultsError
        If the only one has no results, or none of several.
    """
    evidence = needed_evidence(wanted, results, look)
    left_out: list[str] = []
    for paper, shown in wanted:
        try:
            output = output_of(paper, shown, evidence, look)
        except ResultsError as error:
            if len(wanted) == 1:
                raise
            left_out.append(str(error))
            continue
        yield from _write(output, folder / paper.key, formats)
    yield from left_out


def _write(
    output: FigureOutput | TableOutput, folder: Path, formats: Sequence[str]
) -> Iterator[str]:
    if isinstance(output, TableOutput):
        table = output.make()
        assert table is not None
        yield "\n".join(plain(layout, terminal_width()) for layout in table.layouts)
        paths = write_table(table, folder)
    else:
        from dsgkit.report.panels import save

        yield paragraph(output.caption, terminal_width())
        paths = save(output.draw(), folder / output.name, formats)
    yield from map(str, paths)

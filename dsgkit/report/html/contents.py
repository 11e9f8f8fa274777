"""The table of contents of a page on several results folders."""

from __future__ import annotations

from collections.abc import Sequence

from dsgkit.report.html.sections import Section
from dsgkit.report.layout import Cell, Layout


def contents(sections: Sequence[Section]) -> Layout:
    """Return a row per results folder, which links to its section: what was run, and how far."""
    return Layout(
        "What was run, in cells: one share of a hyper-parameter search, or one fit, each.",
        ["Dataset", "Experiment", "Planned", "Finished", "Limits met", "Failed", "Not run"],
        [_row(section) for section in sections],
    )


def _row(section: Section) -> list[Cell]:
    counts = section.counts
    numbers = (counts.planned, counts.finished, counts.limited, counts.failed, counts.left)
    return [
        Cell(section.title, link=f"#{section.anchor}"),
        Cell(section.name),
        *(Cell(f"{number:,}", value=number) for number in numbers),
    ]

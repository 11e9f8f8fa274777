"""Figures of one panel per dataset, in the arrangement of the papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any, BinaryIO

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dsgkit.report.formats import write_file
from dsgkit.report.style import COLUMN_WIDTH, DPI, PAGE_WIDTH, RC
from dsgkit.tasks.measures import Measure

COLUMNS = 4
SINGLE_HEIGHT = 2.5
PANEL_HEIGHT = 1.7
LEGEND_ROW = 0.17
LEGEND_LETTER = 0.062
LEGEND_ENTRY = 0.62
TITLE_LETTERS = 26
END_FONT = 6.5
MARGIN = 0.09
NOTE_ROOM = 0.09
SVG_PATH = re.compile(r'(?<= d=")[^"]*')
LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


def new_figure(
    titles: Sequence[str], handles: Sequence[Artist], panel_height: float = PANEL_HEIGHT
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, with one legend for all of them below, if it has entries.

    It is one column wide for one panel, else as wide as a page, with panels of a height in inches.
    """
    columns, rows = min(len(titles), COLUMNS), -(-len(titles) // COLUMNS)
    single = len(titles) == 1
    width = COLUMN_WIDTH if single else PAGE_WIDTH
    height = SINGLE_HEIGHT if single else 0.3 + rows * panel_height
    labels = [str(handle.get_label()) for handle in handles]
    legend_rows = 0
    if labels:
        entry = LEGEND_ENTRY + LEGEND_LETTER * max(map(len, labels))
        legend_rows = -(-len(labels) // max(1, int(width / entry)))
    figure = Figure(
        figsize=(width, height + legend_rows * LEGEND_ROW), dpi=DPI, layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[len(titles) :]:
        figure.delaxes(unused)
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title if single else fill(title, TITLE_LETTERS, break_long_words=False))
    if labels:
        # As even rows as possible: 2 + 2 rather than 3 + 1.
        even = -(-len(labels) // legend_rows)
        figure.legend(handles=list(handles), loc="outside lower center", ncols=even)
    return figure, axes[: len(titles)]


def measure_label(measure: Measure) -> str:
    """Return the words at the axis of a measure; of a further part of the rows, those too."""
    if not (measure.optional and measure.where):
        return measure.axis_label
    titled = {"title": f"{measure.title}, {measure.where}"}
    return measure.model_copy(update=titled).axis_label


def show_values(axes: Axes, values: Sequence[float], headroom: float) -> None:
    """Have a linear axis show some values, with a margin and some more room above."""
    room = max(values) - min(values) or abs(max(values)) or 1.0
    axes.set_ylim(min(values) - MARGIN * room, max(values) + (MARGIN + headroom) * room)
    set_few_ticks(axes)


def set_few_ticks(axes: Axes) -> None:
    """Have a few round numbers at the axis of values."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))


def write_above(axes: Axes, lines: Sequence[str]) -> None:
    """Write lines into the upper left corner; each takes `NOTE_ROOM`."""
    look: dict[str, Any] = {"va": "top", "fontsize": END_FONT, "linespacing": 1.0}
    axes.text(0.03, 0.98, "\n".join(lines), transform=axes.transAxes, **look)


def label_axes(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the axes once for each row and each column of panels."""
    for panel in axes[::COLUMNS]:
        panel.set_ylabel(y_label)
    for panel in axes[-COLUMNS:]:
        panel.set_xlabel(x_label)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PDF and PNG; the same figure gives the same bytes."""
    return [
        _save(figure, stem.with_name(f"{stem.name}.pdf"), {"CreationDate": None}),
        _save(figure, stem.with_name(f"{stem.name}.png"), {}),
    ]


def svg(figure: Figure) -> str:
    """Return a figure as SVG, its letters as curves; the same figure gives the same text.

    Paths are exact to a hundredth of a point: hatches are most of a file, and half as long so.
    """
    buffer = BytesIO()
    with mpl.rc_context(RC):
        figure.savefig(buffer, format="svg", metadata={"Creator": None, "Date": None})
    return SVG_PATH.sub(lambda path: _rounded(path[0]), buffer.getvalue().decode())


def _rounded(path: str) -> str:
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", path)


def _save(figure: Figure, path: Path, metadata: dict[str, None]) -> Path:
    """Write a figure in the format of the path's suffix."""

    def write(file: BinaryIO) -> None:
        with mpl.rc_context(RC):
            figure.savefig(file, format=path.suffix[1:], metadata=metadata)

    return write_file(path, write)

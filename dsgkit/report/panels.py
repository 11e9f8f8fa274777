"""Figures of one panel per dataset, in the arrangement of the papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dsgkit.report.formats import write_file
from dsgkit.report.style import COLUMN_WIDTH, DPI, PAGE_WIDTH, RC
from dsgkit.tasks.measures import Measure

COLUMNS = 4
SINGLE_HEIGHT = 2.5
PANEL_HEIGHT = 1.7
LEGEND_ROW = 0.17
LEGEND_LETTER = 0.062
LEGEND_ENTRY = 0.62
SVG_PATH = re.compile(r'(?<= d=")[^"]*')
LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


def new_figure(titles: Sequence[str], legend_rows: int) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels: one column wide for one dataset, else as wide as a page."""
    count = len(titles)
    columns = min(count, COLUMNS)
    rows = -(-count // COLUMNS)
    height = SINGLE_HEIGHT if count == 1 else 0.3 + rows * PANEL_HEIGHT
    size = (figure_width(count), height + legend_rows * LEGEND_ROW)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[count:]:
        figure.delaxes(unused)
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title)
    return figure, axes[:count]


def figure_width(count: int) -> float:
    """Return the width in inches of a figure of so many panels."""
    return COLUMN_WIDTH if count == 1 else PAGE_WIDTH


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many legend entries fit side by side."""
    entry = LEGEND_ENTRY + LEGEND_LETTER * max(map(len, labels))
    fitting = max(1, int(width / entry))
    rows = -(-len(labels) // fitting)
    # As even rows as possible: 2 + 2 rather than 3 + 1.
    return -(-len(labels) // rows)


def legend_rows(labels: Sequence[str], width: float) -> int:
    """Return how many rows a legend has."""
    return -(-len(labels) // legend_columns(labels, width))


def add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Add one legend for all panels below them."""
    labels = [str(handle.get_label()) for handle in handles]
    columns = legend_columns(labels, figure.get_figwidth())
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def measure_label(measure: Measure) -> str:
    """Return the words at the axis of a measure; of a further part of the rows, those too."""
    if not (measure.optional and measure.where):
        return measure.axis_label
    titled = {"title": f"{measure.title}, {measure.where}"}
    return measure.model_copy(update=titled).axis_label


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

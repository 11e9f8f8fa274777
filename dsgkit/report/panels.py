"""Figures with one panel per dataset, arranged as in the papers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from math import log
from pathlib import Path
from textwrap import fill
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from dsgkit.report.formats import write_file
from dsgkit.report.numbers import letter_of, short_count
from dsgkit.report.style import (
    COLUMN_WIDTH,
    DEFAULT_FORMATS,
    DPI,
    INCHES,
    MAX_COLUMN_PANELS,
    PAGE_WIDTH,
    RC,
    SMALL_FONT,
    Width,
)
from dsgkit.tasks.measures import Measure

COLUMNS = 4
SINGLE_HEIGHT = 2.5
PANEL_HEIGHT = 1.7
LEGEND_ROW = 0.17
LEGEND_LETTER = 0.062
LEGEND_ENTRY = 0.62
END_FONT = SMALL_FONT
PANEL_MARGIN = 0.09
NOTE_ROOM = 0.09
TICK_ROOM = 0.3
"""Least distance of two tick labels, in inches."""

TITLE_LETTERS_PER_INCH = 16
NOTE_LETTERS_PER_INCH = 19
SMALL_LETTERS = 1.1
"""Letters per line in a small font, relative to a title."""

BETWEEN_PIECES = re.compile(r"(?<=[^/:]/)|(?<=[ +#])")
SVG_PATH = re.compile(r'(?<= d=")[^"]*')
LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


@dataclass(frozen=True)
class Arrangement:
    """Arrangement of panels in a figure.

    Attributes
    ----------
    columns : int
        Most panels side by side.
    width : float or None
        Inches; None for a column with one panel, else a page.
    alone : bool
        Whether the figure is used without a page's caption: panels have letters, and the legend
        explains marks.
    empty : mapping of int to (str, str)
        Titles of panels without data, and the reasons, by position.
    letters : sequence of str or None
        A letter per panel, possibly empty; by default a, b, .. by position.
    """

    columns: int = COLUMNS
    width: float | None = None
    alone: bool = False
    empty: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    letters: Sequence[str] | None = None

    def places(self, n_panels: int) -> list[int]:
        """Return the positions of panels with data."""
        every = range(n_panels + len(self.empty))
        return [place for place in every if place not in self.empty]

    def title(self, place: int, title: str) -> str:
        """Return a title with its letter, if panels have letters."""
        letter = letter_of(place) if self.letters is None else self.letters[place]
        return f"({letter}) {title}" if self.alone and letter else title


REPORT_ARRANGEMENT = Arrangement()
"""Four panels in a row of a page."""


def arranged(width: Width | None) -> Arrangement:
    """Return the arrangement of a report's figure at a width."""
    columns = MAX_COLUMN_PANELS if width == "column" else COLUMNS
    return Arrangement(columns=columns, width=INCHES[width] if width else None)


def new_figure(
    titles: Sequence[str],
    handles: Sequence[Artist],
    panel_height: float = PANEL_HEIGHT,
    arrangement: Arrangement = REPORT_ARRANGEMENT,
    extra_height: float = 0.0,
    note: str = "",
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, with a common legend below them.

    ``note`` is the legend's title, and explains points, bands or boxes. By default the width is a
    column for one panel, else a page. ``panel_height`` and ``extra_height``, which makes room for
    names around a panel, are in inches.
    """
    places = arrangement.places(len(titles))
    n_panels = len(titles) + len(arrangement.empty)
    columns, rows = min(n_panels, arrangement.columns), -(-n_panels // arrangement.columns)
    single = n_panels == 1
    width = arrangement.width or (COLUMN_WIDTH if single else PAGE_WIDTH)
    height = SINGLE_HEIGHT if single else 0.3 + rows * panel_height
    labels = [str(handle.get_label()) for handle in handles]
    legend_columns = _legend_columns(labels, width)
    note = fill(note, int(width * NOTE_LETTERS_PER_INCH))
    legend_rows = -(-len(labels) // legend_columns) + (note.count("\n") + 1 if note else 0)
    figure = Figure(
        figsize=(width, height + extra_height + legend_rows * LEGEND_ROW),
        dpi=DPI,
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[n_panels:]:
        figure.delaxes(unused)
    letters = int(width / columns * TITLE_LETTERS_PER_INCH)
    empty_titles = {place: title for place, (title, _) in arrangement.empty.items()}
    for place, title in {**dict(zip(places, titles, strict=True)), **empty_titles}.items():
        text = _in_lines(arrangement.title(place, title), letters)
        axes[place].set_title(text, linespacing=1.0)
    for place, (_, why) in arrangement.empty.items():
        _write_reason(axes[place], why, letters)
    if labels or note:
        figure.legend(
            handles=list(handles),
            loc="outside lower center",
            ncols=legend_columns,
            title=note or None,
            title_fontsize=SMALL_FONT,
            borderpad=0.4 if labels else 0.0,
        )
    return figure, [axes[place] for place in places]


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return the number of columns with which a legend fits into a width.

    Rows are as even as possible: 2 + 2 rather than 3 + 1.
    """
    for rows in range(1, len(labels) + 1):
        columns = -(-len(labels) // rows)
        parts = np.array_split([len(label) for label in labels], columns)
        if sum(LEGEND_ENTRY + LEGEND_LETTER * part.max() for part in parts) <= width:
            return columns
    return 1


def _write_reason(axes: Axes, why: str, letters: int) -> None:
    """Write the reason for missing data into a framed panel."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color="0.8", linestyle=(0, (4, 3)))
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": "0.35", "in_layout": False}
    words = [
        part for line in why.split("\n") for part in _broken(line, int(SMALL_LETTERS * letters))
    ]
    axes.text(0.5, 0.5, "\n".join(words), transform=axes.transAxes, fontsize=SMALL_FONT, **look)


def _broken(line: str, letters: int) -> Iterator[str]:
    """Yield a line in parts of at most ``letters``, broken at blanks or after signs of a URL."""
    part = ""
    for piece in BETWEEN_PIECES.split(line):
        if part and len(part + piece) > letters:
            yield part.rstrip()
            part = ""
        part += piece
    yield part


def _in_lines(title: str, letters: int) -> str:
    """Return a title wrapped at ``letters``, with parentheses of long lines on their own line."""
    lines = []
    for line in title.split("\n"):
        first, *rest = [line] if len(line) <= letters else line.split(" (")
        lines += [first, *(f"({part}" for part in rest)]
    return "\n".join(fill(line, letters, break_long_words=False) for line in lines)


def measure_label(measure: Measure) -> str:
    """Return a measure's axis label, which names the rows of an optional measure."""
    if not (measure.optional and measure.where):
        return measure.axis_label
    return replace(measure, title=f"{measure.title}, {measure.where}").axis_label


def show_values(axes: Axes, values: Sequence[float], headroom: float) -> None:
    """Set a linear y axis to some values, with a margin and headroom."""
    room = max(values) - min(values) or abs(max(values)) or 1.0
    axes.set_ylim(min(values) - PANEL_MARGIN * room, max(values) + (PANEL_MARGIN + headroom) * room)
    set_few_ticks(axes.yaxis)


def set_few_ticks(axis: Axis, most: int = 6) -> None:
    """Put at most ``most`` intervals between ticks at round numbers."""
    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))


def size_ticks(axes: Axes, sizes: Iterable[int]) -> None:
    """Label the largest size on a log axis, and smaller ones as space allows.

    The axis must have its final limits.
    """
    low, high = map(log, axes.get_xlim())
    width = axes.get_window_extent().width / axes.figure.dpi
    kept: list[int] = []
    for n in sorted(sizes, reverse=True):
        if not kept or log(kept[-1] / n) / (high - low) * width > TICK_ROOM:
            kept.append(n)
    axes.set_xticks(kept, map(short_count, kept))
    axes.xaxis.set_minor_locator(NullLocator())


def write_above(axes: Axes, lines: Sequence[str]) -> None:
    """Write lines into the upper left corner; each has the height `NOTE_ROOM`."""
    look: dict[str, Any] = {"va": "top", "fontsize": END_FONT, "linespacing": 1.0}
    axes.text(0.03, 0.98, "\n".join(lines), transform=axes.transAxes, **look)


def label_axes(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Label the axes once per row and per column of panels with data."""
    rows: dict[int, Axes] = {}
    columns: dict[int, Axes] = {}
    for panel in axes:
        place = panel.get_subplotspec()
        assert place is not None
        rows.setdefault(place.rowspan.start, panel)
        columns[place.colspan.start] = panel
    for panel in rows.values():
        panel.set_ylabel(y_label)
    for panel in columns.values():
        panel.set_xlabel(x_label)


NO_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "png": {},
    "svg": {"Creator": None, "Date": None},
}
"""Metadata to leave out of each file format, so that files are reproducible."""


def save(figure: Figure, stem: Path, formats: Sequence[str] = DEFAULT_FORMATS) -> list[Path]:
    """Write a figure in some formats and return the paths; equal figures give equal bytes."""
    return [_save(figure, stem.with_name(f"{stem.name}.{suffix}")) for suffix in formats]


def svg(figure: Figure) -> str:
    """Return a figure as SVG with text as paths; equal figures give equal text.

    Paths are rounded to a hundredth of a point, which halves hatches, most of a file.
    """
    buffer = BytesIO()
    with mpl.rc_context(RC):
        figure.savefig(buffer, format="svg", metadata=NO_DATE["svg"])
    return SVG_PATH.sub(lambda path: _rounded(path[0]), buffer.getvalue().decode())


def _rounded(path: str) -> str:
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", path)


def _save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the path's suffix."""

    def write(file: BinaryIO) -> None:
        form = path.suffix[1:]
        if form == "svg":
            file.write(svg(figure).encode())
            return
        with mpl.rc_context(RC):
            figure.savefig(file, format=form, metadata=NO_DATE[form])

    return write_file(path, write)

"""Tables as text for a terminal, within its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress, groupby

from dsgkit.report.formats import Cell, Layout
from dsgkit.text import BREAK, Column, fits, paragraph, table

_COLUMNS_AT_ONE_SIZE = 2
"""Columns of a table with one measure at one size: names and values."""


def plain(layout: Layout, width: int) -> str:
    """Return a table with its full caption and notes; the best entries are marked by ``*``."""
    return _text(layout, width, layout.caption, _notes(layout))


def fits_whole(layout: Layout, width: int) -> bool:
    """Return whether a table fits into ``width`` columns without a break."""
    return fits(_columns(layout), width)


def plain_tables(layouts: Sequence[Layout], width: int) -> str:
    """Return tables one below the other, without repeating common settings and notes.

    Consecutive tables with the same setting print it above the first, and equal notes below the
    last. Tables of a single size are joined into one, with a column per measure.
    """
    tables = list(_side_by_side(layouts))
    texts, about = [], ""
    for place, one in enumerate(tables):
        if one.about and one.about != about:
            about = one.about
            texts.append(f"{paragraph(about, width)}\n")
        notes_below = _notes(tables[place + 1]) if place + 1 < len(tables) else []
        notes = [note for note in _notes(one) if note not in notes_below]
        texts.append(_text(_turned(one, width), width, one.title, notes))
    return "\n".join(texts)


def _turned(layout: Layout, width: int) -> Layout:
    """Return a table transposed, unless it has no ``corner`` or would be broken more often."""
    if not layout.corner:
        return layout
    turned = layout.transposed(layout.corner)
    either = (turned, layout)
    return max(either, key=lambda one: fits(_columns(one), width))


def _side_by_side(layouts: Sequence[Layout]) -> Iterator[Layout]:
    """Yield tables; consecutive ones at a single size with the same rows are joined."""

    def alike(layout: Layout) -> object:
        names = tuple(row[0].text for row in layout.rows)
        return (layout.about, layout.detail, names) if _has_one_size(layout) else id(layout)

    for _, group in groupby(layouts, alike):
        first, *others = group
        yield _joined(first, others) if _has_one_size(first) else first


def _has_one_size(layout: Layout) -> bool:
    return bool(layout.head) and len(layout.header) == _COLUMNS_AT_ONE_SIZE


def _joined(first: Layout, others: Sequence[Layout]) -> Layout:
    """Return tables at one size joined, with a column per measure."""
    members = [first, *others]
    columns = [[row[1] for row in one.rows] for one in members]
    names = [row[0] for row in first.rows]
    return replace(
        first,
        header=[first.header[0], *(one.head for one in members)],
        rows=list(zip(names, *columns, strict=True)),
        footnotes=list(dict.fromkeys(note for one in members for note in one.footnotes)),
        head="",
        corner="",
    )


def _notes(layout: Layout) -> list[str]:
    return [*([f"* {layout.best_means}"] if layout.has_best else []), *layout.footnotes]


def _text(layout: Layout, width: int, title: str, notes: Sequence[str]) -> str:
    above = [paragraph(title, width), ""] if title else []
    below = ["", *(paragraph(note, width) for note in notes)] if notes else []
    return "\n".join([*above, table(_columns(layout), width), *below]) + "\n"


def _columns(layout: Layout) -> list[Column]:
    """Return the columns; repeated names in the first column are blank."""
    cells = [[row[place] for row in layout.rows] for place in range(len(layout.header))]
    above = [None, *cells[0]]
    cells[0] = [
        Cell("") if one == last else one for one, last in zip(cells[0], above, strict=False)
    ]
    return [
        Column(head, *_entries(column)) for head, column in zip(layout.header, cells, strict=True)
    ]


def _entries(cells: Sequence[Cell]) -> tuple[list[str], list[bool]]:
    """Return the texts of a column, and which of them are numbers.

    Numbers are padded on the right to the longest note and marks, so that they align.
    """
    numbers = [cell.value is not None for cell in cells]
    notes = [
        (f"{' ' if number else BREAK}{cell.note}" if cell.note else "")
        + cell.mark
        + "*" * cell.best
        for cell, number in zip(cells, numbers, strict=True)
    ]
    room = max(map(len, compress(notes, numbers)), default=0)
    texts = [
        cell.text + (note.ljust(room) if number else note)
        for cell, note, number in zip(cells, notes, numbers, strict=True)
    ]
    return texts, numbers

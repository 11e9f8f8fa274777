"""Tables as text for a terminal, within its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress, groupby

from dsgkit.report.formats import Cell, Layout
from dsgkit.text.terminal import BREAK, Column, count_parts, paragraph, table

_COLUMNS_AT_ONE_SIZE = 2
"""Names, and one measure."""


def plain(layout: Layout, width: int) -> str:
    """Return a table, the best entries marked by ``*``, with all that it says."""
    return _text(layout, width, layout.caption, _notes(layout))


def fits_whole(layout: Layout, width: int) -> bool:
    """Return whether a terminal shows all columns of a table side by side."""
    return count_parts(_columns(layout), width) == 1


def plain_tables(layouts: Sequence[Layout], width: int) -> str:
    """Return tables one below the other; what several say in a row is said once.

    That is, before the first of them, what holds in all fits, and below the last one, its notes.
    Tables of a single size are one table with a column for each measure.
    """
    tables = list(_side_by_side(layouts))
    texts, about = [], ""
    for place, one in enumerate(tables):
        if one.about and one.about != about:
            about = one.about
            texts.append(f"{paragraph(about, width)}\n")
        said_below = _notes(tables[place + 1]) if place + 1 < len(tables) else []
        notes = [note for note in _notes(one) if note not in said_below]
        texts.append(_text(_turned(one, width), width, one.title, notes))
    return "\n".join(texts)


def _turned(layout: Layout, width: int) -> Layout:
    """Return a table with its rows as columns, unless it has none such or would be cut more."""
    if not layout.corner:
        return layout
    turned = layout.transposed(layout.corner)
    either = (turned, layout)
    return min(either, key=lambda one: count_parts(_columns(one), width))


def _side_by_side(layouts: Sequence[Layout]) -> Iterator[Layout]:
    """Yield tables, those of one measure at one size joined if they have the same rows."""

    def alike(layout: Layout) -> object:
        names = tuple(row[0].text for row in layout.rows)
        return (layout.about, layout.detail, names) if _is_of_one_size(layout) else id(layout)

    for _, group in groupby(layouts, alike):
        first, *others = group
        yield _joined(first, others) if _is_of_one_size(first) else first


def _is_of_one_size(layout: Layout) -> bool:
    return bool(layout.head) and len(layout.header) == _COLUMNS_AT_ONE_SIZE


def _joined(first: Layout, others: Sequence[Layout]) -> Layout:
    """Return tables of one size as one, with a column for each measure."""
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
    """Return the columns; a name that several rows begin with is shown once."""
    cells = [[row[place] for row in layout.rows] for place in range(len(layout.header))]
    above = [None, *cells[0]]
    cells[0] = [
        Cell("") if one == last else one for one, last in zip(cells[0], above, strict=False)
    ]
    return [Column(head, *_entries(of)) for head, of in zip(layout.header, cells, strict=True)]


def _entries(cells: Sequence[Cell]) -> tuple[list[str], list[bool]]:
    """Return the texts of a column, and which are numbers: these are aligned without their notes.

    Blanks at the end stand for the notes and marks that other numbers have.
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

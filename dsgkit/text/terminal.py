"""Text for a terminal: paragraphs, lists and tables within its width.

rich is imported by the functions that need it: most commands print a line or two.
"""

from __future__ import annotations

import io
import itertools
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

DEFAULT_WIDTH = 80
"""Columns where the output is not a terminal and ``COLUMNS`` is not set."""

MIN_WIDTH = 40
MAX_PROSE = 100
"""Columns of a paragraph: longer lines are hard to read."""

MAX_WORD = 24
"""Letters of the longest word that a narrow column does not break."""

MIN_NAME = 20
"""Columns that long row names keep in a table that is split into parts."""

MAX_KEYS = 2
"""Columns of names that are repeated in every part of a split table."""

BREAK = "\n"
NO_BREAK = "\xa0"
"""A space at which no line of a paragraph ends."""


_WITHIN_AN_AMOUNT = re.compile(
    r"(?<=\d) (?=(?:ms|s|min|h|B|[KMG]i?B)\b)"  # 0.32 ms
    r"|(?<=\S) (?=[-+=<>]=? [-.\d])"  # p = 0.101, k - 1
    r"|(?<= [-+=<>]) (?=[-.\d])|(?<= [<>]=) (?=[-.\d])"
)
_MIN_COLUMNS = 2
_COLUMN_GAP = 2
_TRACEBACK_INDENT = 4
_MAX_HEIGHT = 2**20


def terminal_width() -> int:
    """Return the width of the terminal, or that in ``COLUMNS``."""
    return max(MIN_WIDTH, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)


def paragraph(text: str, width: int, indent: str = "", first: str = "") -> str:
    """Wrap a text; words longer than a line are not broken.

    No line ends between a number and its unit, or next to an operator before a number.

    Parameters
    ----------
    text : str
    width : int
        Columns of the terminal.
    indent, first : str
        Prefix of the further lines, and of the first one.
    """
    filled = textwrap.fill(
        _WITHIN_AN_AMOUNT.sub(NO_BREAK, text),
        min(width, MAX_PROSE),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(NO_BREAK, " ")


def wrapped(text: str, width: int) -> str:
    """Wrap each line of a text at its own indent; tracebacks stay unchanged."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip(" ")))
        is_traceback = len(indent) >= _TRACEBACK_INDENT
        lines.append(
            line if is_traceback else paragraph(line.lstrip(" "), width, f"{indent}  ", indent)
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `BREAK` in an entry is a space at which a narrow column breaks the text. Entries that are
    ``whole``, such as numbers, must not be broken.
    """

    head: str
    entries: Sequence[str]
    whole: Sequence[bool]

    @property
    def is_numeric(self) -> bool:
        """Whether an entry must not be broken; the column is then aligned to the right."""
        return any(self.whole)

    @cached_property
    def most(self) -> int:
        """The width at which nothing is broken."""
        return max(_length(text) for text in (self.head, *self.entries))

    @cached_property
    def least(self) -> int:
        """The width below which a number, or a word up to `MAX_WORD`, would be broken."""
        kept = [_length(text) for text, whole in self._texts if whole]
        words = (word for text, whole in self._texts if not whole for word in _pieces(text))
        return max([1, *kept, *(min(_length(word), MAX_WORD) for word in words)])

    @property
    def _texts(self) -> Iterator[tuple[str, bool]]:
        yield self.head, False
        yield from zip(self.entries, self.whole, strict=True)


def table(columns: Sequence[Column], width: int) -> str:
    """Return a table with a rule below its head.

    If it is too wide, texts are wrapped. If that does not suffice, it is split into parts, one
    below the other, each of which begins with the columns of names.
    """
    name = 1 if _fits(columns, width) else MIN_NAME
    parts = _parts(columns, width, name)
    return "\n\n".join(_part(part, _widths(part, width, name)) for part in parts)


def count_parts(columns: Sequence[Column], width: int) -> int:
    """Return the number of parts into which a table is split."""
    return 1 if _fits(columns, width) else len(list(_parts(columns, width, MIN_NAME)))


def _fits(columns: Sequence[Column], width: int) -> bool:
    return sum(column.least for column in columns) + _COLUMN_GAP * (len(columns) - 1) <= width


def _parts(columns: Sequence[Column], width: int, name: int) -> Iterator[list[Column]]:
    """Yield the columns of each part of a table; ``name`` is the least width of names."""
    n_keys = _n_keys(columns)
    keys, others = list(columns[:n_keys]), list(columns[n_keys:])
    used = sum(_least(column, name) + _COLUMN_GAP for column in keys)
    while True:
        ends = itertools.accumulate((column.least + _COLUMN_GAP for column in others), initial=used)
        n = max(1, sum(end - _COLUMN_GAP <= width for end in ends) - 1)
        yield [*keys, *others[:n]]
        others = others[n:]
        if not others:
            return


def listing(rows: Sequence[Sequence[str]], width: int) -> str:
    """Return rows as aligned columns; all columns but the first are wrapped if necessary.

    In rows of two columns, words longer than the line, such as addresses, are not broken.
    """
    from rich.text import Text

    names = [row[0] for row in rows]
    indent = max(map(_length, names), default=0) + _COLUMN_GAP
    if all(len(row) == _MIN_COLUMNS for row in rows):
        return "\n".join(
            paragraph(text, width, " " * indent, first=name + " " * (indent - _length(name)))
            for name, text in rows
        )
    columns = [
        Column("", entries, [number == 0] * len(rows))
        for number, entries in enumerate(zip(*rows, strict=True))
    ]
    grid = _grid(_widths(columns, width, MIN_NAME))
    for row in rows:
        grid.add_row(*map(Text, row))
    return _rendered(grid, width)


def _n_keys(columns: Sequence[Column]) -> int:
    """Return how many of the leftmost columns are names."""
    numbers = [place for place, column in enumerate(columns) if column.is_numeric]
    return min(max(1, numbers[0]), MAX_KEYS) if numbers else 1


def _least(column: Column, name: int) -> int:
    """Return the least width of a column of names."""
    return max(column.least, min(column.most, name))


def _widths(columns: Sequence[Column], width: int, name: int) -> list[int]:
    """Return the width of every column: the widest are narrowed until all fit.

    The heads of numeric columns are wrapped before names and texts.
    """
    widths = [column.most for column in columns]
    least = [_least(columns[0], name), *(column.least for column in columns[1:])]
    room = width - _COLUMN_GAP * (len(columns) - 1)
    while sum(widths) > room:
        wide = [n for n in range(len(columns)) if widths[n] > least[n]]
        if not wide:
            break
        widths[max(wide, key=lambda n: (columns[n].is_numeric, widths[n]))] -= 1
    return widths


def _part(columns: Sequence[Column], widths: Sequence[int]) -> str:
    grid = _grid(widths)
    rules = ["-" * width for width in widths]
    heads = [column.head for column in columns]
    for row in [heads, rules, *zip(*(column.entries for column in columns), strict=True)]:
        grid.add_row(
            *(
                _aligned(text, width, right=number > 0 and column.is_numeric)
                for number, (text, width, column) in enumerate(
                    zip(row, widths, columns, strict=True)
                )
            )
        )
    return _rendered(grid, sum(widths) + _COLUMN_GAP * len(widths))


def _aligned(text: str, width: int, *, right: bool) -> Text:
    """Align an entry; trailing spaces, which stand for marks, are kept if it is one line."""
    from rich.text import Text

    room = width - _length(text)
    if room >= 0:
        text = text.replace(BREAK, " ")
        return Text(" " * room + text if right else text)
    return Text(text.rstrip(), justify="right" if right else "left")


def _grid(widths: Sequence[int]) -> Table:
    from rich.table import Table

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0))
    for width in widths:
        grid.add_column(width=width, overflow="fold")
    return grid


def _rendered(grid: Table, width: int) -> str:
    from rich.console import Console

    file = io.StringIO()
    console = Console(
        file=file, width=width, height=_MAX_HEIGHT, color_system=None, force_terminal=False
    )
    console.print(grid)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _pieces(text: str) -> list[str]:
    """Return the parts of a text that are not broken."""
    return text.split(BREAK) if BREAK in text else text.split()


def _length(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text.replace(BREAK, " "))

"""Text for a terminal: paragraphs, lists and tables within its width.

rich is imported by the functions that need it: most commands print a line or two.
"""

from __future__ import annotations

import io
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

DEFAULT_WIDTH = 80
"""Columns where the output is not a terminal and ``COLUMNS`` is not set."""

MIN_WIDTH = 40
MAX_PROSE = 100
"""Columns of a paragraph: longer lines are hard to read."""

MAX_WORD = 24
"""Letters of the longest word of a name that a narrow column does not break."""

MIN_NAME = 20
"""Columns that a long name keeps in a table that goes on below."""

BREAK = "\n"
NO_BREAK = "\xa0"
"""A space at which no line of a paragraph ends."""

_WITHIN_AN_AMOUNT = re.compile(
    r"(?<=\d) (?=(?:ms|s|min|h|d|B|[KMG]i?B)\b)"  # 0.32 ms
    r"|(?<=\S) (?=[-+=<>]=? [-.\d])"  # p = 0.101, k - 1
    r"|(?<= [-+=<>]) (?=[-.\d])|(?<= [<>]=) (?=[-.\d])"
)
_GAP = 2
_TRACEBACK_INDENT = 4


def terminal_width() -> int:
    """Return the width of the terminal, or that in ``COLUMNS``."""
    return max(MIN_WIDTH, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)


def say(text: str) -> None:
    """Print a text above the progress line, if a run shows one."""
    from rich import get_console

    get_console().out(text, highlight=False)


def paragraph(text: str, width: int, indent: str = "", first: str = "") -> str:
    """Wrap a text; ``indent`` and ``first`` begin the further lines and the first one.

    Words longer than a line are not broken, and no line ends between a number and its unit, or next
    to an operator before a number.
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


def listing(rows: Sequence[tuple[str, str]], width: int) -> str:
    """Return names with texts next to them; texts are wrapped, words are not broken."""
    indent = max((len(name) for name, _ in rows), default=0) + _GAP
    return "\n".join(
        paragraph(text, width, " " * indent, first=name.ljust(indent)) for name, text in rows
    )


@dataclass(frozen=True)
class Column:
    """A column of a table; entries that are ``whole``, such as numbers, are not broken.

    `BREAK` in another entry is a space at which a narrow column breaks the text.
    """

    head: str
    entries: Sequence[str]
    whole: Sequence[bool]

    @property
    def most(self) -> int:
        """The width at which nothing is broken."""
        return max(map(_length, (self.head, *self.entries)))

    @property
    def least(self) -> int:
        """The width below which a number, or a word up to `MAX_WORD`, would be broken."""
        pieces = self.head.split()
        for text, whole in zip(self.entries, self.whole, strict=True):
            pieces += [text] if whole else text.split(BREAK if BREAK in text else None)
        longest = max(map(_length, pieces), default=1)
        return longest if any(self.whole) else min(longest, MAX_WORD)

    def cell(self, text: str, width: int) -> Text:
        """Return an entry; spaces at the end of a number stand for a mark, and are kept."""
        from rich.text import Text

        if _length(text) > width:
            return Text(text.rstrip(), justify="right" if any(self.whole) else "left")
        line = text.replace(BREAK, " ")
        return Text(" " * (width - _length(line)) * any(self.whole) + line)


def fits(columns: Sequence[Column], width: int) -> bool:
    """Return whether a table needs no second part."""
    return _total(column.least for column in columns) <= width


def table(columns: Sequence[Column], width: int) -> str:
    """Return a table with a rule below its head.

    If it is too wide, heads of numbers, names and texts are wrapped. Columns that do not fit even
    then follow below, with the first column again.
    """
    if fits(columns, width):
        return _rendered(columns, [column.least for column in columns], width)
    first, *others = columns
    name, parts = max(first.least, min(first.most, MIN_NAME)), []
    while others:
        least = [name, *(column.least for column in others)]
        while len(least) > 2 and _total(least) > width:
            least.pop()
        n = len(least) - 1
        parts.append(_rendered([first, *others[:n]], least, width))
        others = others[n:]
    return "\n\n".join(parts)


def _rendered(columns: Sequence[Column], least: Sequence[int], width: int) -> str:
    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table

    narrow = _total(column.most for column in columns) > width
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    widths = []
    for column, smallest in zip(columns, least, strict=True):
        numeric = any(column.whole)
        widths.append(smallest if narrow and numeric else column.most)
        grid.add_column(width=widths[-1] if numeric else None, min_width=smallest, overflow="fold")
    heads = [column.head for column in columns]
    for number, row in enumerate([heads, *zip(*(c.entries for c in columns), strict=True)]):
        grid.add_row(*(c.cell(text, n) for c, text, n in zip(columns, row, widths, strict=True)))
        if number == 0:
            grid.add_row(*(Rule(characters="-", style="") for _ in columns))
    file = io.StringIO()
    Console(file=file, width=max(width, _total(least)), height=2**20).print(grid)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _length(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text.replace(BREAK, " "))

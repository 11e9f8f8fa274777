"""Text for a terminal: paragraphs, lists and tables within its width."""

from __future__ import annotations

import itertools
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def terminal_width() -> int:
    """Return the width of the terminal, or that in ``COLUMNS``."""
    return max(MIN_WIDTH, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)


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
    """Wrap each line of a text below its own indent; tracebacks, indented by 4, stay unchanged."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip(" "))]
        is_traceback = len(indent) >= 4
        lines.append(
            line if is_traceback else paragraph(line.strip(), width, f"{indent}  ", indent)
        )
    return "\n".join(lines)


def listing(rows: Sequence[tuple[str, str]], width: int) -> str:
    """Return names with texts next to them; texts are wrapped, words are not broken."""
    indent = max((len(name) for name, _ in rows), default=0) + _GAP
    return "\n".join(
        paragraph(text, width, " " * indent, first=name.ljust(indent)) for name, text in rows
    )


class Column(NamedTuple):
    """A column of a table; entries that are ``whole``, such as numbers, are not broken.

    `BREAK` in another entry is a space at which a narrow column breaks the text.
    """

    head: str
    entries: Sequence[str]
    whole: Sequence[bool]


def fits(columns: Sequence[Column], width: int) -> bool:
    """Return whether a table needs no second part."""
    return _total(map(_least, columns)) <= width


def table(columns: Sequence[Column], width: int) -> str:
    """Return a table with a rule below its head.

    If it is too wide, heads of numbers, names and texts are wrapped. Columns that do not fit even
    then follow below, with the first column again.
    """
    if fits(columns, width):
        return _rendered(columns, list(map(_least, columns)), width)
    first, *others = columns
    name, parts = max(_least(first), min(_most(first), MIN_NAME)), []
    while others:
        least = [name, *map(_least, others)]
        while len(least) > 2 and _total(least) > width:
            least.pop()
        n = len(least) - 1
        parts.append(_rendered([first, *others[:n]], least, width))
        others = others[n:]
    return "\n\n".join(parts)


def _rendered(columns: Sequence[Column], least: Sequence[int], width: int) -> str:
    numeric = [any(column.whole) for column in columns]
    widths = list(map(_most, columns))
    if _total(widths) > width:
        widths = [few if n else most for few, most, n in zip(least, widths, numeric, strict=True)]
    while _total(widths) > width and widths != least:
        spare = [most if most > few else 0 for most, few in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    rule = ["-" * n for n in widths]
    entries = zip(*(column.entries for column in columns), strict=True)
    lines = []
    for row in [[column.head for column in columns], rule, *entries]:
        cells = [_cell(text, n) for text, n in zip(row, widths, strict=True)]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            aligned = zip(parts, widths, numeric, strict=True)
            texts = [text.rjust(n) if right else text.ljust(n) for text, n, right in aligned]
            lines.append((" " * _GAP).join(texts).rstrip())
    return "\n".join(lines)


def _cell(text: str, width: int) -> list[str]:
    if len(text) <= width:  # spaces at the end of a number stand for a mark, and are kept
        return [text.replace(BREAK, " ")]
    parts = (textwrap.wrap(part, width, break_on_hyphens=False) for part in text.split(BREAK))
    return [line for part in parts for line in part]


def _most(column: Column) -> int:
    """Return the width at which nothing is broken."""
    return max(map(len, (column.head, *column.entries)))


def _least(column: Column) -> int:
    """Return the width below which a number, or a word up to `MAX_WORD`, would be broken."""
    pieces = column.head.split()
    for text, whole in zip(column.entries, column.whole, strict=True):
        pieces += [text] if whole else text.split(BREAK if BREAK in text else None)
    longest = max(map(len, pieces), default=1)
    return longest if any(column.whole) else min(longest, MAX_WORD)


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP

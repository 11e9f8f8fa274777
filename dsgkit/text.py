"""Text for a terminal: paragraphs, lists and tables within its width."""

from __future__ import annotations

import itertools
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

DEFAULT_WIDTH = 80  # where the output is not a terminal and COLUMNS is not set
MAX_PROSE = 100  # columns of a paragraph: longer lines are hard to read
MAX_WORD = 24  # letters of the longest word that a narrow column of text does not break
BREAK, NO_BREAK = "\n", "\xa0"  # spaces where a narrow column breaks first, and a line never

_WITHIN_AN_AMOUNT = re.compile(
    r"(?<=\d) (?=(?:ms|s|min|h|d|B|[KMG]i?B)\b)"  # 0.32 ms
    r"|(?<=\S) (?=[-+=<>]=? [-.\d])"  # p = 0.101, k - 1
    r"|(?<= [-+=<>]) (?=[-.\d])|(?<= [<>]=) (?=[-.\d])"
)
_GAP = 2


def terminal_width() -> int:
    """Return the width of the terminal, or that in ``COLUMNS``; 40 at least."""
    return max(40, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)


def paragraph(text: str, width: int, indent: str = "", first: str = "") -> str:
    """Wrap a text, but not within a long word, or next to the unit or operator of a number."""
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
        keep = len(indent) >= 4
        lines.append(line if keep else paragraph(line.strip(" "), width, f"{indent}  ", indent))
    return "\n".join(lines)


def listing(rows: Sequence[tuple[str, str]], width: int) -> str:
    """Return names with texts next to them; texts are wrapped, words are not broken."""
    indent = max((len(name) for name, _ in rows), default=0) + _GAP
    texts = (paragraph(text, width, " " * indent, name.ljust(indent)) for name, text in rows)
    return "\n".join(texts)


def tracked(items: Sequence[Item], doing: str) -> Iterable[Item]:
    """Return an iterable over items, with a bar on standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    return track(items, doing, console=screen, transient=True, disable=not screen.is_terminal)


class Column(NamedTuple):
    """A column of a table; entries that are ``whole``, such as numbers, are not broken."""

    head: str
    entries: Sequence[str]
    whole: Sequence[bool]


def table(columns: Sequence[Column], width: int) -> str:
    """Return a table; columns that do not fit even with wrapped texts follow below."""
    least, n = [*map(_least, columns)], len(columns)
    while n > 2 and sum(least[:n]) + _GAP * (n - 1) > width:
        n -= 1
    shown, least, room = columns[:n], least[:n], width - _GAP * (n - 1)
    numeric = [any(column.whole) for column in shown]
    widths = [max(map(len, (column.head, *column.entries))) for column in shown]
    if sum(widths) > room:
        widths = [few if n else most for few, most, n in zip(least, widths, numeric, strict=True)]
    while sum(widths) > room and widths != least:
        spare = [most if most > few else 0 for most, few in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    head, rule = [column.head for column in shown], ["-" * size for size in widths]
    lines = []
    for row in [head, rule, *zip(*(column.entries for column in shown), strict=True)]:
        cells = [_cell(text, size) for text, size in zip(row, widths, strict=True)]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            aligned = zip(parts, widths, numeric, strict=True)
            texts = [text.rjust(k) if right else text.ljust(k) for text, k, right in aligned]
            lines.append((" " * _GAP).join(texts).rstrip())
    if n < len(columns):
        lines += ["", table([columns[0], *columns[n:]], width)]
    return "\n".join(lines)


def _cell(text: str, width: int) -> list[str]:
    if len(text) <= width:  # spaces at the end of a number stand for a mark, and are kept
        return [text.replace(BREAK, " ")]
    parts = (textwrap.wrap(part, width, break_on_hyphens=False) for part in text.split(BREAK))
    return [line for part in parts for line in part]


def _least(column: Column) -> int:
    """Return the width below which a number, or a word up to `MAX_WORD`, would be broken."""
    pieces = column.head.split()
    for text, whole in zip(column.entries, column.whole, strict=True):
        pieces += [text] if whole else text.split(BREAK if BREAK in text else None)
    longest = max(map(len, pieces), default=1)
    return longest if any(column.whole) else min(longest, MAX_WORD)

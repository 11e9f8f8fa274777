"""Tables of text, their output formats, and writing the files of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from dsgkit.errors import ResultsError, in_a_line
from dsgkit.system.files import write_atomically

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "–": "--",
    "→": r"$\to$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_MARKUP = re.compile(r"[\\|*]|<(?=[A-Za-z/!?])|&(?=#?\w+;)")  # < and & where a tag or entity begins
_FORMULA = re.compile(r"\s*([=@]|[-+](?![\d.]+(e-?\d+)?$))")  # what spreadsheets run: no number


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str
    note: str = ""
    best: bool = False  # of its group
    value: float | None = None  # the number in the text, for sorting
    link: str = ""  # target of a link on a page
    mark: str = ""  # a sign after the text, explained by a footnote

    def __post_init__(self) -> None:
        for name in ("text", "note"):
            object.__setattr__(self, name, in_a_line(getattr(self, name), None))


@dataclass(frozen=True)
class Layout:
    """A table of text."""

    caption: str  # one sentence
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    footnotes: Sequence[str] = ()
    best_means: str = "best"  # meaning of a marked entry
    about: str = ""  # dataset and setting of all fits, for where they do not stand already
    aside: bool = False  # shown only by name, and folded on a page

    def __post_init__(self) -> None:
        for name in ("caption", "about"):
            object.__setattr__(self, name, in_a_line(getattr(self, name), None))
        for name in ("header", "footnotes"):
            object.__setattr__(self, name, [in_a_line(x, None) for x in getattr(self, name)])

    @property
    def has_best(self) -> bool:
        return any(cell.best for row in self.rows for cell in row)

    @property
    def full_caption(self) -> str:
        return " ".join(filter(None, [self.caption, self.about]))

    def notes(self, sign: str) -> list[str]:
        """Return the footnotes, the first one on the ``sign`` of marked entries."""
        return [*([f"{sign}: {self.best_means}."] if self.has_best else []), *self.footnotes]

    @property
    def numeric_columns(self) -> list[bool]:
        """Whether any entry shows a number, for each column."""
        places = range(len(self.header))
        return [any(row[place].value is not None for row in self.rows) for place in places]

    def with_columns(self, wanted: Sequence[bool]) -> Layout:
        rows = [list(compress(row, wanted)) for row in self.rows]
        return replace(self, header=list(compress(self.header, wanted)), rows=rows)


@dataclass(frozen=True)
class Table:
    """Tables in a file: as text, one below the other, and as tidy data, a row per entry."""

    name: str
    layouts: list[Layout]
    frame: pd.DataFrame


def markdown(layout: Layout) -> str:
    """Return a GitHub Markdown table, the best entries in bold."""
    lines = [[escape_markdown(name) for name in layout.header]]
    lines += [[_markdown_entry(cell) for cell in row] for row in layout.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * max(3, widths[0]), *("-" * max(2, width - 1) + ":" for width in widths[1:])]
    lines.insert(1, rule)
    rows = ([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])] for first, *rest in lines)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    before, *after = map(escape_markdown, [layout.full_caption, *layout.notes("Bold")])
    return "\n\n".join([before, table, *after]) + "\n"


def _markdown_entry(cell: Cell) -> str:
    text = escape_markdown(cell.text + cell.mark)
    text = f"**{text}**" if cell.best else text
    return f"{text} {escape_markdown(cell.note)}" if cell.note else text


def escape_markdown(text: str) -> str:
    return _MARKUP.sub(lambda match: f"\\{match[0]}", text)


def latex(layout: Layout) -> str:
    """Return a LaTeX ``tabular`` with booktabs rules; caption and notes are comments."""
    lines = [
        r"% needs \usepackage{booktabs}",
        f"% {layout.full_caption}",
        rf"\begin{{tabular}}{{l{'r' * (len(layout.header) - 1)}}}",
        r"\toprule",
        " & ".join(map(_escape_latex, layout.header)) + r" \\",
        r"\midrule",
        *(" & ".join(map(_latex_entry, row)) + r" \\" for row in layout.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {note}" for note in layout.notes("Bold")),
    ]
    return "\n".join(lines) + "\n"


def _latex_entry(cell: Cell) -> str:
    """Return an entry; its note goes below it to keep columns narrow."""
    text, note = _escape_latex(cell.text + cell.mark), _escape_latex(cell.note)
    text = rf"\textbf{{{text}}}" if cell.best else text
    return rf"\shortstack[r]{{{text}\\{{\scriptsize {note}}}}}" if note else text


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write a table as CSV, Markdown and LaTeX and return the paths."""
    texts = {
        "csv": csv_text(table.frame),
        "md": "\n".join(map(markdown, table.layouts)),
        "tex": "\n".join(map(latex, table.layouts)),
    }
    return [write_text(folder / f"{table.name}.{suffix}", text) for suffix, text in texts.items()]


def csv_text(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV, with texts escaped that spreadsheets read as formulas."""
    words = frame.select_dtypes(exclude="number")
    words = words.map(lambda x: f"'{x}" if isinstance(x, str) and _FORMULA.match(x) else x)
    return frame.assign(**words).to_csv(index=False)


def write_text(path: Path, text: str) -> Path:
    return write_file(path, lambda file: file.write(text.encode()))


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Let ``write`` fill a file, and return its path; on an error the old file stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{path}: cannot be written ({reason}); name another folder") from error
    return path

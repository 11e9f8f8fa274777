"""Tables, their output formats, and the files of a report."""

from __future__ import annotations

import errno
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import CONFIG
from dsgkit.system.files import write_atomically

LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
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
}

_FORMULA = ("=", "+", "-", "@")
"""First characters of texts that spreadsheets read as formulas."""

_MARKUP = re.compile(r"[\\|*]|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
"""Characters to escape in Markdown; ``<`` and ``&`` only where a tag or entity begins."""


def in_one_line(text: str) -> str:
    """Return a text with line breaks and control characters escaped."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or unicodedata.category(letter) == "Zs"
        else ascii(letter)[1:-1]
        for letter in text
    )


BEST = "best"
"""Usual meaning of a marked entry."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    Attributes
    ----------
    note : str
        A remark.
    best : bool
        Whether it is the best of its group.
    value : float or None
        The number in the text, for sorting.
    link : str
        Target of a link on a page.
    mark : str
        A sign after the text, explained by a footnote.
    """

    text: str
    note: str = ""
    best: bool = False
    value: float | None = None
    link: str = ""
    mark: str = ""

    def __post_init__(self) -> None:
        for name in ("text", "note"):
            object.__setattr__(self, name, in_one_line(getattr(self, name)))


@dataclass(frozen=True)
class Layout:
    """A table of text.

    Attributes
    ----------
    caption : str
        One sentence.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of Cell
        Each as long as the header.
    footnotes : sequence of str
        Printed below.
    best_means : str
        Meaning of a marked entry; formats with bold print it unless it is `BEST`.
    corner : str
        The first column's name if a terminal transposes the table; empty for a table that is never
        transposed.
    head, detail, about : str
        Short parts of the caption for a terminal: the measure; its statistic and rows; and the
        setting of all fits. If empty, a terminal shows the caption.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    footnotes: Sequence[str] = field(default=())
    best_means: str = BEST
    corner: str = ""
    head: str = ""
    detail: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        for name in ("caption", "head", "detail", "about"):
            object.__setattr__(self, name, in_one_line(getattr(self, name)))
        object.__setattr__(self, "header", [*map(in_one_line, self.header)])
        object.__setattr__(self, "footnotes", [*map(in_one_line, self.footnotes)])

    @property
    def title(self) -> str:
        """The caption without the setting of all fits."""
        title = ": ".join(filter(None, [self.head, self.detail]))
        return f"{title[0].upper()}{title[1:]}." if title else self.caption

    @property
    def has_best(self) -> bool:
        """Whether any entry is marked as the best."""
        return any(cell.best for row in self.rows for cell in row)

    @property
    def notes_on_bold(self) -> list[str]:
        """The footnotes where marked entries are in bold."""
        is_explained = self.has_best and self.best_means != BEST
        return [*([f"Bold: {self.best_means}."] if is_explained else []), *self.footnotes]

    @property
    def numeric_columns(self) -> list[bool]:
        """Whether any entry shows a number, for each column."""
        places = range(len(self.header))
        return [any(row[place].value is not None for row in self.rows) for place in places]

    def with_columns(self, wanted: Sequence[bool]) -> Layout:
        """Return the table with the wanted columns only."""
        rows = [list(compress(row, wanted)) for row in self.rows]
        return replace(self, header=list(compress(self.header, wanted)), rows=rows)

    def transposed(self, corner: str) -> Layout:
        """Return the transposed table; ``corner`` names its first column."""
        lines = [[Cell(name) for name in self.header], *self.rows]
        turned = [list(line) for line in zip(*lines, strict=True)]
        header = [corner, *(cell.text for cell in turned[0][1:])]
        return replace(self, header=header, rows=turned[1:])


@dataclass(frozen=True)
class Table:
    """One table file: printed tables, and the same as tidy data.

    Attributes
    ----------
    name : str
        Path of its files in the folder of tables, without a suffix.
    layouts : list of Layout
        Printed one below the other.
    frame : DataFrame
        One row per entry.
    """

    name: str
    layouts: list[Layout]
    frame: pd.DataFrame


def markdown(layout: Layout) -> str:
    """Return a GitHub Markdown table, the best entries in bold."""

    def entry(cell: Cell) -> str:
        text = _escape_markdown(cell.text + cell.mark)
        return _joined(f"**{text}**" if cell.best else text, _escape_markdown(cell.note))

    lines = [[_escape_markdown(name) for name in layout.header]]
    lines += [[entry(cell) for cell in row] for row in layout.rows]
    widths = _widths(lines)
    rule = ["-" * max(3, widths[0]), *("-" * max(2, width - 1) + ":" for width in widths[1:])]
    table = [f"| {' | '.join(_aligned(line, widths))} |" for line in lines]
    table.insert(1, f"| {' | '.join(rule)} |")
    caption, *notes = map(_escape_markdown, [layout.caption, *layout.notes_on_bold])
    return "\n".join([caption, "", *table, *_paragraphs(notes)]) + "\n"


def latex(layout: Layout) -> str:
    """Return a LaTeX ``tabular`` with booktabs rules, the best entries in bold."""
    columns = len(layout.header)
    body = [" & ".join(_latex_entry(cell) for cell in row) + r" \\" for row in layout.rows]
    notes = [
        rf"\multicolumn{{{columns}}}{{p{{0.9\linewidth}}}}"
        rf"{{\footnotesize {escape_latex(note)}}} \\"
        for note in layout.notes_on_bold
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            f"% {layout.caption}",
            rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}",
            r"\toprule",
            " & ".join(escape_latex(name) for name in layout.header) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            *notes,
            r"\end{tabular}",
            "",
        ]
    )


FOLDERS = ("tables", "figures")
"""Folders of the files in a results folder."""

FORMATS: dict[str, Callable[[Layout], str]] = {"md": markdown, "tex": latex}


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write a table as CSV, Markdown and LaTeX and return the paths."""
    texts = {"csv": csv_text(table.frame)}
    for suffix, form in FORMATS.items():
        texts[suffix] = "\n".join(form(layout) for layout in table.layouts)
    return [write_text(folder / f"{table.name}.{suffix}", text) for suffix, text in texts.items()]


def csv_text(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV, with texts escaped that spreadsheets read as formulas."""
    words = frame.select_dtypes(exclude="number").map(_as_no_formula)
    return frame.assign(**words).to_csv(index=False)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, see `write_file`."""
    return write_file(path, lambda file: file.write(text.encode()))


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file atomically and return its path; on an error the old file stays.

    Parameters
    ----------
    path : Path
        Its folder is made if needed.
    write : callable
        Takes the open binary file.

    Raises
    ------
    ResultsError
        If the folder or the file cannot be written.
    """
    try:
        _refuse_links(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{path}: cannot be written ({reason}); name another folder") from error
    return path


def _refuse_links(path: Path) -> None:
    """Raise `OSError` if ``tables`` or ``figures`` in a results folder is a symbolic link.

    Other folders may be links.
    """
    above = path.parents[:2]
    made = (f.name in FOLDERS and (f.parent / CONFIG).exists() for f in above)
    inside = next((n for n, ours in enumerate(made, start=1) if ours), 0)
    if link := next((folder for folder in above[:inside] if folder.is_symlink()), None):
        raise OSError(errno.ELOOP, f"{link.name} is a link; remove it", str(path))


def escape_latex(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return "".join(LATEX_ESCAPES.get(letter, letter) for letter in text)


def _latex_entry(cell: Cell) -> str:
    """Return an entry; its note goes below it to keep columns narrow."""
    text, note = escape_latex(cell.text + cell.mark), escape_latex(cell.note)
    text = rf"\textbf{{{text}}}" if cell.best else text
    return rf"\shortstack[r]{{{text}\\{{\scriptsize {note}}}}}" if note else text


def _escape_markdown(text: str) -> str:
    """Return text with Markdown's special characters escaped, also inside a table."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", text)


def _as_no_formula(value: Any) -> Any:
    """Put an apostrophe before text that spreadsheets read as a formula, except a number."""
    if not isinstance(value, str):
        return value
    text = in_one_line(value)
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _joined(text: str, note: str) -> str:
    return f"{text} {note}" if note else text


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Align the first entry to the left, the others to the right."""
    first = line[0].ljust(widths[0])
    rest = zip(line[1:], widths[1:], strict=True)
    return [first, *(text.rjust(width) for text, width in rest)]


def _paragraphs(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in ("", note)]

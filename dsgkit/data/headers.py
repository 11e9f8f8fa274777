"""The first lines of delimited text: names of columns, and checks of the header and delimiter.

A user's file is compared with its config, so that no row is mistaken for a header, and no header
for a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from dsgkit.data import delimited
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.lines import Chunk, checked
from dsgkit.data.names import is_missing
from dsgkit.data.numbers import LineError, NotANumberError, has_decimal_comma, number
from dsgkit.errors import DataError, nearest_or_all, shown

MAX_LINES_COMPARED = 20
"""Number of lines against which a header and a delimiter are checked."""

_DELIMITERS = (",", ";", "\t", "|", ":", None)
_MAX_NAMES_SHOWN = 3
_BLANK_LINES = re.compile(rb"(?:[ \t\v\f\r]*\n)+")
_ARFF_HEADER = re.compile(rb"(?:\s*[%@][^\n]*\n)*?\s*@data[^\n]*\n", re.IGNORECASE)
_ARFF_NAME = re.compile(
    r"""^\s*@attribute\s+(?:'([^'\n]*)'|"([^"\n]*)"|([^\s'"]+))""", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class Start:
    """Layout of a delimited file, read from its first lines.

    Attributes
    ----------
    line : int
        Number of the line of the first row, from 1.
    content : bytes
        That line.
    delimiter : str or None
        None for white space.
    names : tuple of str
        Names of the columns; empty in a file without a header.
    """

    line: int
    content: bytes
    delimiter: str | None
    names: tuple[str, ...] = ()

    def place(self, key: str, column: int | str, n_columns: int) -> int:
        """Return the place of a column, from 0, given by its number or name.

        Raises
        ------
        LineError
            When the file has no such column.
        """
        if isinstance(column, int):
            if not -n_columns <= column < n_columns:
                raise LineError(
                    f"{key} {column}: the file has {n_columns} columns, 0 to {n_columns - 1}"
                )
            return column % n_columns
        said = f"{key} {shown(column)}"
        if column not in self.names:
            hint = nearest_or_all(column, self.names)
            raise LineError(f"{said}: no such column{hint}")
        if len(self.names) != n_columns:
            raise LineError(
                f"{said}: the header has {len(self.names)} names for {n_columns} columns"
            )
        if (n := self.names.count(column)) > 1:
            raise LineError(f"{said}: {n} columns have this name; give the number of one")
        return self.names.index(column)


def start_of(
    source: FoundFile, chunks: Iterator[Chunk], info: DatasetInfo
) -> tuple[Iterator[Chunk], Start]:
    """Split a file into its header and the other lines; return these, and the layout.

    Blank lines are skipped.

    Raises
    ------
    DataError
        If a header looks like a row, a first row like a header, or another delimiter would separate
        more columns. Only users' files are checked.
    """
    chunk = next(chunks, Chunk(b"", 1))
    header, names = b"", None
    header_line, start, end = _first_line(chunk)
    if info.header:
        with located(source, header_line):
            header = checked(chunk.data[start:end])
        if arff := _ARFF_HEADER.match(chunk.data):
            end, header = arff.end() - 1, b""
            names = _arff_names(arff.group())
        chunk = _after(chunk, min(end + 1, len(chunk.data)))
    while not chunk.data.strip() and (following := next(chunks, None)):
        chunk = following
    line, start, end = _first_line(chunk)
    content = chunk.data[start:end]
    delimiter = _delimiter(info, content)
    if info.local and (rows := first_lines(chunk.data[start:])):
        top = header_line if header else line
        with located(source, top):
            _check_delimiter([header, *rows] if header else rows, delimiter, info)
            _check_header(header, rows, delimiter, info.decimal)
    if names is None:
        names = tuple(fields_of(header, delimiter))
    return chain([chunk], chunks), Start(line, content, delimiter, names)


@contextmanager
def located(source: FoundFile, line: int) -> Iterator[None]:
    """Add file and line to a `LineError`, as a `DataError`."""
    try:
        yield
    except LineError as error:
        raise DataError(f"{source.label}:{line}: {error}") from error


def _after(chunk: Chunk, end: int) -> Chunk:
    """Return the lines of a chunk after a line feed."""
    return Chunk(chunk.data[end:], chunk.first_line + chunk.data.count(b"\n", 0, end))


def _first_line(chunk: Chunk) -> tuple[int, int, int]:
    """Return number, start and end of the first line that is not blank."""
    blank = _BLANK_LINES.match(chunk.data)
    start = blank.end() if blank else 0
    end = chunk.data.find(b"\n", start)
    number = chunk.first_line + chunk.data.count(b"\n", 0, start)
    return number, start, len(chunk.data) if end < 0 else end


def first_lines(data: bytes) -> list[bytes]:
    """Return those of the first lines that are not blank."""
    lines = data.split(b"\n", MAX_LINES_COMPARED)[:MAX_LINES_COMPARED]
    return [line for line in lines if line.strip()]


def fields_of(line: bytes, delimiter: str | None) -> list[str]:
    """Return the fields of a line; empty if it is malformed, which is reported elsewhere."""
    try:
        return delimited.split(line, delimiter)
    except LineError:
        return []


def _arff_names(header: bytes) -> tuple[str, ...]:
    matches = _ARFF_NAME.findall(header.decode(errors="replace"))
    return tuple("".join(groups) for groups in matches)


def _delimiter(info: DatasetInfo, first: bytes) -> str | None:
    delimiter = info.delimiter or delimited.guess_delimiter(first)
    return None if delimiter == " " else delimiter


def likely_delimiter(lines: Sequence[bytes], least: float = 1.0) -> tuple[str | None, int]:
    """Return the delimiter that gives most columns, and their number, which is 1 without any.

    Parameters
    ----------
    lines : sequence of bytes
    least : float
        Share of the lines that must have that number of columns.
    """
    best: tuple[str | None, int] = (None, 1)
    for delimiter in _DELIMITERS:
        counts = Counter(len(fields_of(line, delimiter)) for line in lines)
        n, n_lines = counts.most_common(1)[0]
        if n_lines >= least * len(lines) and n > best[1]:
            best = delimiter, n
    return best


def decimal_comma_delimiter(lines: Sequence[bytes]) -> str | None:
    """Return the delimiter of lines whose commas are all decimal commas; None for others."""
    for delimiter in (";", "\t"):
        table = [fields_of(line, delimiter) for line in lines]
        commas = [field for fields in table for field in fields if "," in field]
        same = len({len(fields) for fields in table}) == 1
        if commas and same and len(table[0]) > 1 and all(map(has_decimal_comma, commas)):
            return delimiter
    return None


def _check_delimiter(lines: Sequence[bytes], delimiter: str | None, info: DatasetInfo) -> None:
    """Raise `LineError` if another delimiter would separate more columns."""
    if info.delimiter is None and (other := decimal_comma_delimiter(lines)):
        advice = f'set `delimiter: {_spelled(other)}` and `decimal: ","`'
        raise LineError(f"has commas within numbers: {advice}")
    counts = [len(fields_of(line, delimiter)) for line in lines]
    if 0 in counts or (len(set(counts)) == 1 and counts[0] > 1):
        return
    likely, n = likely_delimiter(lines)
    if n <= max(counts):
        return
    actual = "one column" if counts[0] == 1 else f"{counts[0]} columns, unlike the lines below it"
    advice = f"with `delimiter: {_spelled(likely)}`" if likely else "without `delimiter`"
    raise LineError(f"has {actual}; {advice} it has {n}")


def _spelled(delimiter: str) -> str:
    return '"\\t"' if delimiter == "\t" else f"'{delimiter}'"


def _check_header(
    header: bytes, rows: Sequence[bytes], delimiter: str | None, decimal: str
) -> None:
    """Raise `LineError` if the header looks like a row, or the first row like a header."""
    table = [fields_of(row, delimiter) for row in rows]
    if header:
        if is_header(fields_of(header, delimiter), table, decimal) is False:
            raise LineError("is a row like those below it: leave `header: true` out")
    elif table and is_header(table[0], table[1:], decimal):
        names = ", ".join(shown(name, 30) for name in table[0][:_MAX_NAMES_SHOWN])
        more = ", ..." if len(table[0]) > _MAX_NAMES_SHOWN else ""
        raise LineError(f"looks like names ({names}{more}): add `header: true`")


def is_header(
    first: Sequence[str], rows: Sequence[Sequence[str]], decimal: str = "."
) -> bool | None:
    """Return whether a line has the names of columns.

    Parameters
    ----------
    first : sequence of str
        Its fields.
    rows : sequence of sequence of str
        Fields of the lines below it.
    decimal : {".", ","}
        The decimal sign.

    Returns
    -------
    bool or None
        True if it has text above some column of numbers, and a number above none; None if no column
        has numbers, so that it is unknown.
    """
    kinds = [{is_number(text, decimal) for text in column} for column in zip(*rows, strict=False)]
    below = zip(first, kinds, strict=False)
    above = [is_number(text, decimal) for text, kind in below if kind - {None} == {True}]
    return (True not in above and False in above) if above else None


def is_number(text: str, decimal: str = ".") -> bool | None:
    """Return whether a field is a number; None for a missing value."""
    if is_missing(text):
        return None
    try:
        number(text, decimal)
    except NotANumberError:
        return False
    except LineError:
        pass
    return True

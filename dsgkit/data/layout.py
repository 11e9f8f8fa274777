"""The layout of delimited text: delimiter, decimal sign, header, and the fields of a line.

A user's file is compared with its config, so that no row is mistaken for a header, and no header
for a row.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsgkit.data.catalogue import Column, DatasetInfo
from dsgkit.data.files import open_content
from dsgkit.errors import DataError, nearest_or_all, shown

MISSING_VALUES = ("", "?", "-", ".", "na", "n/a", "nan", "null", "none")
"""Lower-case texts for a missing value in files."""

LINES_COMPARED = 20
"""Number of lines against which a header and a delimiter are checked."""

MIN_LINE_SHARE = 0.7
"""Share of first lines with equally many columns from which the others are considered mistakes."""

DELIMITERS = (",", ";", "\t", "|", ":", None)
"""The known delimiters; None is white space."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103
_ARFF_NAME = re.compile(
    r"""^\s*@attribute\s+(?:'([^'\n]*)'|"([^"\n]*)"|([^\s'"]+))""", re.IGNORECASE | re.MULTILINE
)


class LineError(ValueError):
    """An error in one line of a file; callers add the file, and the line number if it lacks."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Layout:
    """How the lines of a delimited file are read.

    Attributes
    ----------
    delimiter : str or None
        None for white space.
    decimal : {".", ","}
    n_skipped : int
        Lines above the first row: the header, and blank ones.
    names : tuple of str
        Names of the columns; empty in a file without a header.
    n_columns : int
        Number of columns of the first row; 0 in a file without rows.
    """

    delimiter: str | None
    decimal: str = "."
    n_skipped: int = 0
    names: tuple[str, ...] = ()
    n_columns: int = 0

    def key(self, place: int) -> Column:
        """Return a column as configs spell it: its name if that is unique, else its number."""
        name = self.names[place] if place < len(self.names) else ""
        return name if name and self.names.count(name) == 1 else place

    def name(self, place: int) -> str:
        """Return a column as messages spell it."""
        return column_name(self.key(place))

    def place(self, option: str, column: Column) -> int:
        """Return the place of a column, from 0; `LineError` if the file has no such column."""
        n = self.n_columns
        if isinstance(column, int):
            if not -n <= column < n:
                raise LineError(f"{option} {column}: the file has {n} columns, 0 to {n - 1}")
            return column % n
        said = f"{option} {shown(column)}"
        if column not in self.names:
            raise LineError(f"{said}: no such column{nearest_or_all(column, self.names)}")
        if len(self.names) != n:
            raise LineError(f"{said}: the header has {len(self.names)} names for {n} columns")
        if (same := self.names.count(column)) > 1:
            raise LineError(f"{said}: {same} columns have this name; give the number of one")
        return self.names.index(column)


def column_name(key: Column) -> str:
    """Return a column's description for a message, with its name or its number from 0."""
    if isinstance(key, str):
        return f"column {shown(key)}"
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if (key + 1) % 100 in (11, 12, 13) else endings.get((key + 1) % 10, "th")
    return f"column {key} (the {'first' if key == 0 else f'{key + 1}{ending}'})"


def read_layout(path: Path, info: DatasetInfo, member: str | None = None) -> Layout:
    """Return the layout of a delimited or ARFF file as its description says, and check it.

    Raises
    ------
    DataError
        If a user's file has a header that looks like a row, a first row like a header, or another
        delimiter would separate more columns; if it holds no rows.
    """
    with open_content(path, member) as file:
        lines = filled_lines(path, file)
        top, header, names = 0, "", None
        if info.header:
            top, header = next(lines, (0, ""))
            if header.lstrip()[:1] in ("%", "@"):
                head = itertools.takewhile(lambda line: not _is_arff_end(line[1]), lines)
                text = "\n".join([header, *(line for _, line in head)])
                names = tuple("".join(groups) for groups in _ARFF_NAME.findall(text))
                header = ""
        rows = list(itertools.islice(lines, LINES_COMPARED))
    if not rows:
        empty = not header and names is None and not path.stat().st_size
        raise DataError(f"{path}: the file {'is empty' if empty else 'holds no rows'}")
    (first, row), texts = rows[0], [text for _, text in rows]
    delimiter = info.delimiter or ("," if "," in texts[-1] else None)
    delimiter = None if delimiter == " " else delimiter
    try:
        if info.local:
            check_start([(top, header), *rows] if header else rows, delimiter)
            _check_delimiter([header, *texts] if header else texts, delimiter, info)
            _check_header(header, texts, delimiter, info)
        top = first
        n_columns = len(split(row, delimiter))
    except LineError as error:
        raise DataError(f"{path}:{error.line or top or first}: {error}") from error
    if names is None:
        names = tuple(_fields(header, delimiter)) if header else ()
    return Layout(delimiter, info.decimal, first - 1, names, n_columns)


def filled_lines(path: Path, file: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a file that are not blank.

    Raises
    ------
    DataError
        For a line that is not text.
    """
    for number, line in enumerate(file, 1):
        try:
            text = decoded(line, number)
        except LineError as error:
            raise DataError(f"{path}:{number}: {error}") from error
        if text.strip(" \t\v\f,;|"):  # rows of delimiters only are blank
            yield number, text


def decoded(line: bytes, number: int) -> str:
    """Return the text of a line, without its end and without a byte order mark in line 1.

    Raises
    ------
    LineError
        If it is not text.
    """
    if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LineError("UTF-16 text; convert the file to UTF-8")
    if number == 1 and line.startswith(b"PAR1"):
        raise LineError("a Parquet file; write it as text, in pandas by to_csv(index=False)")
    if number == 1 and line.startswith(b"PK\x03\x04"):
        raise LineError("a workbook or an archive, and no text; save it as CSV")
    content = line.rstrip(b"\r\n")
    if b"\r" in content:
        raise LineError("a carriage return within the line; lines have to end in line feeds")
    if b"\0" in content:
        raise LineError("a NUL byte: this is not text, or not UTF-8")
    try:
        return content.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise LineError(f"not UTF-8 ({error.reason}); convert the file") from error


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of one line, without quotes and surrounding blanks.

    Raises
    ------
    LineError
        If a quote is not closed.
    """
    if delimiter is None:
        line, delimiter = re.sub(r"[ \t\v\f]+", " ", line).strip(), " "
    if '"' not in line:
        return [field.strip(" \t\v\f") for field in line.split(delimiter)]
    line = re.sub(rf'"[ \t]+(?={re.escape(delimiter)}|$)', '"', line)  # blanks behind a quote
    try:
        (fields,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)
    except csv.Error:
        raise LineError(
            "a quote that is not closed in this line, or with text behind it; no field may go over "
            "two lines"
        ) from None
    return [field.strip(" \t\v\f") for field in fields]


def _fields(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line; empty if it is malformed, which is reported elsewhere."""
    try:
        return split(line, delimiter)
    except LineError:
        return []


def _is_arff_end(line: str) -> bool:
    return line.strip().lower().startswith("@data")


def likely_delimiter(lines: Sequence[str], least: float = 1.0) -> tuple[str | None, int]:
    """Return the delimiter that gives most columns, and their number, which is 1 without any.

    The share ``least`` of the lines must have that number of columns.
    """
    best: tuple[str | None, int] = (None, 1)
    for delimiter in DELIMITERS:
        counts = Counter(len(_fields(line, delimiter)) for line in lines)
        n, n_lines = counts.most_common(1)[0]
        if n_lines >= least * len(lines) and n > best[1]:
            best = delimiter, n
    return best


def decimal_comma_delimiter(lines: Sequence[str]) -> str | None:
    """Return the delimiter of lines whose commas are all decimal commas; None for others."""
    for delimiter in (";", "\t"):
        table = [_fields(line, delimiter) for line in lines]
        commas = [field for fields in table for field in fields if "," in field]
        same = len({len(fields) for fields in table}) == 1
        if commas and same and len(table[0]) > 1 and all(map(has_decimal_comma, commas)):
            return delimiter
    return None


def _check_delimiter(lines: Sequence[str], delimiter: str | None, info: DatasetInfo) -> None:
    """Raise `LineError` if another delimiter would separate more columns."""
    if info.delimiter is None and (other := decimal_comma_delimiter(lines)):
        advice = f'set `delimiter: {_spelled(other)}` and `decimal: ","`'
        raise LineError(f"has commas within numbers: {advice}, or remove those of thousands")
    counts = [len(_fields(line, delimiter)) for line in lines]
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
    header: str, rows: Sequence[str], delimiter: str | None, info: DatasetInfo
) -> None:
    """Raise `LineError` if the header looks like a row, or the first row like a header."""
    table = [_fields(row, delimiter) for row in rows]
    if header:
        first = _fields(header, delimiter)
        columns = (*info.label_columns, *info.categorical, *info.ignored)
        is_named = any(column in first for column in columns if isinstance(column, str))
        ascends = _ascend([field for field in first if is_number(field, info.decimal)])
        if not (is_named or ascends) and is_header(first, table, info.decimal) is False:
            raise LineError("is a row like those below it: leave `header: true` out")
    elif is_header(table[0], table[1:], info.decimal):
        names = ", ".join(shown(name, 30) for name in table[0][:3])
        more = ", ..." if len(table[0]) > 3 else ""
        raise LineError(f"looks like names ({names}{more}): add `header: true`")


def is_header(first: Sequence[str], rows: Sequence[Sequence[str]], decimal: str) -> bool | None:
    """Return whether a line has the names of columns, by the lines below it.

    It has if it has text above some column of numbers, and a number above none; or, as for
    wavelengths and years, ascending numbers, and a text above others that it is none of. None if no
    column has numbers, so that it is unknown.
    """
    kinds = [{is_number(text, decimal) for text in column} for column in zip(*rows, strict=False)]
    below = zip(first, kinds, strict=False)
    above = [is_number(text, decimal) for text, kind in below if kind - {None} == {True}]
    if not above:
        return None
    if True not in above:
        return False in above
    if not _ascend([text for text in first if is_number(text, decimal)]):
        return False
    if [*first] == [str(k) for k in range(len(first))] and len(first) > 2:
        return True
    columns = zip(first, zip(*rows, strict=False), strict=False)
    new = [text not in below for text, below in columns if 2 * len({*below}) <= len(below)]
    return any(is_number(text, decimal) is False for text in first) and all(new) and bool(new)


def _ascend(numbers: Sequence[str]) -> bool:
    """Return whether two or more numbers ascend, as names of columns may."""
    values = [float(text.replace(",", ".")) for text in numbers]
    return len(values) > 1 and all(a < b for a, b in itertools.pairwise(values))


def check_start(lines: Sequence[tuple[int, str]], delimiter: str | None) -> None:
    """Raise `LineError` for lines above the header, or a second line of names below it.

    Programs write comments, titles, the delimiter and units there.
    """
    for number, line in lines:
        if line.count('"') % 2:
            raise LineError("a quote that is not closed in this line: join its lines", number)
    table = [_fields(line, delimiter) for _, line in lines]
    if lines[0][1].lower().startswith("sep="):
        raise LineError(f"Excel's {shown(lines[0][1])} is no row: remove this line")
    n = Counter(map(len, table[1:])).most_common(1)[0][0] if table[1:] else len(table[0])
    if 0 < len(table[0]) < min(n - 1, 2) or (len(table[0]) != n and lines[0][1].startswith("#")):
        what = "a comment" if lines[0][1].startswith("#") else "a title"
        raise LineError(f"{what}, and not {n} columns: remove the lines above the header")
    if len(table[0]) == n - 1 and not any(is_number(field, ".") for field in table[0]):
        if not any(fields[-1] for fields in table[1:] if len(fields) == n):
            why = "as every row ends in a delimiter: remove these"
        else:
            why = "as R writes them: give the first column a name, too"
        raise LineError(f"the header has {n - 1} names for {n} columns, {why}")
    are_texts = all(not is_number(field, ".") for fields in table[:2] for field in fields)
    if len(table) > 3 and are_texts and is_header(table[1], table[2:], "."):
        raise LineError("units or names below those of line 1: keep one line of names", lines[1][0])


def why_columns(fields: Sequence[str], n_columns: int) -> str:
    """Return a message about a line of too many or too few fields."""
    said = f"{len(fields)} columns instead of {n_columns}"
    if len(fields) > n_columns == sum(map(bool, fields)):
        return f"{said}: some delimiters are doubled; write one between two fields"
    return said


def thousands(texts: Sequence[str], sign: str) -> str:
    """Return a number with separators of thousands; empty if these may be decimal signs.

    All numbers have groups of three digits then, or are below 1,000 and without a sign.
    """
    groups = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{sign}\d{{3}})+")
    grouped = [text for text in texts if groups.fullmatch(text)]
    n_plain = sum(re.fullmatch(r"[+-]?\d{1,3}", text) is not None for text in texts)
    several = any(text.count(sign[-1]) > 1 for text in grouped)
    are_all = bool(grouped) and len(grouped) + n_plain == len(texts)
    return grouped[0] if are_all and (n_plain or several) else ""


def is_missing(text: str) -> bool:
    """Return whether a field has no value."""
    return text.lower() in MISSING_VALUES


def is_number(text: str, decimal: str) -> bool | None:
    """Return whether a field is a number; None for a missing value."""
    return None if is_missing(text) else not why_no_number(text, decimal).endswith("not a number")


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(text) is not None


def is_comma_number(text: str) -> bool:
    """Return whether a text is a number with commas, decimal or of thousands."""
    return re.fullmatch(r"[+-]?[0-9]+(,[0-9]+)+(?:[eE][+-]?[0-9]+)?", text) is not None


def why_no_number(text: str, decimal: str = ".", *, is_label: bool = False) -> str:
    """Return why a text is not a finite number, or not one of float32; empty if it is.

    Python's ``float`` would also accept ``1_000``, digits of other scripts and blanks.
    """
    pointed = text if decimal == "." else text.translate(str.maketrans(".,", ",."))
    if not _NUMBER.fullmatch(pointed):
        if _NOT_FINITE.fullmatch(pointed):
            return f"{shown(text)} is not finite"
        return f"{shown(text)} is not a number"
    value = abs(float(pointed))
    if not math.isfinite(value):
        return f"{shown(text)} is not finite"
    too_large = value >= FLOAT32_OVERFLOW and not is_label
    return f"{shown(text)} is too large for float32" if too_large else ""

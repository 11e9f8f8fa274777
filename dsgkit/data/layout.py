"""The layout of delimited text: delimiter, decimal sign, header, and the fields of a line."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dsgkit.data.catalogue import Column, DatasetInfo
from dsgkit.data.files import open_content
from dsgkit.data.targets import MISSING_VALUES
from dsgkit.errors import DataError, in_a_line, nearest_or_all, shown

LINES_COMPARED = 20  # with a header and a delimiter
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103
_DELIMITERS = (",", ";", "\t", "|", ":", None)  # None is white space
_LEAST_SHARE = 0.7  # of lines with equally many columns; the others are considered mistakes
_BLANKS = " \t\v\f"
_NOT_CLOSED = "a quote that is not closed in this line, or with text behind it: join its lines"
_NO_TEXT = {
    b"PAR1": "a Parquet file; write it as text, in pandas by to_csv(index=False)",
    b"PK\3\4": "a workbook or zip archive; save the sheet as CSV, or end the file's name in .zip",
    b"\xd0\xcf\x11\xe0": "a workbook of Excel; save the sheet as CSV",
    b"\x1f\x8b": "compressed by gzip; end the file's name in .gz",
    b"BZh91AY&SY": "compressed by bzip2; end the file's name in .bz2",
    b"\xfd7zXZ": "compressed by xz; end the file's name in .xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"\xff\xfe": "text in UTF-16; save it in UTF-8",
    b"\xfe\xff": "text in UTF-16; save it in UTF-8",
}
"""What files are that begin with these bytes, and what to do."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_LIBSVM = re.compile(r"\s*\S+(?:\s+(?:\d+|qid):\S+)+\s*(?:#.*)?")
_ARFF_NAME = re.compile(
    r"""^\s*@attribute\s+(?:'([^'\n]*)'|"([^"\n]*)"|([^\s'"]+))""", re.IGNORECASE | re.MULTILINE
)


class LineError(ValueError):
    """An error in one line of a file; callers add the file and the line."""


@dataclass(frozen=True)
class Layout:
    """How the lines of a delimited file, perhaps in an archive, are read."""

    path: Path
    member: str | None
    delimiter: str | None  # None for white space
    decimal: str
    n_skipped: int  # lines above the first row
    names: tuple[str, ...]  # empty without a header
    n_columns: int

    def key(self, place: int) -> Column:
        """Return a column as configs spell it: its name if that is unique, else its number."""
        name = self.names[place] if place < len(self.names) else ""
        return name if name and self.names.count(name) == 1 else place

    def place(self, option: str, column: Column) -> int:
        """Return the place of a column, from 0; `DataError` if the file has no such column."""
        n = self.n_columns
        if column not in self.names and re.fullmatch(r"[+-]?\d{1,9}", str(column)):
            column = int(column)
        if isinstance(column, int) and -n <= column < n:
            return column % n
        if isinstance(column, str) and self.names.count(column) == 1:
            return self.names.index(column)
        hint = nearest_or_all(str(column), self.names)
        hint = "; several have this name" if column in self.names else hint
        said = f"{option} {shown(column)}: not one of the columns, 0 to {n - 1}"
        raise DataError(f"{self.path}: {said}{hint}")


def column_name(key: Column) -> str:
    """Return a column's description for a message, with its name or its number from 0."""
    return f"column {shown(key)}" + (" (from 0)" if isinstance(key, int) else "")


def read_layout(path: Path, info: DatasetInfo, member: str | None = None) -> Layout:
    """Return the layout of a delimited or ARFF file, as described and as its first lines allow."""
    lines, names = _first_lines(path, member, has_header=info.header)
    rows = lines[1:] if info.header and names is None else lines
    if not rows:
        raise DataError(f"{path}: the file holds no rows")
    delimiter = info.delimiter or ("," if "," in rows[-1][1] else None)
    delimiter, number = None if delimiter == " " else delimiter, lines[0][0]
    try:
        if info.local:
            _check([line for _, line in lines], delimiter, info, has_header=len(rows) < len(lines))
        if names is None:
            names = split(lines[0][1], delimiter) if info.header else []
        number = rows[0][0]
        n_columns = max(len(names), len(split(rows[0][1], delimiter)))
    except LineError as error:
        raise DataError(f"{path}:{number}: {error}") from error
    n_skipped = rows[0][0] - 1
    return Layout(path, member, delimiter, info.decimal, n_skipped, tuple(names), n_columns)


def find_layout(path: Path, label: str | None) -> Layout:
    """Return the layout of a file by its first lines; a line with the label's name is a header."""
    lines, names = _first_lines(path, None, has_header=True)
    texts = [line for _, line in lines]
    if not lines:
        raise DataError(f"{path}: the file holds no rows")
    if sum(map(bool, map(_LIBSVM.fullmatch, texts))) >= _LEAST_SHARE * len(texts):
        raise DataError(f"{path}: looks like LIBSVM text; write a config with `loader: libsvm`")
    delimiter, n_columns = _likely_delimiter(texts)
    if n_columns == 1:
        raise DataError(
            f"{path}: no delimiter splits the first lines into equally many columns, two or more"
        )
    first, *rows = (fields_of(line, delimiter) for line in texts)
    fields = [*itertools.chain(*rows)]
    has_points = any("." in text and is_number(text, ".") for text in fields)
    has_commas = delimiter != "," and any(map(COMMA_NUMBER.fullmatch, fields))
    decimal = "," if has_commas and not has_points else "."
    is_named = label in (names or first) and not re.fullmatch(r"[+-]?\d+", str(label))
    has_names = is_header(first, rows, decimal)
    if has_names is None:  # a table of texts
        has_names = len(new := _new_above_few(first, rows)) > 1 and all(new)
    info = DatasetInfo(
        *(path.name, "", "delimited"),
        delimiter=delimiter or " ",
        decimal=decimal,
        header=names is not None or is_named or has_names,
        label_columns=(str(label),) if is_named else (),
        local=True,
    )
    return read_layout(path, info)


def _first_lines(
    path: Path, member: str | None, *, has_header: bool
) -> tuple[list[tuple[int, str]], list[str] | None]:
    """Return the first lines that are not blank, by number, and the names of an ARFF head."""
    lines: list[tuple[int, str]] = []
    head = None
    with open_content(path, member) as file:
        for number, line in enumerate(file, 1):
            try:
                text = decoded(line, number)
            except LineError as error:
                raise DataError(f"{path}:{number}: {error}") from error
            if not text.strip(f"{_BLANKS},;|"):  # rows of delimiters only are blank
                continue
            if has_header and not lines and text.lstrip()[:1] in ("%", "@"):
                head = f"{head or ''}{text}\n"
                continue
            lines.append((number, text))
            if len(lines) > LINES_COMPARED:
                break
    names = ["".join(names) for names in _ARFF_NAME.findall(head or "")]
    if head and not names:  # a comment, or a name such as %fat
        return _first_lines(path, member, has_header=False)
    if names and lines and lines[0][1].lstrip().startswith("{"):
        raise DataError(f"{path}:{lines[0][0]}: a sparse ARFF row; write all values of every row")
    return lines, names or None


def decoded(line: bytes, number: int) -> str:
    """Return the text of a line without its end and byte order mark; `LineError` if it is none."""
    content = line.rstrip(b"\r\n")
    if number == 1 and (what := next((w for s, w in _NO_TEXT.items() if line.startswith(s)), "")):
        raise LineError(what)
    if number == 1 and content[257:262] == b"ustar":
        raise LineError("a tar archive; unpack it")
    if b"\r" in content:
        raise LineError("a carriage return within the line; lines have to end in line feeds")
    if b"\0" in content:
        raise LineError("a NUL byte: this is no text in UTF-8; save it as such")
    try:
        return content.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise LineError(f"not UTF-8 ({error.reason}); convert the file") from error


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line without quotes and blanks; `LineError` for an open quote."""
    if delimiter is None:
        line, delimiter = re.sub(rf"[{_BLANKS}]+", " ", line).strip(), " "
    if '"' not in line:
        return [field.strip(_BLANKS) for field in line.split(delimiter)]
    line = re.sub(rf'"[ \t]+(?={re.escape(delimiter)}|$)', '"', line)  # blanks behind a quote
    try:
        (fields,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)
    except csv.Error:
        raise LineError(_NOT_CLOSED) from None
    return [field.strip(_BLANKS) for field in fields]


def fields_of(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line; empty if it is malformed, which is reported elsewhere."""
    try:
        return split(line, delimiter)
    except LineError:
        return []


def _likely_delimiter(lines: Sequence[str]) -> tuple[str | None, int]:
    """Return the delimiter that gives most columns, and their number, which is 1 without any."""
    best: tuple[str | None, int] = (None, 1)
    splits_all = False
    for delimiter in _DELIMITERS:
        table = [fields for line in lines if (fields := fields_of(line, delimiter))]
        n, n_lines = (Counter(map(len, table)).most_common(1) or [(1, 0)])[0]
        commas = [field for fields in table for field in fields if "," in field]
        is_decimal = commas and all(map(COMMA_NUMBER.fullmatch, commas))
        if n > 1 and is_decimal and delimiter in (";", "\t", "|"):
            return delimiter, n
        if all({*";|"} & {*fields} for fields in table):  # between blanks
            continue
        rank = n > 1 and n_lines == len(table), n  # of text with commas, the header may have none
        if n_lines >= _LEAST_SHARE * len(table) and rank > (splits_all, best[1]):
            splits_all, best = rank[0], (delimiter, n)
    return best


def _check(
    lines: Sequence[str], delimiter: str | None, info: DatasetInfo, *, has_header: bool
) -> None:
    """Raise `LineError` if a file seems to have another delimiter or header, or lines above it."""
    table = [fields_of(line, delimiter) for line in lines]
    if [] in table:
        return  # which the reader reports
    first, rows, decimal = table[0], table[has_header:], info.decimal
    n = Counter(map(len, table[1:] or table)).most_common(1)[0][0]
    if n == 1 or len({*map(len, table)}) > 1:
        likely, most = _likely_delimiter(lines)
        if most > n:
            how = f"with `delimiter: {json.dumps(likely)}`" if likely else "without `delimiter`"
            raise LineError(f"columns: {n}, but {most} {how}")
    is_comment = first[0].startswith(("#", "%"))
    if len(first) < n or (len(first) > n and (has_header or is_comment)):
        why = "remove titles, comments and the like above the header"
        if len(first) == n - 1 and all(first) and not is_comment:
            why = "give the first column a name, too, which R leaves out"
            if not any(fields[-1] for fields in table[1:] if len(fields) == n):
                why = "every row ends in a delimiter: remove these"
        if len(first) == n + 1 and not first[-1]:
            why = "remove the delimiter at its end"
        if not is_number(first[0], decimal):
            raise LineError(f"{len(first)} of {n} columns: {why}")
    have_numbers = any(is_number(field, decimal) for fields in table[:2] for field in fields)
    if len(table) > 3 and not have_numbers and is_header(table[1], table[2:], decimal):
        raise LineError("is followed by units or other names: keep one line of names")
    if not has_header and is_header(first, rows[1:], decimal):
        raise LineError(f"looks like names ({in_a_line(', '.join(first[:3]))}): add `header: true`")
    columns = {*info.label_columns, *info.categorical, *info.ignored}
    is_named = any(name in columns for name in first)
    is_named |= _ascend(first, decimal) and all(_new_above_few(first, rows))
    if has_header and not is_named and is_header(first, rows, decimal) is False:
        raise LineError("is a row like those below it: leave `header: true` out")


def is_header(first: Sequence[str], rows: Sequence[Sequence[str]], decimal: str) -> bool | None:
    """Return whether a line has the names of columns, by the lines below it.

    It has if it has text above some column of numbers, and a number above none; or, as for
    wavelengths and years, ascending numbers, all in equal steps or with a text above others that it
    is none of. None if no column has numbers, so that it is unknown.
    """
    columns = [*zip(first, zip(*rows, strict=False), strict=False)]
    above = [
        is_number(name, decimal)
        for name, texts in columns
        if {is_number(text, decimal) for text in texts} - {None} == {True}
    ]
    if not above:
        return None
    if True not in above:
        return False in above
    if not _ascend(first, decimal):
        return False
    if [*first] == [str(k) for k in range(len(first))] and len(first) > 2:
        return True
    new = _new_above_few(first, rows)
    numbers = [int(name) for name in first if name.isdecimal()]
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    has_steps = len(numbers) == len(first) > 2 and len(steps) == 1
    has_text = any(is_number(name, decimal) is False for name in first)
    return (has_steps or has_text) and all(new) and bool(new)


def _new_above_few(first: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each column of few values whether the field above is none of them."""
    columns = zip(first, zip(*rows, strict=False), strict=False)
    return [name not in texts for name, texts in columns if 2 * len({*texts}) <= len(texts)]


def _ascend(fields: Sequence[str], decimal: str) -> bool:
    values = [float(text.replace(",", ".")) for text in fields if is_number(text, decimal)]
    return len(values) > 1 and all(a < b for a, b in itertools.pairwise(values))


def is_missing(text: str) -> bool:
    return text.lower() in MISSING_VALUES


def is_number(text: str, decimal: str) -> bool | None:
    """Return whether a field is a number; None for a missing value."""
    return None if is_missing(text) else not why_no_number(text, decimal).endswith("not a number")


def why_no_number(text: str, decimal: str = ".", *, is_label: bool = False) -> str:
    """Return why a text is not a finite number, or not one of float32; empty if it is."""
    pointed = text if decimal == "." else text.translate(str.maketrans(".,", ",."))
    # float() would also accept 1_000, digits of other scripts and blanks
    if _NUMBER.fullmatch(pointed) is None and _NOT_FINITE.fullmatch(pointed) is None:
        return f"{shown(text)} is not a number"
    value = abs(float(pointed))
    if not math.isfinite(value):
        return f"{shown(text)} is not finite"
    too_large = value >= FLOAT32_OVERFLOW and not is_label
    return f"{shown(text)} is too large for float32" if too_large else ""

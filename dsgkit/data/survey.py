"""Survey of a file of delimited text: its layout, columns and labels."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from dsgkit.data import delimited
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.find import FoundFile, no_such_file
from dsgkit.data.headers import (
    Start,
    decimal_comma_delimiter,
    first_lines,
    is_header,
    is_number,
    likely_delimiter,
    located,
    start_of,
)
from dsgkit.data.lines import Chunk, LineReader, Lines, decoded
from dsgkit.data.names import column_name, key_of
from dsgkit.data.numbers import LineError, has_decimal_comma, with_point
from dsgkit.errors import DataError, shown

MAX_SURVEY_ROWS = 20_000
"""Number of rows to read from the start."""

MAX_CATEGORIES = 50
"""Different texts of a categorical column; a column with more is left out."""

MAX_MISTAKE_SHARE = 0.1
"""Ratio of texts to numbers in a column up to which the texts are considered mistakes."""

MIN_LINE_SHARE = 0.7
"""Share of first lines with equally many columns from which the others are considered mistakes."""

MIN_CLASSES, MAX_CLASSES = 2, 20
"""Different values of a column that looks like labels."""

_LABEL_NAMES = frozenset(
    ("label", "labels", "class", "classes", "target", "y", "diagnosis", "outcome", "species")
)
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)
_LIBSVM = re.compile(rb"\s*\S+(?:\s+\d+:\S+)+\s*")

ColumnKey = int | str
"""A column in a config: its name in the header, or its number from 0."""


@dataclass(frozen=True)
class Survey:
    """Contents of a data file: its layout, columns and labels.

    Attributes
    ----------
    n_rows : int
        Number of rows read.
    whole : bool
        Whether these are all rows.
    layout : DatasetInfo
        Delimiter, decimal sign and header.
    n_numbers : int
        Number of numeric columns, without the label's.
    categorical : dict of column to int
        Columns of text, with the number of different values.
    ignored : dict of column to str
        Columns that are left out, with the reason.
    label : column or None
        Column of the labels.
    labels : counter of float or str
        Number of rows with each label; labels are numbers if all of them are.
    likely_label : column or None
        Column that looks like the labels, if none was given.
    """

    path: Path
    n_rows: int
    whole: bool
    layout: DatasetInfo
    n_numbers: int
    categorical: dict[ColumnKey, int]
    ignored: dict[ColumnKey, str]
    label: ColumnKey | None
    labels: Counter[Any]
    likely_label: ColumnKey | None = None

    @property
    def n_columns(self) -> int:
        """Total number of columns."""
        return self.n_features + len(self.ignored) + (self.label is not None)

    @property
    def n_features(self) -> int:
        """Number of columns to learn from."""
        return self.n_numbers + len(self.categorical)

    @property
    def has_numbers(self) -> bool:
        """Whether all labels are numbers."""
        return not any(isinstance(label, str) for label in self.labels)

    def without_label(self, why: str) -> Survey:
        """Return the survey without labels; their column is ignored."""
        assert self.label is not None
        ignored = self.ignored | {self.label: why}
        return replace(self, label=None, labels=Counter(), ignored=ignored)


@dataclass
class _Column:
    """Counts of the values of a column."""

    key: ColumnKey
    decimal: str
    n_numbers: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] = (0, "")
    missing: list[tuple[int, str]] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    last: float | None = None
    is_sequence: bool = True

    def add(self, line: int, text: str) -> None:
        """Count a field."""
        if len(self.values) <= MAX_CATEGORIES:
            self.values.add(text)
        kind = is_number(text, self.decimal)
        if kind is None:
            self.missing.append((line, text))
        elif kind:
            self.n_numbers += 1
            value = float(with_point(text, self.decimal))
            self.is_sequence &= value == (value if self.last is None else self.last + 1)
            self.last = value
        else:
            self.n_texts += 1
            self.first_text = self.first_text if self.first_text[0] else (line, text)

    @property
    def is_categorical(self) -> bool:
        """Whether it is read as text; `?` and `none` are then values."""
        return self.n_texts > MAX_MISTAKE_SHARE * self.n_numbers

    def why_ignored(self, n_rows: int) -> str:
        """Return why the column cannot generalise to other rows; empty if it may."""
        if self.is_categorical:
            is_free = not self.n_numbers and len(self.values) > MAX_CATEGORIES
            return f"text with over {MAX_CATEGORIES} values" if is_free else ""
        if self.n_numbers < n_rows:
            return ""
        if self.is_sequence and n_rows > 2:
            return "row numbers"
        return "an id, by its name" if _ID.fullmatch(str(self.key)) else ""

    def check(self, path: Path) -> None:
        """Raise `DataError` if it can be read neither as numbers nor as text."""
        missing = [line for line, text in self.missing if not text or not self.is_categorical]
        if missing:
            self._refuse(path, missing[0], f"a missing value, {len(missing):,} in all; fill it in")
        line, text = self.first_text
        if not self.is_categorical and self.n_texts:
            self._refuse(path, line, f"{shown(text)} among numbers; correct it")
        if len(self.values) > MAX_CATEGORIES and self.n_texts:
            self._refuse(path, line, f"{shown(text)} among {self.n_numbers:,} numbers; correct it")

    def _refuse(self, path: Path, line: int, why: str) -> None:
        leave = f"or leave the column out: --ignore {shlex.quote(str(self.key))}"
        raise DataError(f"{path}:{line}: {self.name}: {why}, {leave}")

    def check_label(self, path: Path) -> None:
        """Raise `DataError` if a row has no label."""
        missing = [line for line, text in self.missing if not text or not self.n_texts]
        if missing:
            raise DataError(
                f"{path}:{missing[0]}: {self.name}: no label, {len(missing):,} in all; remove "
                "these rows"
            )

    @property
    def has_few_classes(self) -> bool:
        """Whether it has few enough values for labels."""
        return MIN_CLASSES <= len(self.values) <= MAX_CLASSES and not self.missing

    @property
    def has_label_name(self) -> bool:
        """Whether it has a usual name of labels."""
        return str(self.key).lower() in _LABEL_NAMES

    @property
    def has_few_integers(self) -> bool:
        """Whether it has only few different whole numbers."""
        few = not self.n_texts and self.has_few_classes
        return few and all(float(with_point(x, self.decimal)).is_integer() for x in self.values)

    @property
    def has_decimal_commas(self) -> bool:
        """Whether the texts are numbers with commas."""
        texts = {text for text in self.values if not is_number(text, self.decimal)}
        return bool(texts) and all(map(has_decimal_comma, texts))

    @property
    def name(self) -> str:
        """Description of the column for a message."""
        return column_name(self.key)


def survey(path: Path, label: str | None, ignored: Sequence[str] = ()) -> Survey:
    """Survey a file.

    Parameters
    ----------
    path : Path
        Delimited text, plain or compressed.
    label : str or None
        Name or number of the column of the labels.
    ignored : sequence of str
        Names or numbers of columns to leave out.

    Returns
    -------
    Survey

    Raises
    ------
    DataError
        If the file cannot be used, with the place and advice.
    """
    if not path.is_file():
        raise DataError(no_such_file(path))
    source = FoundFile(DataFile(str(path)), path)
    info = _layout(source, label)
    with closing(iter(LineReader(source))) as chunks:
        rest, start = start_of(source, chunks, info)
        n_columns = len(delimited.split(start.content, start.delimiter))
        if not n_columns:
            raise DataError(f"{path}: the file holds no rows")
        try:
            _check_names(start, n_columns)
            left_out = {_place(start, "--ignore", column, n_columns) for column in ignored}
            target = None if label is None else _place(start, "--label", label, n_columns)
        except LineError as error:
            raise DataError(f"{path}: {error}") from error
        columns = [_Column(key_of(i, start.names), info.decimal) for i in range(n_columns)]
        rows = _rows(source, rest, start.delimiter, n_columns)
        labels, n_rows, whole = _count(rows, columns, target)
    features, reasons = _features(path, columns, n_rows, left_out, target)
    return Survey(
        path=path,
        n_rows=n_rows,
        whole=whole,
        layout=replace(info, delimiter=start.delimiter),
        n_numbers=sum(not column.is_categorical for column in features),
        categorical={c.key: len(c.values) for c in features if c.is_categorical},
        ignored=reasons,
        label=None if target is None else columns[target].key,
        labels=_labels(labels, info.decimal),
        likely_label=_likely_label(columns, left_out) if target is None else None,
    )


def _count(
    rows: Iterator[tuple[int, list[str]]], columns: Sequence[_Column], target: int | None
) -> tuple[Counter[str], int, bool]:
    """Count the fields of the first rows by column.

    Returns
    -------
    labels : Counter of str
        Number of rows with each label; empty without a column of labels.
    n_rows : int
    whole : bool
        Whether these were all rows.
    """
    labels: Counter[str] = Counter()
    n_rows = 0
    for line, fields in rows:
        if n_rows == MAX_SURVEY_ROWS:
            return labels, n_rows, False
        n_rows += 1
        for column, text in zip(columns, fields, strict=True):
            column.add(line, text)
        if target is not None:
            labels[fields[target]] += 1
    return labels, n_rows, True


def _likely_label(columns: Sequence[_Column], left_out: set[int]) -> ColumnKey | None:
    """Return the column that looks like labels by its name, its texts or its position."""
    kept = [column for i, column in enumerate(columns) if i not in left_out]
    ends = [*kept[-1:], *kept[:1]]
    likely = [
        *(column for column in kept if column.has_label_name),
        *(column for column in (*ends, *kept) if column.n_texts and column.has_few_classes),
        *(column for column in ends if column.has_few_integers),
    ]
    return likely[0].key if likely else None


def _features(
    path: Path, columns: Sequence[_Column], n_rows: int, left_out: set[int], target: int | None
) -> tuple[list[_Column], dict[ColumnKey, str]]:
    """Return the columns to learn from, and why others are left out.

    Raises
    ------
    DataError
        If one of them cannot be read, a row has no label, or no column is left.
    """
    for column in columns:
        if column.has_decimal_commas:
            line, text = column.first_text
            raise DataError(
                f"{path}:{line}: {column.name}: {shown(text)}: write decimal points, not commas"
            )
    described = [column for i, column in enumerate(columns) if i not in {*left_out, target}]
    reasons = {column.key: why for column in described if (why := column.why_ignored(n_rows))}
    reasons |= {columns[i].key: "as asked" for i in sorted(left_out)}
    features = [column for column in described if column.key not in reasons]
    for column in features:
        column.check(path)
    if target is not None:
        columns[target].check_label(path)
    if not features:
        raise DataError(f"{path}: no column is left to learn from")
    return features, reasons


def _layout(source: FoundFile, label: str | None) -> DatasetInfo:
    """Detect delimiter, decimal sign and header from the first lines."""
    with closing(iter(LineReader(source))) as chunks:
        lines = first_lines(next(chunks).data) if source.path.stat().st_size else []
    if not lines:
        raise DataError(f"{source.label}: the file is empty")
    with located(source, 1):
        decoded(lines[0])
    if all(map(_LIBSVM.fullmatch, lines)):
        raise DataError(
            f"{source.label}: looks like LIBSVM text; write a config with `loader: libsvm`"
        )
    delimiter, n_columns = likely_delimiter(lines)
    if n_columns == 1:  # tolerate lines with other numbers of columns: the reader reports them
        delimiter, n_columns = likely_delimiter(lines, MIN_LINE_SHARE)
    if n_columns == 1:
        raise DataError(
            f"{source.label}: no delimiter splits the first {len(lines)} lines into equally many "
            "columns, two or more"
        )
    if delimiter == ",":
        delimiter = decimal_comma_delimiter(lines) or ","
    names, *rows = [delimited.split(line, delimiter) for line in lines]
    decimal = _decimal([*chain(*rows)] or names)
    has_header = is_header(names, rows, decimal)
    return DatasetInfo(
        *(str(source.path), "", "delimited"),
        delimiter=delimiter or " ",
        decimal=decimal,
        header=label in names if has_header is None else has_header,
    )


def _decimal(fields: Sequence[str]) -> Literal[".", ","]:
    """Return the decimal sign of fields: a comma if some number has one, and none a point."""
    has_points = any("." in field and is_number(field) for field in fields)
    return "," if any(map(has_decimal_comma, fields)) and not has_points else "."


def _check_names(start: Start, n_columns: int) -> None:
    if start.names and len(start.names) != n_columns:
        raise LineError(f"the header has {len(start.names)} names for {n_columns} columns")


def _place(start: Start, option: str, column: str, n_columns: int) -> int:
    """Return the position of a column, given by name or number."""
    if column not in start.names and re.fullmatch(r"[+-]?\d{1,9}", column):
        return start.place(option, int(column), n_columns)
    if not start.names:
        raise LineError(
            f"{option} {shown(column)}: the file has no header; name the column by its number, 0 "
            f"to {n_columns - 1}, or -1 for the last"
        )
    return start.place(option, column, n_columns)


def _rows(
    source: FoundFile, chunks: Iterator[Chunk], delimiter: str | None, n_columns: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row."""
    for chunk in chunks:
        lines = Lines.of(chunk)
        for i in range(len(lines)):
            with located(source, lines.first_line + i):
                fields = delimited.split(lines[i], delimiter)
                if fields and len(fields) != n_columns:
                    raise LineError(f"{len(fields)} columns instead of {n_columns}")
            if fields:
                yield lines.first_line + i, fields


def _labels(counts: Counter[str], decimal: str) -> Counter[Any]:
    """Convert labels to numbers, if all of them are."""
    if not all(is_number(text, decimal) for text in counts):
        return counts
    numbers: Counter[float] = Counter()
    for text, n in counts.items():
        numbers[float(with_point(text, decimal))] += n
    return numbers

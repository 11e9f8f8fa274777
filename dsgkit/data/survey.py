"""A look at a file of delimited text: what its columns and its labels are."""

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
from dsgkit.text.errors import DataError, shown

MAX_SURVEY_ROWS = 20_000
"""Rows that are looked at, the first ones."""

MAX_CATEGORIES = 50
"""Texts of a column up to which each is a feature."""

MAX_MISTAKE_SHARE = 0.1
"""Texts for each number of a column up to which numbers are meant, and the texts are mistakes."""

MIN_LINE_SHARE = 0.7
"""Share of the first lines with as many columns from which the others are mistakes."""

MIN_CLASSES, MAX_CLASSES = 2, 20
"""Different values of a column that is taken for labels."""

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
        Rows that were looked at.
    whole : bool
        Whether these are all.
    layout : DatasetInfo
        Delimiter, decimal sign and header.
    n_numbers : int
        Columns of numbers, the label's not counted.
    categorical : dict of column to int
        Columns of text, with the number of their values.
    ignored : dict of column to str
        Columns that are left out, with the reason.
    label : column or None
        Column of the labels.
    labels : counter of float or str
        How many rows have each label; numbers where all are.
    likely_label : column or None
        Column that looks like the labels, if none was named.
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
        """Number of columns, all counted."""
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
        """Return the same without labels, their column left out."""
        assert self.label is not None
        ignored = self.ignored | {self.label: why}
        return replace(self, label=None, labels=Counter(), ignored=ignored)


@dataclass
class _Column:
    """Counts of what a column holds."""

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
        """Whether it is read as text: `?` and `none` are values then."""
        return self.n_texts > MAX_MISTAKE_SHARE * self.n_numbers

    def why_ignored(self, n_rows: int) -> str:
        """Return why the column says nothing of other rows; empty if it may."""
        if self.is_categorical:
            is_free = not self.n_numbers and len(self.values) > MAX_CATEGORIES
            return f"text with over {MAX_CATEGORIES} values" if is_free else ""
        if self.n_numbers < n_rows:
            return ""
        if self.is_sequence and n_rows > 2:
            return "row numbers"
        return "an id, by its name" if _ID.fullmatch(str(self.key)) else ""

    def check(self, path: Path) -> None:
        """Raise `DataError` if it cannot be read as numbers, or as text."""
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
                f"{path}:{missing[0]}: {self.name}: no label, {len(missing):,} in all; take "
                "the rows out"
            )

    @property
    def has_few_classes(self) -> bool:
        """Whether it has as few values as a column of labels."""
        return MIN_CLASSES <= len(self.values) <= MAX_CLASSES and not self.missing

    @property
    def has_label_name(self) -> bool:
        """Whether its name is one that labels often have."""
        return str(self.key).lower() in _LABEL_NAMES

    @property
    def has_few_integers(self) -> bool:
        """Whether it holds few different whole numbers and nothing else."""
        few = not self.n_texts and self.has_few_classes
        return few and all(float(with_point(x, self.decimal)).is_integer() for x in self.values)

    @property
    def has_decimal_commas(self) -> bool:
        """Whether the texts are numbers with commas."""
        texts = {text for text in self.values if not is_number(text, self.decimal)}
        return bool(texts) and all(map(has_decimal_comma, texts))

    @property
    def name(self) -> str:
        """The column in a message."""
        return column_name(self.key)


def survey(path: Path, label: str | None, ignored: Sequence[str] = ()) -> Survey:
    """Look at a file.

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
        One line on what cannot be used: where, and what to do.
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
        labels: Counter[str] = Counter()
        n_rows, whole = 0, True
        for line, fields in _rows(source, rest, start.delimiter, n_columns):
            if n_rows == MAX_SURVEY_ROWS:
                whole = False
                break
            n_rows += 1
            for column, text in zip(columns, fields, strict=True):
                column.add(line, text)
            if target is not None:
                labels[fields[target]] += 1
    features, reasons = _features(path, columns, n_rows, left_out, target)
    return Survey(
        path=path,
        n_rows=n_rows,
        whole=whole,
        layout=replace(info, delimiter=start.delimiter),
        n_numbers=sum(not one.is_categorical for one in features),
        categorical={one.key: len(one.values) for one in features if one.is_categorical},
        ignored=reasons,
        label=None if target is None else columns[target].key,
        labels=_labels(labels, info.decimal),
        likely_label=_likely_label(columns, left_out) if target is None else None,
    )


def _likely_label(columns: Sequence[_Column], left_out: set[int]) -> ColumnKey | None:
    """Return the column that looks like labels, by its name, its texts or its place."""
    kept = [column for i, column in enumerate(columns) if i not in left_out]
    ends = [*kept[-1:], *kept[:1]]
    likely = [
        *(one for one in kept if one.has_label_name),
        *(one for one in (*ends, *kept) if one.n_texts and one.has_few_classes),
        *(one for one in ends if one.has_few_integers),
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
    for one in columns:
        if one.has_decimal_commas:
            line, text = one.first_text
            raise DataError(
                f"{path}:{line}: {one.name}: {shown(text)}: write decimal points, not commas"
            )
    described = [column for i, column in enumerate(columns) if i not in {*left_out, target}]
    reasons = {one.key: why for one in described if (why := one.why_ignored(n_rows))}
    reasons |= {columns[i].key: "as asked" for i in sorted(left_out)}
    features = [one for one in described if one.key not in reasons]
    for one in features:
        one.check(path)
    if target is not None:
        columns[target].check_label(path)
    if not features:
        raise DataError(f"{path}: no column is left to learn from")
    return features, reasons


def _layout(source: FoundFile, label: str | None) -> DatasetInfo:
    """Find out by the first lines how columns and decimals are separated, and if they are named."""
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
    if n_columns == 1:  # the reader then says which line has too few, or too many
        delimiter, n_columns = likely_delimiter(lines, MIN_LINE_SHARE)
    if n_columns == 1:
        raise DataError(
            f"{source.label}: no delimiter makes as many columns, two or more, of the first "
            f"{len(lines)} lines"
        )
    if delimiter == ",":
        delimiter = decimal_comma_delimiter(lines) or ","
    names, *rows = [delimited.split(line, delimiter) for line in lines]
    decimal = _decimal([*chain(*rows)] or names)
    found = is_header(names, rows, decimal)
    return DatasetInfo(
        *(str(source.path), "", "delimited"),
        delimiter=delimiter or " ",
        decimal=decimal,
        header=label in names if found is None else found,
    )


def _decimal(fields: Sequence[str]) -> Literal[".", ","]:
    """Return the decimal sign of the numbers in some fields: a comma if none has a point."""
    has_points = any("." in field and is_number(field) for field in fields)
    return "," if any(map(has_decimal_comma, fields)) and not has_points else "."


def _check_names(start: Start, n_columns: int) -> None:
    if start.names and len(start.names) != n_columns:
        raise LineError(f"the header has {len(start.names)} names for {n_columns} columns")


def _place(start: Start, option: str, column: str, n_columns: int) -> int:
    """Return the place of a column that is given by its name, or its number."""
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
    """Yield the number of each line that has a row, and its fields."""
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
    """Return labels as numbers, if all are."""
    if not all(is_number(text, decimal) for text in counts):
        return counts
    numbers: Counter[float] = Counter()
    for text, n in counts.items():
        numbers[float(with_point(text, decimal))] += n
    return numbers

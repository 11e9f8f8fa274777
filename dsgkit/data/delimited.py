"""Delimited text: a row per line, with the label in a column, or as the mean of several columns.

pandas reads it in chunks of lines. Lines that pandas refuses, or might misread, are read again one
by one: slowly, and with precise errors.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.lines import BLANK_LINE, CAREFUL_LINE, ROW_LINE, Lines, decoded
from dsgkit.data.names import column_name, is_missing, key_of, label_setting
from dsgkit.data.numbers import (
    MAX_FEATURES,
    LineError,
    MissingValueError,
    NotANumberError,
    feature,
    has_decimal_comma,
    number,
)
from dsgkit.errors import shown
from dsgkit.numerics.arrays import Single

if TYPE_CHECKING:
    import pandas as pd

MAX_WORD_LENGTH = 256
"""Characters of a label or a category; a longer text is not the name of a class."""

_MAX_MEAN_LABEL = 1e300
"""Largest label for which the mean of several is surely finite."""

_BLANKS = " \t\v\f"
_KINDS = np.array([ROW_LINE, BLANK_LINE], np.uint8)
_UNLIKE_PANDAS = b"\0\r\v\f"
"""Bytes that pandas and `split` interpret differently."""


@dataclass(frozen=True)
class Columns:
    """Layout of the columns of a delimited file.

    Attributes
    ----------
    n_columns : int
        Number of columns, the label's included.
    delimiter : str or None
        None for white space.
    decimal : {".", ","}
        Decimal sign.
    labels : tuple of int
        Columns whose mean is the label, from 0; empty in a file without labels.
    text_labels : bool
        Whether labels are text; there is only one label column then.
    categories : mapping of int to array of text
        Categorical columns, from 0, with all their values in sorted order. The n values of a
        column become n features of 0 and 1.
    values : mapping of int to mapping
        Columns, from 0, in which texts stand for numbers.
    ignored : tuple of int
        Columns, from 0, that are left out.
    names : tuple of str
        Names of all columns; empty in a file without a header.
    """

    n_columns: int
    delimiter: str | None
    decimal: str
    labels: tuple[int, ...]
    text_labels: bool = False
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    ignored: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return sum(self._widths.values())

    @property
    def n_values(self) -> int:
        """Memory of a row during reading, in units of a feature's."""
        return self.n_features + 2 * len(self.labels) + 16 * len(self.words)

    @cached_property
    def places(self) -> dict[int, int]:
        """The first feature of each column."""
        ends = np.cumsum([0, *self._widths.values()]).tolist()
        return dict(zip(self._widths, ends, strict=False))

    @cached_property
    def words(self) -> set[int]:
        """The columns that are read as text."""
        labels = self.labels if self.text_labels else ()
        return {*self.categories, *self.values, *labels} - {*self.ignored}

    @cached_property
    def texts(self) -> dict[int, Any]:
        """The pandas types of all columns that may contain text."""
        return dict.fromkeys(self.words, "category") | dict.fromkeys(self.ignored, object)

    @cached_property
    def numbers_of(self) -> dict[int, dict[str, int]]:
        """The index of every value of each categorical column."""
        return {
            column: {value: k for k, value in enumerate(values.tolist())}
            for column, values in self.categories.items()
        }

    @cached_property
    def _widths(self) -> dict[int, int]:
        others = {*self.labels, *self.ignored}
        features = (column for column in range(self.n_columns) if column not in others)
        return {column: len(self.categories.get(column, " ")) for column in features}


def guess_delimiter(line: bytes) -> str | None:
    """Return a comma if the line has one, else None for white space."""
    return "," if b"," in line else None


def split(line: bytes, delimiter: str | None) -> list[str]:
    """Return the fields of one line, without quotes and surrounding blanks.

    Raises
    ------
    LineError
        For a line that is not text, has too many columns, or has an unclosed quote.
    """
    text = decoded(line).strip(_blanks(delimiter))
    if not text.strip(_BLANKS):
        return []
    # counted before splitting, which takes a multiple of the memory
    if len(text) > MAX_FEATURES and _n_gaps(text, delimiter) >= MAX_FEATURES:
        raise LineError(f"more than {MAX_FEATURES:,} columns; rows are kept dense")
    if '"' in text:
        return list(_unquoted(text, delimiter))
    if delimiter is None:
        return re.split(f"[{_BLANKS}]+", text)
    return [field.strip(_BLANKS) for field in text.split(delimiter)]


def _n_gaps(text: str, delimiter: str | None) -> int:
    if delimiter is None:
        return sum(1 for _ in re.finditer(f"[{_BLANKS}]+", text))
    return text.count(delimiter)


def _unquoted(text: str, delimiter: str | None) -> Iterator[str]:
    """Yield the fields of a text, some of them in quotes; a quote inside of these is doubled."""
    field, end = _patterns(delimiter)
    at = 0
    while True:
        match = field.match(text, at)
        following = end.match(text, match.end()) if match else None
        if match is None or following is None:
            raise LineError("a quote that is not closed, or with text behind it, in this line")
        quoted, plain = match.groups()
        yield plain.strip(_BLANKS) if quoted is None else quoted.replace('""', '"').strip(_BLANKS)
        if not following.group():
            return
        at = following.end()


@cache
def _patterns(delimiter: str | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of a field, quoted or not, and that of the gap after it."""
    blanks = f"[{_blanks(delimiter)}]*"
    quoted = r'"([^"]*(?:""[^"]*)*)"'
    if delimiter is None:
        return re.compile(f'{quoted}|([^"{_BLANKS}][^{_BLANKS}]*)'), re.compile(f"[{_BLANKS}]+|$")
    other = re.escape(delimiter)
    plain = f'(?!{blanks}")([^{other}]*)'
    return re.compile(f"{blanks}{quoted}{blanks}|{plain}"), re.compile(f"{other}|$")


def _blanks(delimiter: str | None) -> str:
    """Return the blank characters around fields, without the delimiter."""
    return _BLANKS.replace(delimiter or "\0", "")


class Table:
    """Rows read from lines without a header; blank lines are skipped.

    Parameters
    ----------
    columns : Columns
        Layout of the columns.
    n_lines : int
        Number of lines, with at most one row each.
    """

    def __init__(self, columns: Columns, n_lines: int) -> None:
        self.columns = columns
        self.X = np.zeros((n_lines, columns.n_features), np.float32)
        n_labels = 0 if columns.text_labels else len(columns.labels)
        self.labels = np.zeros((n_lines, n_labels))
        self.texts = np.full(n_lines if columns.text_labels else 0, "", object)

    def read_plain(self, lines: Lines, first: int = 0) -> NDArray[np.uint8]:
        """Read lines with pandas, with the same result as `read_line`; split them where it fails.

        Parameters
        ----------
        lines : Lines
        first : int
            Row of the first line.

        Returns
        -------
        ndarray of uint8, shape (n_lines,)
            `CAREFUL_LINE` where pandas failed. Only the number of blank lines is known: they are
            reported as the last ones.
        """
        if lines.is_large:
            try:
                n_rows = self._put_frame(first, _frame(lines, self.columns))
                return np.repeat(_KINDS, [n_rows, len(lines) - n_rows])
            except ValueError:
                if halves := lines.halves():
                    starts = first, first + len(halves[0])
                    return np.concatenate(list(map(self.read_plain, halves, starts)))
        return np.full(len(lines), CAREFUL_LINE, np.uint8)

    def _put_frame(self, first: int, frame: pd.DataFrame) -> int:
        """Store the fields of all rows but the first, and return the number of rows.

        Raises
        ------
        ValueError
            If a field is wrong; `read_line` then reports it precisely.
        """
        texts = self.columns.texts
        numbers = frame.drop(columns=[*texts]) if texts else frame
        rows = slice(first, first + len(frame) - 1)
        self.X[rows] = 0
        with np.errstate(over="ignore"):
            for column, fields in zip(numbers, numbers.to_numpy()[1:].T, strict=True):
                self._put(column, rows, fields)
        for column in self.columns.words:
            places, words = frame[column][1:].factorize()
            values = [self._value(column, word.strip(_BLANKS)) for word in words]
            self._put(column, rows, np.array(values, object)[places])
        labels = np.abs(self.labels[rows])
        largest = _MAX_MEAN_LABEL if labels.shape[1] > 1 else sys.float_info.max
        if not np.isfinite(self.X[rows]).all() or not (labels <= largest).all():
            raise LineError("a number is too large")
        return len(frame) - 1

    def read_line(self, i: int, line: bytes) -> bool:
        """Read line i, slowly and with precise errors; return whether it has a row.

        Raises
        ------
        LineError
            If it is malformed.
        """
        columns = self.columns
        fields = split(line, columns.delimiter)
        if not fields:
            return False
        if len(fields) != columns.n_columns:
            raise LineError(f"{len(fields)} columns instead of {columns.n_columns}")
        self.X[i] = 0
        for column, text in enumerate(fields):
            if column not in columns.ignored:
                self._put(column, slice(i, i + 1), self._checked_value(column, text))
        return True

    def finish(self, rows: NDArray[np.bool_]) -> tuple[Single, NDArray[Any] | None]:
        """Return the rows, and the labels or None, of the lines that have a row."""
        X = self.X if rows.all() else self.X[rows]
        if not self.columns.labels:
            return X, None
        if self.columns.text_labels:
            return X, self.texts[rows].astype(str)
        return X, np.mean(np.ascontiguousarray(self.labels[rows].T), axis=0)

    def _checked_value(self, column: int, text: str) -> float | str:
        """Call `_value`; errors name the column."""
        columns = self.columns
        try:
            return self._value(column, text)
        except LineError as error:
            name = column_name(key_of(column, columns.names))
            if is_missing(text):
                raise MissingValueError(name, column, column in columns.labels) from error
            remedy = self._remedy(column, text) if isinstance(error, NotANumberError) else ""
            raise LineError(f"{name}: {error}{remedy}") from error

    def _remedy(self, column: int, text: str) -> str:
        """Return advice about a text that is not a number; empty if there is none."""
        if has_decimal_comma(text) and self.columns.delimiter != ",":
            return '; for decimal commas set `decimal: ","`'
        if column in self.columns.labels:
            return "; labels that are text have to be named by `dataset.target`"
        if text[:1].isalpha():
            labels = [key_of(label, self.columns.names) for label in self.columns.labels]
            where = "there, in `categorical` or in `ignored`"
            return f"; {label_setting(labels)}: name a column of text {where}"
        return ""

    def _value(self, column: int, text: str) -> float | str:
        """Return the value of a field: a number, the index of a category, or a text label."""
        columns = self.columns
        if column in columns.labels:
            return self._label(text)
        if column in columns.categories:
            if not text:
                raise LineError("empty field")
            return self._category(column, text)
        known = columns.values.get(column, {})
        return known[text] if text in known else feature(text, columns.decimal)

    def _label(self, text: str) -> float | str:
        if self.columns.text_labels:
            return _word(text)
        value = number(text, self.columns.decimal)
        if len(self.columns.labels) > 1 and abs(value) > _MAX_MEAN_LABEL:
            raise LineError(f"{shown(text)} is too large for a mean")
        return value

    def _category(self, column: int, text: str) -> int:
        if text not in self.columns.numbers_of[column]:
            raise LineError(f"{shown(text)} is new: the file changes while it is read")
        return self.columns.numbers_of[column][text]

    def _put(self, column: int, rows: slice, values: Any) -> None:
        """Store values of a column: a single one, or an array with one per row."""
        columns = self.columns
        if column in columns.labels:
            if columns.text_labels:
                self.texts[rows] = values
            else:
                self.labels[rows, columns.labels.index(column)] = values
        elif column in columns.categories:
            X = self.X[rows]
            X[np.arange(len(X)), columns.places[column] + np.asarray(values, np.intp)] = 1
        else:
            self.X[rows, columns.places[column]] = values


class Categories(Table):
    """Collects the values of the categorical columns of some lines.

    Attributes
    ----------
    categories : dict of int to set of text
        The values of each column.
    """

    def __init__(self, columns: Columns, n_lines: int) -> None:
        super().__init__(columns, n_lines)
        self.categories: dict[int, set[str]] = {column: set() for column in columns.categories}

    def _category(self, column: int, text: str) -> int:
        self.categories[column].add(_word(text))
        return 0

    def _put(self, column: int, rows: slice, values: Any) -> None:
        if column not in self.columns.categories:
            super()._put(column, rows, values)


def _word(text: str) -> str:
    if len(text) > MAX_WORD_LENGTH:
        raise LineError(
            f"a text of {len(text):,} characters; at most {MAX_WORD_LENGTH} make a class"
        )
    return text


def _frame(lines: Lines, columns: Columns) -> pd.DataFrame:
    """Return the fields of lines as a data frame; texts may have blanks around them.

    An artificial first row is added: it makes pandas refuse lines with more fields, and not read
    `True` as a number or a byte order mark as a part of one.

    Raises
    ------
    ValueError
        If pandas cannot read them, or could read other fields than `split`.
    """
    import pandas as pd

    text = re.sub(rb"\r+\n", b"\n", lines.text) if b"\r" in lines.text else lines.text
    if any(byte in text for byte in _UNLIKE_PANDAS):
        raise LineError("a control character")
    texts, n = columns.texts, columns.n_columns
    top = (columns.delimiter or " ").join("x" if k in texts else "0" for k in range(n))
    text = b"\n".join((top.encode(), text))
    if b'"' in text and b'"' in _quoted(columns.delimiter).sub(b"", text):
        raise LineError("a quote")
    frame = pd.read_csv(
        io.BytesIO(text),
        sep=columns.delimiter or r"\s+",
        decimal=columns.decimal,
        header=None,
        dtype={k: texts.get(k, float) for k in range(n)} if texts else float,
        na_filter=False,
        skipinitialspace=True,
        lineterminator="\n",
        engine="c",
        low_memory=False,
    )
    if n - 1 in texts and frame[n - 1].eq("").any():
        raise LineError("a line of fewer columns")
    return frame


@cache
def _quoted(delimiter: str | None) -> re.Pattern[bytes]:
    """Return the pattern of a field in quotes, with blanks before it."""
    other = re.escape(delimiter or " \t")
    return re.compile(rf'"(?<=[{other} \n]")[^"\n]*"(?=[{other}\n])'.encode())

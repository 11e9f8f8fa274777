"""Delimited text: one row a line, one column of it, or the mean of several, the label."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.lines import number_problem

# pandas takes a column of these for numbers
_TRUTH_VALUES = (b"rue", b"RUE", b"alse", b"ALSE")


@dataclass(frozen=True)
class Columns:
    """How the columns of a delimited file are laid out.

    Attributes
    ----------
    n_columns : int
        Number of columns, the label's included.
    delimiter : str or None
        None for white space.
    labels : tuple of int
        Columns whose mean is the label, from 0; none in a file of features alone.
    text_labels : bool
        Whether labels are text; then there is one such column.
    categories : mapping of int to array of text
        Columns that hold text, from 0, with all their values in sorted order. The n values of a
        column make n features of 0 and 1.
    values : mapping of int to mapping
        Columns, from 0, in which texts stand for numbers.
    ignored : tuple of int
        Columns, from 0, that are left out, whatever they hold.
    """

    n_columns: int
    delimiter: str | None
    labels: tuple[int, ...]
    text_labels: bool = False
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    ignored: tuple[int, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns that rows become."""
        apart = len(self.labels) + len(self.categories) + len(self.ignored)
        plain = self.n_columns - apart
        return plain + sum(map(len, self.categories.values()))

    @property
    def texts(self) -> set[int]:
        """The columns that are not numbers."""
        labels = self.labels if self.text_labels else ()
        return {*self.categories, *self.values, *self.ignored, *labels}


def guess_delimiter(line: bytes) -> str | None:
    """Return a comma if the line has one, else None for white space."""
    return "," if b"," in line else None


def split(line: bytes, delimiter: str | None) -> list[str]:
    """Return the fields of one line, without quotes and surrounding blanks."""
    text = line.decode(errors="replace").strip()
    if not text:
        return []
    if delimiter is None:
        return text.split()
    return [field.strip() for field in next(csv.reader([text], delimiter=delimiter))]


def parse(data: bytes, columns: Columns) -> tuple[NDArray[np.float32], NDArray[Any] | None]:
    """Parse whole lines without a header; blank lines are skipped.

    Parameters
    ----------
    data : bytes
        The lines.
    columns : Columns
        How to read them.

    Returns
    -------
    X : ndarray of float32, shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,) or None
        Float64 or text; None without a column for it.

    Raises
    ------
    ValueError
        For anything wrong; `problem` says what, line by line.
    """
    if not data.strip():
        none = np.empty(0, str if columns.text_labels else np.float64)
        empty = np.empty((0, columns.n_features), np.float32)
        return empty, none if columns.labels else None
    if not columns.texts and any(word in data for word in _TRUTH_VALUES):
        raise ValueError("a field is not a number")
    table = _read_table(data, columns)
    labels = _labels(table, columns)
    with np.errstate(over="ignore"):
        X = _features(table, columns).astype(np.float32)
    if not np.isfinite(X).all():
        raise ValueError("a feature is not finite")
    return X, labels


def categories(data: bytes, columns: Columns) -> dict[int, set[str]]:
    """Return the different values of every categorical column in whole lines.

    Raises
    ------
    ValueError
        As `parse` does.
    """
    if not data.strip():
        return {column: set() for column in columns.categories}
    table = _read_table(data, columns)
    found = {column: set(_text(table[column]).tolist()) for column in columns.categories}
    if any("" in values for values in found.values()):
        raise ValueError("a category is empty")
    return found


def _labels(table: Any, columns: Columns) -> NDArray[Any] | None:
    """Take the labels out of a table."""
    if not columns.labels:
        return None
    taken = [table.pop(column) for column in columns.labels]
    if columns.text_labels:
        return _text(taken[0])
    return np.mean([column.to_numpy() for column in taken], axis=0)


def _features(table: Any, columns: Columns) -> NDArray[np.float64]:
    """Return a table as numbers, with a column per category in the place of a categorical one."""
    table = table.drop(columns=list(columns.ignored))
    if not columns.categories and not columns.values:
        return table.to_numpy(np.float64)
    parts = []
    for column in table:
        if column in columns.categories:
            known = columns.categories[column]
            parts.append((_text(table[column])[:, None] == known).astype(np.float64))
        elif column in columns.values:
            parts.append(_numbers(table[column], columns.values[column])[:, None])
        else:
            parts.append(table[[column]].to_numpy(np.float64))
    return np.hstack(parts)


def _numbers(column: Any, known: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the numbers that the texts of a column stand for."""
    values, places = np.unique(_text(column), return_inverse=True)
    return np.array([known[text] if text in known else float(text) for text in values])[places]


def _text(column: Any) -> NDArray[np.str_]:
    places, values = column.factorize()  # stripping is slow, and the different texts are few
    return np.char.strip(values.to_numpy(str))[places]


def _read_table(data: bytes, columns: Columns) -> Any:
    import pandas as pd

    kinds: dict[int, Any] = dict.fromkeys(range(columns.n_columns), np.float64)
    kinds |= dict.fromkeys(columns.texts, str)
    table = pd.read_csv(
        BytesIO(data),
        header=None,
        sep=r"\s+" if columns.delimiter is None else columns.delimiter,
        skipinitialspace=columns.delimiter is not None,
        engine="c",
        dtype=kinds,
        keep_default_na=False,
    )
    if table.shape[1] != columns.n_columns:
        raise ValueError("wrong number of columns")
    return table


def problem(line: bytes, columns: Columns) -> str | None:
    """Find what is wrong with one line, slowly and precisely.

    Returns
    -------
    str or None
        What is wrong, None if nothing is.
    """
    fields = split(line, columns.delimiter)
    if not fields:
        return None
    if len(fields) != columns.n_columns:
        return f"{len(fields)} columns instead of {columns.n_columns}"
    for column, value in enumerate(fields):
        if value in columns.values.get(column, ()):
            continue
        if column in columns.values or column not in columns.texts:
            trouble = number_problem(value)
        else:
            trouble = None if value or column not in columns.categories else "empty field"
        if trouble:
            is_text = column in columns.labels and trouble.endswith("is not a number")
            remedy = (
                "; labels that are text have to be named by `dataset.target`" if is_text else ""
            )
            return f"column {column + 1}: {trouble}{remedy}"
    return None

"""Delimited text: one row a line, one column of it the label."""

from __future__ import annotations

import csv
from dataclasses import dataclass
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
    label_column : int or None
        From 0; None in a file of features alone.
    text_labels : bool
        Whether labels are text.
    """

    n_columns: int
    delimiter: str | None
    label_column: int | None
    text_labels: bool = False

    @property
    def n_features(self) -> int:
        """Number of columns that are not the label."""
        return self.n_columns - (self.label_column is not None)


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
        Float64 or text; None without a label column.

    Raises
    ------
    ValueError
        For anything wrong; `problem` says what, line by line.
    """
    if not data.strip():
        none = np.empty(0, str if columns.text_labels else np.float64)
        empty = np.empty((0, columns.n_features), np.float32)
        return empty, None if columns.label_column is None else none
    if not columns.text_labels and any(word in data for word in _TRUTH_VALUES):
        raise ValueError("a field is not a number")
    table = _read_table(data, columns)
    if table.shape[1] != columns.n_columns:
        raise ValueError("wrong number of columns")
    labels = None
    if columns.label_column is not None:
        column = table.pop(columns.label_column)
        labels = np.char.strip(column.to_numpy(str)) if columns.text_labels else column.to_numpy()
    with np.errstate(over="ignore"):
        X = table.to_numpy(np.float64).astype(np.float32)
    if not np.isfinite(X).all():
        raise ValueError("a feature is not finite")
    return X, labels


def _read_table(data: bytes, columns: Columns) -> Any:
    import pandas as pd

    kinds: dict[int, Any] = dict.fromkeys(range(columns.n_columns), np.float64)
    if columns.text_labels and columns.label_column is not None:
        kinds[columns.label_column] = str
    return pd.read_csv(
        BytesIO(data),
        header=None,
        sep=r"\s+" if columns.delimiter is None else columns.delimiter,
        skipinitialspace=columns.delimiter is not None,
        engine="c",
        dtype=kinds,
        keep_default_na=False,
    )


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
    for column, field in enumerate(fields):
        if columns.text_labels and column == columns.label_column:
            continue
        if trouble := number_problem(field):
            return f"column {column + 1}: {trouble}"
    return None

"""LIBSVM text: ``label index:value index:value ...``, indices from 1 and increasing.

Blank lines and ``#`` comments are skipped.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.lines import CAREFUL_LINE, Lines, checked
from dsgkit.data.numbers import LineError, feature, number
from dsgkit.errors import shown
from dsgkit.numerics.arrays import Single

CAREFUL_INDEX = -2
"""Placeholder for the last index of a line that `last_index` has to read."""

_INDEX = re.compile(rb"([0-9]+):")
_MAX_DIGITS = 18


class Table:
    """Rows read from lines.

    Parameters
    ----------
    n_features : int
        Number of columns.
    n_lines : int
        Number of lines, with at most one row each.
    """

    def __init__(self, n_features: int, n_lines: int) -> None:
        self.X = np.zeros((n_lines, n_features), np.float32)
        self.labels = np.zeros(n_lines)

    def read_plain(self, lines: Lines) -> NDArray[np.uint8]:
        """Read plain lines, if there are many; return their kinds like `plain.libsvm_lines`."""
        if not lines.is_large:
            return np.full(len(lines), CAREFUL_LINE, np.uint8)
        from dsgkit.data.plain import libsvm_lines

        return libsvm_lines(lines, self.X, self.labels)

    def read_line(self, i: int, line: bytes) -> bool:
        """Read line i, slowly and with precise errors; return whether it has a row.

        Raises
        ------
        LineError
            If it is malformed.
        """
        n_features = self.X.shape[1]
        tokens = _tokens(line, 2 + n_features)  # the label, and one feature too many to report
        if not tokens:
            return False
        try:
            self.labels[i] = number(tokens[0])
        except LineError as error:
            raise LineError(f"label {error}") from error
        features: list[tuple[int, float]] = []
        for token in tokens[1:]:
            features.append(_feature(token, features[-1][0] if features else 0))
        self.X[i] = 0
        for index, value in features:
            if index > n_features:
                raise LineError(f"feature index {index} is beyond the {n_features} features")
            self.X[i, index - 1] = value + 0.0  # no -0.0, as omitted zeros have no sign
        return True

    def finish(self, rows: NDArray[np.bool_]) -> tuple[Single, NDArray[Any]]:
        """Return the rows and labels of the lines that have a row."""
        return (self.X, self.labels) if rows.all() else (self.X[rows], self.labels[rows])


def last_index(line: bytes) -> int:
    """Return the last feature index of a line, which is the largest; 0 if it has none.

    Raises
    ------
    LineError
        For an index of too many digits. Other errors are reported when the line is read.
    """
    indices = _INDEX.findall(line.partition(b"#")[0])
    return _number_of(indices[-1].decode()) if indices else 0


def _tokens(line: bytes, most: int) -> list[str]:
    """Return the first tokens of a line; the rest is not split."""
    content = checked(line).partition(b"#")[0]
    return [token.decode(errors="replace") for token in content.split(None, most)[:most]]


def _feature(token: str, previous: int) -> tuple[int, float]:
    """Return the index and the value of a feature."""
    text, colon, value = token.partition(":")
    if not colon or not _is_index(text):
        raise LineError(f"{shown(token)} is not index:value")
    index = _number_of(text)
    if index == 0:
        raise LineError(f"feature index 0 in {shown(token)}; indices start at 1")
    if index <= previous:
        raise LineError(f"feature index {index} after {previous}; indices must increase")
    try:
        return index, feature(value)
    except LineError as error:
        raise LineError(f"feature {index}: {error}") from error


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _number_of(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise LineError(f"a feature index of {len(digits):,} digits")
    return int(digits)

"""Parsing of numbers in text files, with its errors."""

from __future__ import annotations

import math
import re

from dsgkit.errors import shown

MAX_FEATURES = 2**20
"""Maximum number of features, so that a mistyped index or an endless line does not fill memory."""

LONGEST_NUMBER = 2000
"""Characters of a number: more than any float64 has digits."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
_SWAPPED = str.maketrans(".,", ",.")
_FLOAT32_OVERFLOW = 2.0**128 - 2.0**103
"""Smallest number that rounds to infinity in float32."""


class LineError(ValueError):
    """An error in one line of a file; callers add the file and the line number."""


class NotANumberError(LineError):
    """A field that is not a number."""


class MissingValueError(LineError):
    """A field without a value.

    Parameters
    ----------
    name : str
        Description of the column.
    column : int
        Its position, from 0.
    is_label : bool
        Whether it is a column of the label.
    """

    def __init__(self, name: str, column: int, is_label: bool) -> None:
        super().__init__(f"{name}: {'no label' if is_label else 'a missing value'}")
        self.column = column
        self.is_label = is_label


def number(text: str, decimal: str = ".") -> float:
    """Return the finite float64 nearest to a decimal number.

    Python's ``float`` would also accept ``1_000``, digits of other scripts and blanks.

    Parameters
    ----------
    text : str
    decimal : {".", ","}
        The decimal sign.

    Raises
    ------
    LineError
        For anything else.
    """
    if not text:
        raise LineError("empty field")
    if len(text) > LONGEST_NUMBER:
        raise NotANumberError(f"{shown(text)}: a field of {len(text):,} characters is not a number")
    pointed = with_point(text, decimal)
    if not _NUMBER.fullmatch(pointed) and not _NOT_FINITE.fullmatch(pointed):
        raise NotANumberError(f"{shown(text)} is not a number")
    value = float(pointed)
    if not math.isfinite(value):
        raise LineError(f"{shown(text)} is not finite")
    return value


def with_point(text: str, decimal: str) -> str:
    """Return a number with a decimal point; points are invalid if the decimal sign is a comma."""
    return text if decimal == "." else text.translate(_SWAPPED)


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(text) is not None


def feature(text: str, decimal: str = ".") -> float:
    """Return a number that is finite in float32; raise `LineError` otherwise."""
    value = number(text, decimal)
    if abs(value) >= _FLOAT32_OVERFLOW:
        raise LineError(f"{shown(text)} is too large for float32")
    return value

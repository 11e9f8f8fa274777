"""Names of columns in messages, and texts for missing values."""

from __future__ import annotations

from collections.abc import Sequence

from dsgkit.errors import shown

MISSING_VALUES = ("", "?", "-", ".", "na", "n/a", "nan", "null", "none")
"""Lower-case texts for a missing value in files."""

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_TEENS = range(11, 14)


def key_of(place: int, names: Sequence[str]) -> int | str:
    """Return a column's key in a config: its name in the header if unique, else its number.

    Parameters
    ----------
    place : int
        From 0.
    names : sequence of str
        Names of all columns; empty in a file without a header.
    """
    name = names[place] if place < len(names) else ""
    return name if name and names.count(name) == 1 else place


def column_name(key: int | str) -> str:
    """Return a column's description for a message, with its name or its number from 0."""
    if isinstance(key, str):
        return f"column {shown(key)}"
    return f"column {key} (the {'first' if key == 0 else _ordinal(key + 1)})"


def label_setting(keys: Sequence[int | str]) -> str:
    """Return a description of the config's setting of the label's columns."""
    if len(keys) == 1:
        return f"`label_column` is {shown(keys[0])}"
    return f"`label_columns` is {shown([*keys])}" if keys else "`label_column` is null"


def is_missing(text: str) -> bool:
    """Return whether a field has no value."""
    return text.lower() in MISSING_VALUES


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in _TEENS else _ENDINGS.get(n % 10, "th")
    return f"{n}{ending}"

"""Parsing of number ranges in configs: ``2^-3..2^3`` and ``0..1 step 0.1``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from dsgkit.errors import spelled

MAX_VALUES = 1000
"""Longer ranges and lists are assumed to be mistakes."""

MAX_EXPONENT = 2000
"""Above any floating point number's exponent, and still quick to compute."""

_NUMBER = r"[-+]?(?:\d{1,99}\.?\d{0,99}|\.\d{1,99})(?:[eE][-+]?\d{1,2})?"
_POWER = re.compile(r"(\d{1,9})\s*\^\s*([-+]?\d{1,9})")
_RANGE = re.compile(r"(?P<first>.+?)\s*\.\.\s*(?P<last>.+?)(?:\s+step\s+(?P<step>.+))?")
_HELP = "write a number, 2^-3..2^3, 0..1 step 0.1, or a list"


def parse_values(value: Any) -> list[Any]:
    """Return the values of a grid entry.

    Parameters
    ----------
    value : number, str or list
        A range, one value, or a list of values.

    Raises
    ------
    ValueError
        If a text is not a valid range.
    """
    if isinstance(value, list):
        if len(value) > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES} values")
        return [parse_number(item) for item in value]
    if isinstance(value, str) and ".." in value:
        return list(_parse_range(value.strip()))
    return [parse_number(value)]


def parse_number(value: Any) -> Any:
    """Return the value of a power such as ``2^-3``; anything else is returned unchanged."""
    if isinstance(value, str) and (match := _POWER.fullmatch(value.strip())):
        return _power(int(match[1]), int(match[2]), value)
    return value


def _parse_range(text: str) -> list[float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{spelled(text)} is not a range: {_HELP}")
    first, last = (_POWER.fullmatch(match[end]) for end in ("first", "last"))
    if first and last:
        return _powers(text, first, last, match["step"])
    if all(re.fullmatch(_NUMBER, match[end]) for end in ("first", "last")):
        return _steps(text, match["first"], match["last"], match["step"])
    raise ValueError(f"{spelled(text)} is not a range: {_HELP}")


def _powers(text: str, first: re.Match, last: re.Match, step: str | None) -> list[float]:
    if int(first[1]) != int(last[1]):
        raise ValueError(f"{spelled(text)}: both ends need the same base")
    if step is not None and not re.fullmatch(r"\d{1,9}", step):
        raise ValueError(f"{spelled(text)}: the step of a range of powers is a whole exponent")
    exponents = _inclusive(text, first[2], last[2], step or "1")
    return [_power(int(first[1]), int(exponent), text) for exponent in exponents]


def _steps(text: str, first: str, last: str, step: str | None) -> list[float]:
    if step is None:
        raise ValueError(f"{spelled(text)} needs a step, such as {text} step 0.1")
    if not re.fullmatch(_NUMBER, step):
        raise ValueError(f"{spelled(text)}: the step must be a number")
    return [float(value) for value in _inclusive(text, first, last, step)]


def _inclusive(text: str, first: str, last: str, step: str) -> list[Fraction]:
    """Return first, first + step, .., last as exact numbers."""
    start, end, by = Fraction(first), Fraction(last), Fraction(step)
    if by <= 0:
        raise ValueError(f"{spelled(text)}: the step must be greater than 0")
    if end < start:
        raise ValueError(f"{spelled(text)} ends before it starts")
    count = (end - start) / by
    if count >= MAX_VALUES:
        raise ValueError(f"{spelled(text)} has more than {MAX_VALUES} values")
    if count.denominator != 1:
        raise ValueError(f"{spelled(text)}: the steps end at {float(start + int(count) * by):g}")
    return [start + i * by for i in range(int(count) + 1)]


def _power(base: int, exponent: int, text: str) -> float:
    if base < 2:
        raise ValueError(f"{spelled(text)}: the base must be at least 2")
    if abs(exponent) <= MAX_EXPONENT:
        try:
            value = float(Fraction(base) ** exponent)
        except OverflowError:
            value = 0.0
        if value:
            return value
    raise ValueError(f"{spelled(text)} is beyond the range of floating point numbers")

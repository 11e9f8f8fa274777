"""Values of a grid: a list, one value, or a range such as ``2^-3..2^3`` and ``0..1 step 0.1``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from dsgkit.errors import spelled

MAX_VALUES = 1000
"""Longer ranges and lists are assumed to be mistakes."""

_NUMBER = r"[-+]?(?:\d{1,99}\.?\d{0,99}|\.\d{1,99})(?:[eE][-+]?\d{1,2})?"
_POWER = r"(\d{1,9})\s*\^\s*([-+]?\d{1,9})"
_RANGE = re.compile(r"(.+?)\s*\.\.\s*(.+?)(?:\s+step\s+(.+))?")


def parse_number(value: Any) -> Any:
    """Return the value of a power such as ``2^-3``; anything else is returned unchanged."""
    if isinstance(value, str) and (match := re.fullmatch(_POWER, value.strip())):
        return _power(int(match[1]), int(match[2]), value)
    return value


def parse_values(value: Any) -> list[Any]:
    """Return the values of a grid entry; both ends of a range are included.

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
    if not (isinstance(value, str) and ".." in value):
        return [parse_number(value)]
    first, last, step = match.groups() if (match := _RANGE.fullmatch(value.strip())) else ("",) * 3
    powers = [re.fullmatch(_POWER, end) for end in (first, last)]
    base = 0
    if powers[0] and powers[1]:
        if int(powers[0][1]) != (base := int(powers[1][1])):
            raise ValueError(f"{spelled(value)}: both ends need the same base")
        first, last, step = powers[0][2], powers[1][2], step or "1"
    elif not all(re.fullmatch(_NUMBER, end) for end in (first, last)):
        advice = "write a number, 2^-3..2^3, 0..1 step 0.1, or a list"
        raise ValueError(f"{spelled(value)} is not a range: {advice}")
    elif step is None:
        raise ValueError(f"{spelled(value)} needs a step, such as {value.strip()} step 0.1")
    if not re.fullmatch(r"\d{1,9}" if base else _NUMBER, step) or Fraction(step) <= 0:
        kind = "a whole exponent" if base else "a number"
        raise ValueError(f"{spelled(value)}: the step must be {kind} greater than 0")
    start, end, by = map(Fraction, (first, last, step))
    if end < start:
        raise ValueError(f"{spelled(value)} ends before it starts")
    count = (end - start) / by
    if count >= MAX_VALUES:
        raise ValueError(f"{spelled(value)} has more than {MAX_VALUES} values")
    if count.denominator != 1:
        reached = float(start + int(count) * by)
        raise ValueError(f"{spelled(value)}: the steps end at {reached:g}")
    numbers = [start + i * by for i in range(int(count) + 1)]
    return [_power(base, int(n), value) if base else float(n) for n in numbers]


def _power(base: int, exponent: int, text: str) -> float:
    try:
        power = float(Fraction(base) ** exponent) if base > 1 and abs(exponent) < 2000 else 0.0
    except OverflowError:
        power = 0.0
    if not power:
        raise ValueError(f"{spelled(text)} is no floating point number, or its base is below 2")
    return power

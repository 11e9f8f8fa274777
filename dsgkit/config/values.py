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
_POWERS = re.compile(rf"{_POWER}\s*\.\.\s*{_POWER}(?:\s+step\s+(\d{{1,9}}))?")
_STEPS = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+step\s+({_NUMBER})")


def parse_number(value: Any) -> Any:
    """Return the value of a power such as ``2^-3``; anything else is returned unchanged."""
    if isinstance(value, list):
        return [parse_number(item) for item in value]
    if isinstance(value, str) and (match := re.fullmatch(_POWER, value.strip())):
        return _power(int(match[1]), int(match[2]), value)
    return value


def parse_values(value: Any) -> list[Any]:
    """Return the values of a grid entry, a list, one value or a range that includes both ends.

    Raises
    ------
    ValueError
        If a text with ``..`` is not a valid range, or there are too many values.
    """
    if isinstance(value, list):
        values = parse_number(value)
    elif not (isinstance(value, str) and ".." in value):
        values = [parse_number(value)]
    elif match := _POWERS.fullmatch(value.strip()):
        base, first, other, last, step = match.groups()
        if base != other:
            raise ValueError(f"{spelled(value)}: both ends need the same base")
        exponents = _steps(value, first, last, step or "1")
        values = [_power(int(base), int(n), value) for n in exponents]
    elif match := _STEPS.fullmatch(value.strip()):
        values = [float(n) for n in _steps(value, *match.groups())]
    else:
        advice = "write 2^-3..2^3, 0..1 step 0.1, a number or a list"
        raise ValueError(f"{spelled(value)} is not a range: {advice}")
    if len(values) > MAX_VALUES:
        raise ValueError(f"has more than {MAX_VALUES} values")
    return values


def _steps(text: str, *ends_and_step: str) -> list[Fraction]:
    first, last, step = map(Fraction, ends_and_step)
    count = (last - first) / step if step > 0 else Fraction(-1)
    if not 0 <= count < MAX_VALUES or count.denominator != 1:
        advice = f"must ascend to its end in whole steps, in at most {MAX_VALUES} values"
        raise ValueError(f"{spelled(text)} {advice}")
    return [first + i * step for i in range(int(count) + 1)]


def _power(base: int, exponent: int, text: str) -> float:
    try:
        power = float(Fraction(base) ** exponent) if base > 1 and abs(exponent) < 2000 else 0.0
    except OverflowError:
        power = 0.0
    if not power:
        raise ValueError(f"{spelled(text)} is no floating point number, or its base is below 2")
    return power

"""Values of a grid: a list, one value, or a range such as ``2^-3..2^3`` and ``0..1 step 0.1``."""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from typing import Any

from dsgkit.errors import spelled

MAX_VALUES = 1000  # more are assumed to be a mistake

_NUMBER = r"[-+]?(?:\d{1,99}\.?\d{0,99}|\.\d{1,99})(?:[eE][-+]?\d{1,2})?"
_POWER = r"(\d{1,9})\s*\^\s*([-+]?\d{1,4})"
_POWERS = re.compile(rf"{_POWER}\s*\.\.\s*{_POWER}(?:\s+step\s+(\d{{1,9}}))?")
_STEPS = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+step\s+({_NUMBER})")


def parse_number(value: Any) -> Any:
    """Return the value of a power such as ``2^-3``, or of those in a list; others unchanged."""
    if isinstance(value, list):
        return [parse_number(item) for item in value]
    power = re.fullmatch(_POWER, value.strip()) if isinstance(value, str) else None
    return _power(power[1], int(power[2])) if power else value


def parse_values(value: Any) -> list[Any]:
    """Return the values of a grid entry, a list, one value or a range that includes both ends.

    Raises
    ------
    ValueError
        If a text with ``..`` is not a valid range, or there are too many values.
    """
    if not (isinstance(value, str) and ".." in value):
        values = parse_number(value if isinstance(value, list) else [value])
    elif (match := _POWERS.fullmatch(value.strip())) and match[1] == match[3]:
        exponents = _steps(value, match[2], match[4], match[5] or "1")
        values = [_power(match[1], int(n)) for n in exponents]
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


def _power(base: str, exponent: int) -> float:
    with suppress(ArithmeticError):
        if power := float(Fraction(base) ** exponent):
            return power
    raise ValueError(f"{base}^{exponent} is no floating point number")

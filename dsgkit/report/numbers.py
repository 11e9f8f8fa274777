"""Formatting of numbers and settings in tables, figures and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from dsgkit.errors import spelled
from dsgkit.tasks.measures import Measure

NO_VALUE = "–"
LARGEST = 1e150  # of values along training: squares of greater ones overflow
SHORTEST_TIME = 1e-6  # seconds: records round to it, so a time of 0 is raised to it for ratios


def letter_of(place: int) -> str:
    """Return the letter of a panel: a to z, then aa."""
    turn, letter = divmod(place, len(ascii_lowercase))
    return ascii_lowercase[letter] * (turn + 1)


def with_std(mean: float, std: float | None, digits: int) -> str:
    """Return ``mean ± std`` with ``digits`` decimals; the mean alone without a std."""
    text = f"{mean:z,.{digits}f}"
    return text if std is None or math.isnan(std) else f"{text} ± {std:,.{digits}f}"


def with_range(middle: float, low: float, high: float, digits: int) -> str:
    """Return ``middle [low..high]`` with ``digits`` decimals; the middle if all print alike."""
    texts = [f"{value:,.{digits}f}" for value in (middle, low, high)]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} [{texts[1]}..{texts[2]}]"


def time_digits(seconds: float) -> int:
    """Return the decimals for three significant digits, at most 4."""
    if seconds <= 0:
        return 2
    return min(4, max(0, 2 - math.floor(math.log10(seconds))))


def percents(measure: Measure, value: float) -> float:
    """Return a value in percent if its measure is shown in percent."""
    return 100 * value if measure.percent else value


def memory_text(n_bytes: float, *, decimal_below: float = 100) -> str:
    """Return a size in its largest unit; with a decimal below ``decimal_below``."""
    units = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
    unit, size = next((u for u in units.items() if n_bytes >= u[1]), ("KiB", 2**10))
    value = n_bytes / size
    return f"{value:.1f} {unit}" if value < decimal_below else f"{value:,.0f} {unit}"


def short_count(n: int) -> str:
    """Return a short count: ``500``, ``3,975``, ``59.5k``, ``5M``."""
    if n < 10_000:
        return f"{n:,}"
    unit, size = ("M", 10**6) if n >= 999_500 else ("k", 10**3)
    return f"{n / size:.3g}{unit}"


def score_text(measure: Measure, value: float) -> str:
    """Return a score with its measure's digits, possibly in percent."""
    shown = f"{percents(measure, value):z,.{measure.digits}f}"
    return f"{shown}%" if measure.percent else shown


def seconds_text(seconds: float) -> str:
    """Return a time with two digits and its unit: ``0.4 ms``, ``35 s``."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:,.0f} s"


def counted(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def listed(texts: Sequence[str]) -> str:
    """Return texts as a list in a sentence: ``a, b and c``."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def p_text(p: float | None) -> str:
    if p is None:
        return NO_VALUE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def ratio_text(ratio: float) -> str:
    """Return a ratio with two decimals; a small or large one with two significant digits."""
    if ratio < 0.1:
        return f"{ratio:#.2g}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def leaves(
    nested: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the leaves of nested mappings, each with its path of keys."""
    for name, value in nested.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name), value


def value_text(value: object) -> str:
    """Return a hyper-parameter's value in a config's notation, text without quotes."""
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(value_text, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else spelled(value)


def grid_edges(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the smallest and largest number; empty if some value is not a number."""
    if not all(isinstance(value, int | float) for value in values):
        return ()
    return min(values), max(values)


def grid_text(values: Sequence[Any]) -> str:
    """Return a grid in short: its range and number of values, ``0.1..10 (3)``, or its words."""
    edges = grid_edges(values)
    if not edges or len(values) == 1:
        return ", ".join(map(value_text, values))
    return f"{'..'.join(map(value_text, edges))} ({len(values)})"

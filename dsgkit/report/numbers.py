"""How numbers are written in tables and figures."""

from __future__ import annotations

import math

from dsgkit.hints import shown

MEMORY_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def with_std(mean: float, std: float | None, digits: int) -> str:
    """Return ``mean ± std`` with so many digits after the point; the mean alone without a std."""
    text = f"{mean:,.{digits}f}"
    return text if std is None else f"{text} ± {std:,.{digits}f}"


def time_digits(seconds: float) -> int:
    """Return the digits after the point that show three significant ones, at most 4."""
    if seconds <= 0:
        return 2
    return min(4, max(0, 2 - math.floor(math.log10(seconds))))


def memory_text(n_bytes: float, *, decimal_below: float = 100) -> str:
    """Return a size in the largest unit of which there is at least one.

    Parameters
    ----------
    n_bytes : float
    decimal_below : float
        Larger numbers are whole.
    """
    unit, size = next((u for u in MEMORY_UNITS if n_bytes >= u[1]), MEMORY_UNITS[-1])
    value = n_bytes / size
    return f"{value:.1f} {unit}" if value < decimal_below else f"{value:,.0f} {unit}"


def size_text(n: int, full: bool) -> str:
    """Return a number of unlabelled rows, saying so if it is all there are."""
    return f"all ({n:,})" if full else f"{n:,}"


def short_count(n: float) -> str:
    """Return a count in at most four characters or so: ``500``, ``59.5k``, ``5M``."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if n >= size:
            return f"{n / size:.3g}{unit}"
    return f"{n:g}"


def value_text(value: object) -> str:
    """Return a hyper-parameter's value as a config spells it, text without quotes."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else shown(value)

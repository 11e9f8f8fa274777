"""Checks of single fields, for saying precisely what is wrong with a file."""

from __future__ import annotations

import math

import numpy as np

_LARGEST = float(np.finfo(np.float32).max)


def number_problem(text: str) -> str | None:
    """Return what keeps a field from being a finite float32, None if nothing does."""
    if not text:
        return "empty field"
    try:
        value = float(text)
    except ValueError:
        return f"{text!r} is not a number"
    if not math.isfinite(value):
        return f"{text!r} is not finite"
    return f"{text!r} is too large for float32" if abs(value) > _LARGEST else None

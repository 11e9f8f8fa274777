"""Crossings of the time lines of two solvers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from dsgkit.report.numbers import SHORTEST_TIME


def crossings(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return the sizes at which two lines through times by size cross, ascending.

    Between common sizes the lines are straight on log-log axes. Lines that only touch do not
    cross.
    """
    sizes = sorted(a.keys() & b.keys())
    times = np.array([[a[n] for n in sizes], [b[n] for n in sizes]])
    first, second = np.log(np.maximum(times, SHORTEST_TIME))
    gaps = [(np.log(n), gap) for n, gap in zip(sizes, first - second, strict=True) if gap != 0]
    result = []
    for (left, before), (right, after) in itertools.pairwise(gaps):
        if before * after < 0:
            result.append(float(np.exp(left + (right - left) * before / (before - after))))
    return result

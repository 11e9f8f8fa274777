"""Comparable wall-clock times of calls made in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

PAUSE_SECONDS = 0.3
"""Pause in seconds before each timed call."""


def seconds(run: Callable[[], object]) -> float:
    """Return the wall-clock time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each call; the calls are made in turn.

    A pause precedes each call: BLAS threads keep spinning for a while after a product.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(seconds(run))
    return {name: statistics.median(values) for name, values in times.items()}


def keep_freed_memory() -> None:
    """Make malloc keep freed memory, which makes the author-style loop 5 times faster.

    glibc raises its thresholds after a large block has been freed.
    """
    np.empty(2**25 - 2**16, np.uint8)

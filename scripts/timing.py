"""Wall-clock times of calls made in turn, and what keeps them comparable."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

PAUSE_SECONDS = 0.3
"""Seconds between calls that are timed."""


def seconds(run: Callable[[], object]) -> float:
    """Return the wall-clock time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each call; the calls are made in turn.

    A pause before each: BLAS threads go on spinning for a while after their last product.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(seconds(run))
    return {name: statistics.median(values) for name, values in times.items()}


def keep_freed_memory() -> None:
    """Have malloc keep what arrays free: it makes the author-style loop 5 times faster.

    glibc raises its thresholds once a large block has been freed.
    """
    np.empty(2**25 - 2**16, np.uint8)

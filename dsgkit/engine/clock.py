"""Observed training: an observer is called at some iterations, with the clock stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from dsgkit.system.progress import Stopwatch, listening


class Clock:
    """Calls ``observe(t, seconds, function)`` after the iterations ``at``; starts at construction.

    The seconds are those of the fit without observing.
    """

    def __init__(self, at: Sequence[int] = (), observe: Callable[..., Any] | None = None) -> None:
        if any(a >= b for a, b in pairwise([0, *at])):
            raise ValueError(f"iterations to observe must ascend from 1, got {list(at)}")
        if len(at) and observe is None:
            raise ValueError("iterations to observe need an observer")
        self.at = list(at)
        self._observe = observe
        self._stopwatch = Stopwatch()

    def check(self, n_iterations: int) -> None:
        """Raise `ValueError` unless all iterations are made."""
        if self.at and self.at[-1] > n_iterations:
            raise ValueError(
                f"only {n_iterations} iterations are made, cannot observe {self.at[-1]}"
            )

    def after(self, t: int, function: Callable[[], Any]) -> None:
        """Call the observer if it waits for iteration t; its progress is not that of training."""
        if t in self.at and self._observe is not None:
            seconds = self._stopwatch.seconds
            with self._stopwatch.paused(), listening(lambda fraction: None):
                self._observe(t, seconds, function())


NO_CLOCK = Clock()

"""The clock of a solver's training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds since its creation: processor time on one thread, else wall time.

    Other processes do not disturb processor time; the runner times fits in the same way.
    """

    def __init__(self) -> None:
        import numba

        single_thread = numba.get_num_threads() == 1
        self._clock = time.process_time if single_thread else time.perf_counter
        self._start = self._clock()

    @property
    def seconds(self) -> float:
        """Seconds, without pauses."""
        return self._clock() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of the block."""
        stopped = self._clock()
        yield
        self._start += self._clock() - stopped

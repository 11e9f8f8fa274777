"""The clock of a training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds since it was made: processor time on one thread, else wall time.

    Other processes do not disturb the former; the runner times fits likewise.
    """

    def __init__(self) -> None:
        import numba

        one = numba.get_num_threads() == 1
        self._clock = time.process_time if one else time.perf_counter
        self._start = self._clock()

    @property
    def seconds(self) -> float:
        """Seconds, without pauses."""
        return self._clock() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what is done in the block."""
        stopped = self._clock()
        yield
        self._start += self._clock() - stopped

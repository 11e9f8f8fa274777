"""Progress of computations, told to listeners instead of passed progress bars; and a clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(fraction: float) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(fraction)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a function with every fraction reported inside the ``with`` block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """Map fractions reported inside the block to the interval from ``low`` to ``high``."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda fraction: outer(low + fraction * (high - low))):
        yield
    report(high)


class Stopwatch:
    """Seconds since its creation, as of fits: processor time on one thread, else wall time."""

    def __init__(self) -> None:
        import numba

        single_thread = numba.get_num_threads() == 1
        self._clock = time.process_time if single_thread else time.perf_counter
        self._start = self._clock()

    @property
    def seconds(self) -> float:
        return self._clock() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        stopped = self._clock()
        yield
        self._start += self._clock() - stopped

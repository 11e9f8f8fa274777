"""Progress of long computations, reported to listeners, and a clock of training.

Computations call `report`, which does nothing without a listener. So neither solvers nor their
callers have to pass progress bars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(fraction: float) -> None:
    """Report the fraction of the work that is done."""
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


class Bar:
    """A progress bar on a terminal, removed at its end; nothing is shown elsewhere.

    The title stands before it. The total work need not be known.
    """

    def __init__(self, title: str, total: float | None = None) -> None:
        # Imported here because solvers import this module, and few need a bar.
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        console = Console(stderr=True)
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(escape(title), total=total)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # the terminal may be gone
            self._bar.stop()

    def show(self, done: float) -> None:
        """Show how much of the work is done."""
        self._bar.update(self._task, completed=done)

    def update(self, done: float) -> None:
        """Count some more work as done."""
        self._bar.advance(self._task, done)


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

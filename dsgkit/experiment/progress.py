"""Progress of a run with the remaining time: a live line on a terminal, else one per minute."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType

from rich import get_console
from rich.console import Console
from rich.live import Live
from rich.text import Text

from dsgkit.experiment.cell import Job
from dsgkit.experiment.paces import Paces, place
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.series import Series
from dsgkit.experiment.status import cells, duration
from dsgkit.experiment.store import Record

SECONDS_BETWEEN_LINES = 60.0
"""Used if the output is not a terminal."""

_TICK_SECONDS = 1.0
_REFRESHES = 2
"""Refreshes per second of the line on a terminal."""

Clock = Callable[[], float]


class RunProgress:
    """Shows how far a run is, and about how much time is left.

    Parameters
    ----------
    left : sequence of Cell
        Cells that will run.
    ended : iterable of (Cell, Record)
        Cells that have ended before, from which the times of the others are predicted.
    fits, searches : int
        How many run at the same time.
    series : Series, optional
        The series of experiments that this one is part of.
    timeout : float or None
        Time limit of a cell, in seconds.
    shown : bool
        Whether to show anything at all.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self,
        left: Sequence[Cell],
        ended: Iterable[tuple[Cell, Record]] = (),
        *,
        searches: int = 1,
        fits: int = 1,
        series: Series | None = None,
        timeout: float | None = None,
        shown: bool = True,
        clock: Clock = time.monotonic,
    ) -> None:
        self._paces = Paces(ended, timeout)
        # cells of the same place take the same time, and a plan has many of them
        self._left = Counter(map(place, left))
        self._typical = {place(cell): cell for cell in left}
        self._side_by_side = {"search": searches, "fit": fits}
        self._cells = len(left)
        self._series = series
        self._clock = clock
        self._begin = self._last_line = clock()
        self._running: dict[str, tuple[Job, float]] = {}
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        # that of `dsgkit.text.terminal.say`, whose texts appear above the line
        console = get_console() if sys.stdout and sys.stdout.isatty() else Console(stderr=True)
        self._live = Live(
            get_renderable=lambda: Text(self.line(console.width), no_wrap=True),
            console=console,
            transient=True,
            refresh_per_second=_REFRESHES,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._on_terminal = shown and console.is_terminal
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticks = shown and not console.is_terminal

    def __enter__(self) -> RunProgress:
        if self._on_terminal:
            self._live.start(refresh=True)
        if self._ticks:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._ticks:
            self._ticker.join()
        with suppress(OSError):  # the terminal may be gone
            self._live.stop()

    def advance(self, job: Job, fraction: float) -> None:
        """Note how far a running cell is."""
        with self._lock:
            self._running[job.cell.key] = job, fraction

    def finish(self, job: Job, record: Record) -> None:
        """Count a cell that has ended, and update the predicted times."""
        with self._lock:
            self._running.pop(job.cell.key, None)
            self._ended.add(job.cell.key)
            self._left[place(job.cell)] -= 1
            self._paces.note(job.cell, record)

    def seconds_left(self) -> float:
        """Return the estimated remaining seconds of the run."""
        with self._lock:
            left = [(self._typical[of], float(n)) for of, n in self._left.items() if n]
            left += [(job.cell, -fraction) for job, fraction in self._running.values()]
            seconds = (
                number * self._paces.seconds(cell) / self._side_by_side[cell.kind]
                for cell, number in left
            )
            return max(0.0, sum(seconds))

    def line(self, width: int | None) -> str:
        """Return the progress as a line, cut to a width if there is one."""
        ended = f"{len(self._ended):,} of {cells(self._cells)}"
        seconds = self.seconds_left()
        left = ""
        if self._ended and len(self._ended) < self._cells:
            left = f", about {duration(max(1.0, seconds))} left"
        if self._series is None:
            line = f"{ended}, {duration(self._clock() - self._begin)} so far{left}"
        else:
            line = f"{self._series.line(seconds)}; {ended}{left}; {self._series.name}"
        if running := self._current():
            line += f": {running}"
        return line if width is None or len(line) <= width else f"{line[: width - 1]}…"

    def _current(self) -> str:
        """Return what is running; empty if nothing is."""
        with self._lock:
            if not self._running:
                return ""
            latest, _ = next(reversed(self._running.values()))
            more = len(self._running) - 1
            return latest.description + (f" (+{more})" if more else "")

    def print_line(self) -> None:
        """Print the line with a timestamp, at most once per minute."""
        now = self._clock()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            stamp = f"{datetime.now():%Y-%m-%d %H:%M} "
            with suppress(OSError, ValueError):  # the reader of the pipe may be gone
                print(stamp + self.line(None), file=sys.stderr, flush=True)

    def _tick(self) -> None:
        while not self._stop.wait(_TICK_SECONDS):
            self.print_line()

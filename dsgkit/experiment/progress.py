"""Progress of a run with the remaining time: a live line on a terminal, else one per minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime

from rich import get_console
from rich.console import Console
from rich.live import Live
from rich.text import Text

from dsgkit.experiment.cell import Job
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.status import cells, duration
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import Paces

SECONDS_BETWEEN_LINES = 60.0
"""Used if the output is not a terminal."""


class RunProgress:
    """Shows how far a run is, what it computes, and about how much time is left.

    The time of the cells in ``left`` is predicted from those that have ``ended``, now or in an
    earlier run; ``side_by_side`` says how many searches and fits run at the same time.
    """

    def __init__(
        self,
        left: Iterable[Cell],
        ended: Iterable[tuple[Cell, Record]] = (),
        *,
        side_by_side: dict[str, int],
        timeout: float | None = None,
        shown: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paces = Paces(ended, timeout)
        self._left = {cell.key: cell for cell in left}
        self._number, self._side_by_side = len(self._left), side_by_side
        self._clock, self._begun = clock, clock()
        self._running: dict[str, tuple[Job, float, int]] = {}
        self._lock = threading.Lock()
        # that of `dsgkit.cli.run`, whose texts appear above the line
        console = get_console() if sys.stdout and sys.stdout.isatty() else Console(stderr=True)
        self._live = Live(
            get_renderable=lambda: Text(self.line(), no_wrap=True, overflow="ellipsis"),
            console=console,
            transient=True,
            refresh_per_second=2,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._on_terminal = shown and console.is_terminal
        self._stop = threading.Event()
        self._printer = threading.Thread(target=self._print_lines, daemon=True)
        self._prints_lines = shown and not console.is_terminal

    def __enter__(self) -> RunProgress:
        if self._on_terminal:
            self._live.start(refresh=True)
        if self._prints_lines:
            self._printer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with suppress(OSError):  # the terminal may be gone
            self._live.stop()

    def advance(self, job: Job, fraction: float, repeat: int = 0) -> None:
        """Note how far a running cell is, or which repeat of its fit is being timed."""
        with self._lock:
            self._running[job.cell.key] = job, fraction, repeat

    def finish(self, job: Job, record: Record) -> None:
        """Count a cell that has ended, and learn from its time."""
        with self._lock:
            self._running.pop(job.cell.key, None)
            self._left.pop(job.cell.key, None)
            self._paces.note(job.cell, record)

    def seconds_left(self) -> float:
        """Return the estimated remaining seconds of the run."""
        with self._lock:
            done = {key: fraction for key, (_, fraction, _) in self._running.items()}
            return sum(
                (1 - done.get(key, 0.0)) * self._paces.seconds(cell) / self._side_by_side[cell.kind]
                for key, cell in self._left.items()
            )

    def line(self) -> str:
        """Return the progress as a line."""
        ended = self._number - len(self._left)
        line = f"{ended:,} of {cells(self._number)}, {duration(self._clock() - self._begun)} so far"
        if 0 < ended < self._number:
            line += f", about {duration(max(1.0, self.seconds_left()))} left"
        with self._lock:
            if self._running:
                job, _, repeat = list(self._running.values())[-1]
                line += f": {f'repeat {repeat} of ' if repeat else ''}{job.description}"
                line += f" (+{len(self._running) - 1})" if len(self._running) > 1 else ""
        return line

    def _print_lines(self) -> None:
        while not self._stop.wait(SECONDS_BETWEEN_LINES):
            with suppress(OSError, ValueError):  # the reader of the pipe may be gone
                stamp = f"{datetime.now():%Y-%m-%d %H:%M} "
                print(stamp + self.line(), file=sys.stderr, flush=True)

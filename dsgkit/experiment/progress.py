"""Progress of a run with the remaining time: a live line on a terminal, else one per minute."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from time import monotonic

from rich import get_console
from rich.console import Console
from rich.live import Live
from rich.text import Text

from dsgkit.experiment.cell import Job
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.status import cells, duration
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import Paces

SECONDS_BETWEEN_LINES = 60.0  # if the output is not a terminal


class RunProgress:
    """Shows how far a run is, what it computes, and about how much time is left."""

    def __init__(
        self,
        left: Iterable[Cell],
        ended: Iterable[tuple[Cell, Record]] = (),
        *,
        side_by_side: dict[str, int],
        timeout: float | None = None,
    ) -> None:
        self._paces = Paces(timeout)
        for cell, record in ended:
            self._paces.note(cell, record)
        self._left = {cell.key: cell for cell in left}
        self._number, self._side_by_side, self._begun = len(self._left), side_by_side, monotonic()
        self._running: dict[str, tuple[Job, float, int]] = {}
        # the command prints tables on the same one, so that they appear above the line
        console = get_console() if sys.stdout and sys.stdout.isatty() else Console(stderr=True)
        self._live = Live(
            self,
            console=console,
            transient=True,
            refresh_per_second=2,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._stop = threading.Event()

    def __enter__(self) -> RunProgress:
        if self._live.console.is_terminal:
            self._live.start(refresh=True)
        else:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with suppress(OSError):  # the terminal may be gone
            self._live.stop()

    def advance(self, job: Job, fraction: float, repeat: int = 0) -> None:
        """Note how far a running cell is, or which repeat of its fit is being timed."""
        self._running[job.cell.key] = job, fraction, repeat

    def finish(self, job: Job, record: Record) -> None:
        self._running.pop(job.cell.key, None)
        self._left.pop(job.cell.key, None)
        self._paces.note(job.cell, record)

    def __rich__(self) -> Text:
        return Text(self.line(), no_wrap=True, overflow="ellipsis")

    def line(self) -> str:
        ended = self._number - len(self._left)
        line = f"{ended:,} of {cells(self._number)}, {duration(monotonic() - self._begun)} so far"
        running = self._running.copy()  # other threads change it meanwhile
        if 0 < ended < self._number:
            seconds = 0.0
            for key, cell in self._left.copy().items():
                part = 1 - running[key][1] if key in running else 1
                seconds += part * self._paces.seconds(cell) / self._side_by_side[cell.kind]
            line += f", about {duration(max(1.0, seconds))} left"
        if running:
            job, _, repeat = [*running.values()][-1]
            line += f": {f'repeat {repeat} of ' if repeat else ''}{job.description}"
            line += f" (+{len(running) - 1})" if len(running) > 1 else ""
        return line

    def _print_lines(self) -> None:
        while not self._stop.wait(SECONDS_BETWEEN_LINES):
            with suppress(OSError, ValueError):  # the reader of the pipe may be gone
                stamp = f"{datetime.now():%Y-%m-%d %H:%M} "
                print(stamp + self.line(), file=sys.stderr, flush=True)

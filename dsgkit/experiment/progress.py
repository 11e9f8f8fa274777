"""Progress of a run on a terminal, with the time that is left; silent anywhere else."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dsgkit.experiment.jobs import Job


class RunProgress:
    """A bar over the estimated work of the cells that are left.

    Parameters
    ----------
    work : float
        Total work, in the unit of ``Cell.flops``.
    cells : int
        Number of cells.
    shown : bool
        Whether to show anything at all; even then only on a terminal.
    """

    def __init__(self, work: float, cells: int, *, shown: bool) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.fields[finished]}/{task.fields[cells]} {task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )
        self._id = self._bar.add_task("starting", total=work, finished=0, cells=cells)
        self._finished = 0
        self._done = 0.0
        self._running: dict[str, tuple[Job, float]] = {}
        self._ended: set[str] = set()

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # the terminal may be gone
            self._bar.stop()

    def advance(self, job: Job, fraction: float) -> None:
        """Show a running cell, and how far it is; one that is measured again counts once."""
        if job.cell.key in self._ended:
            self._bar.update(self._id, description=f"again: {job.description}")
            return
        self._running[job.cell.key] = job, fraction
        self._show()

    def finish(self, job: Job) -> None:
        """Count a cell that has ended."""
        self._running.pop(job.cell.key, None)
        self._ended.add(job.cell.key)
        self._finished += 1
        self._done += job.cell.flops
        self._show()

    def _show(self) -> None:
        part = sum(fraction * job.cell.flops for job, fraction in self._running.values())
        self._bar.update(self._id, completed=self._done + part, finished=self._finished)
        if self._running:
            latest, _ = next(reversed(self._running.values()))
            more = f" (+{len(self._running) - 1})" if len(self._running) > 1 else ""
            self._bar.update(self._id, description=latest.description + more)

"""Progress of a run on a terminal, with the time that is left; silent anywhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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

from dsgkit.experiment.plan import Task
from dsgkit.progress import listening


class RunProgress:
    """A bar over the estimated work of the cells that are left.

    Parameters
    ----------
    work : float
        Total work, in the unit of ``Task.flops``.
    shown : bool
        Whether to show anything at all; even then only on a terminal.
    """

    def __init__(self, work: float, *, shown: bool) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )
        self._id = self._bar.add_task("starting", total=work)
        self._done = 0.0

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def describe(self, text: str) -> None:
        """Say what is being done."""
        self._bar.update(self._id, description=text)

    @contextlib.contextmanager
    def cell(self, task: Task) -> Iterator[None]:
        """Show the cell that runs in the block, and how far it is."""
        what = "search" if task.cell.kind == "search" else "fit"
        self.describe(
            f"{task.cell.solver} {what}, trial {task.cell.trial + 1}, "
            f"{task.cell.n_unlabeled:,} unlabelled"
        )
        with listening(lambda fraction: self._show(self._done + fraction * task.flops)):
            yield

    def finish(self, task: Task) -> None:
        """Count a finished cell."""
        self._done += task.flops
        self._show(self._done)

    def _show(self, done: float) -> None:
        self._bar.update(self._id, completed=done)

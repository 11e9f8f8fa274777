"""Progress of a run on a terminal, with the time that is left; silent anywhere else."""

from __future__ import annotations

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


class RunProgress:
    """A bar over the estimated work of the cells that are left.

    Parameters
    ----------
    work : float
        Total work, in any unit.
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
        self._task = self._bar.add_task("starting", total=work)

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

    def begin(self, description: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=description)

    def advance(self, work: float) -> None:
        """Count finished work."""
        self._bar.advance(self._task, work)

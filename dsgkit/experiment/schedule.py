"""Which cell may start next."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter

from dsgkit.experiment.plan import Cell


class Schedule:
    """The cells of a plan that are left, in an order: each after the searches that it needs.

    Trial by trial, so that the first results are whole ones; in a trial the searches first, which
    may run at the same time.

    Parameters
    ----------
    plan : sequence of Cell
        Entries with the same key are one cell.
    done : callable
        Tells whether the cell of a key has its result.
    """

    def __init__(self, plan: Sequence[Cell], done: Callable[[str], bool]) -> None:
        left = {cell.key: cell for cell in plan if not done(cell.key)}
        self._cells = sorted(left.values(), key=lambda cell: (cell.trial, cell.kind == "fit"))
        self._numbers = {cell.key: number for number, cell in enumerate(self._cells)}
        self._order = TopologicalSorter(
            {cell.key: left.keys() & set(cell.needs) for cell in self._cells}
        )
        self._order.prepare()
        self._ready: list[int] = []

    @property
    def cells(self) -> Sequence[Cell]:
        """All cells that were left at the start."""
        return self._cells

    def pop(self) -> Cell | None:
        """Take the first cell that can start; None if there is none at present."""
        for key in self._order.get_ready():
            heapq.heappush(self._ready, self._numbers[key])
        return self._cells[heapq.heappop(self._ready)] if self._ready else None

    def finish(self, key: str) -> None:
        """Note that a cell has ended: what only waited for it can start."""
        self._order.done(key)

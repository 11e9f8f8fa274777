"""Order in which cells start."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter

from dsgkit.experiment.plan import Cell


def _anywhere(_cell: Cell) -> bool:
    return True


class Schedule:
    """The remaining cells of a plan in order: each after the searches that it needs.

    Trials run one after the other; within a trial solvers with the least work come first, and fits
    come right after their search. So there are first results after seconds, and complete trials if
    the run is stopped.

    A timed fit waits until the running searches have ended. Meanwhile only short searches start, on
    cores that would be idle. Together they have at most the work of the longest search that was
    running when the fit began to wait, so the wait is bounded.

    Parameters
    ----------
    plan : sequence of Cell
        Entries with the same key are one cell.
    done : callable
        Returns whether the cell of a key has its result.
    """

    def __init__(self, plan: Sequence[Cell], done: Callable[[str], bool]) -> None:
        left = {cell.key: cell for cell in plan if not done(cell.key)}
        work: dict[tuple[int, str], float] = defaultdict(float)
        for cell in left.values():
            work[cell.trial, cell.solver] += cell.flops
        self._cells = sorted(
            left.values(), key=lambda cell: (cell.trial, work[cell.trial, cell.solver])
        )
        self._numbers = {cell.key: number for number, cell in enumerate(self._cells)}
        self._order = TopologicalSorter(
            {cell.key: left.keys() & set(cell.needs) for cell in self._cells}
        )
        self._order.prepare()
        self._ready: list[int] = []
        self._running: dict[str, Cell] = {}
        self._waiting = ""
        self._spare = 0.0

    @property
    def cells(self) -> Sequence[Cell]:
        """All cells that were left at the start."""
        return self._cells

    def pop(self, accepts: Callable[[Cell], bool] = _anywhere) -> Cell | None:
        """Take the next cell to start; None if there is none at present.

        Parameters
        ----------
        accepts : callable
            Returns whether a cell can start now, such as a fit if nothing else runs.
        """
        for key in self._order.get_ready():
            heapq.heappush(self._ready, self._numbers[key])
        if not self._ready:
            return None
        first = self._cells[self._ready[0]]
        if not accepts(first):
            return self._pop_meanwhile(first, accepts)
        return self._start(self._cells[heapq.heappop(self._ready)])

    def _pop_meanwhile(self, first: Cell, accepts: Callable[[Cell], bool]) -> Cell | None:
        """Take a short search while a fit, which is first, waits for others to end."""
        if first.kind == "search":
            return None
        if first.key != self._waiting:
            searches = (cell.flops for cell in self._running.values() if cell.kind == "search")
            self._waiting, self._spare = first.key, max(searches, default=0.0)
        number = min(filter(self._is_short, self._ready), default=None)
        if number is None or not accepts(self._cells[number]):
            return None
        self._ready.remove(number)
        heapq.heapify(self._ready)
        self._spare -= self._cells[number].flops
        return self._start(self._cells[number])

    def _is_short(self, number: int) -> bool:
        """Return whether a cell is a search, of known work, that may start before the fit."""
        cell = self._cells[number]
        return cell.kind == "search" and 0 < cell.flops <= self._spare

    def _start(self, cell: Cell) -> Cell:
        self._running[cell.key] = cell
        return cell

    def finish(self, key: str) -> None:
        """Note that a cell has ended, so that cells that waited for it can start."""
        self._running.pop(key, None)
        self._order.done(key)

"""Which cell may start next."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence

from dsgkit.experiment.plan import Task


class Schedule:
    """The cells of a plan that are left, in an order: a fit after the searches that it needs.

    Trial by trial, so that the first results are whole ones; in a trial the searches first, which
    may run at the same time.

    Parameters
    ----------
    plan : sequence of Task
        Entries with the same key are one cell.
    done : callable
        Tells whether the cell of a key has its result.
    """

    def __init__(self, plan: Sequence[Task], done: Callable[[str], bool]) -> None:
        left = {task.key: task for task in plan if not done(task.key)}
        self._tasks = sorted(left.values(), key=lambda t: (t.cell.trial, t.cell.kind == "fit"))
        self._missing = [set(task.needs) & left.keys() for task in self._tasks]
        self._waiting: dict[str, list[int]] = defaultdict(list)
        for number, missing in enumerate(self._missing):
            for key in missing:
                self._waiting[key].append(number)
        self._ready = [number for number, missing in enumerate(self._missing) if not missing]

    @property
    def tasks(self) -> Sequence[Task]:
        """All cells that were left at the start."""
        return self._tasks

    def pop(self) -> Task | None:
        """Take the first cell that can start; None if there is none at present."""
        return self._tasks[heapq.heappop(self._ready)] if self._ready else None

    def finish(self, key: str) -> None:
        """Note that a cell has ended: what only waited for it can start."""
        for number in self._waiting.pop(key, ()):
            self._missing[number].discard(key)
            if not self._missing[number]:
                heapq.heappush(self._ready, number)

"""Skips fits if one on as many or fewer rows has met the time limit."""

from __future__ import annotations

import math
from collections import defaultdict

from dsgkit.errors import FitError, TimeLimitError
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.records import Record
from dsgkit.tasks.base import At

NOT_BEGUN_PREFIX = "not begun: "


class OutlastedError(FitError):
    """A fit that is not begun.

    Parameters
    ----------
    timeout : float
        Time limit of the smaller fit in seconds; infinite if its solver's own limit ended it.
    """

    status = "timeout"

    def __init__(self, timeout: float) -> None:
        if math.isinf(timeout):
            self.status = TimeLimitError.status
            super().__init__(f"{NOT_BEGUN_PREFIX}a smaller fit met the solver's own time limit")
        else:
            self.timeout = timeout
            super().__init__(f"{NOT_BEGUN_PREFIX}a smaller fit was stopped after {timeout:g} s")


STOPPED_STATUSES = (OutlastedError.status, TimeLimitError.status)
"""Statuses of fits that a time limit ended."""


class Outlasted:
    """The sizes at which fits of a run were stopped.

    Fits of a solver that share their search and their trial have the same hyper-parameters: on more
    rows they take longer. Without this an exact method spends the limit at every size and trial.
    """

    def __init__(self) -> None:
        self._stopped: dict[tuple[str, int, tuple[str, ...]], list[tuple[At, float]]]
        self._stopped = defaultdict(list)

    def note(self, cell: Cell, record: Record) -> None:
        """Note a fit, if it was stopped."""
        if cell.kind == "fit" and record["status"] in STOPPED_STATUSES:
            own = record["status"] == TimeLimitError.status
            stopped = self._stopped[cell.solver, cell.trial, cell.needs]
            stopped.append((cell.at, math.inf if own else record.get("timeout", 0.0)))

    def limit(self, cell: Cell, limits: Limits) -> float | None:
        """Return the time limit that stopped a fit of no more rows; None if this one may begin."""
        if cell.kind == "search":
            return None
        for at, timeout in self._stopped.get((cell.solver, cell.trial, cell.needs), ()):
            larger = all(size >= at[axis] for axis, size in cell.at.items())
            if larger and (math.isinf(timeout) or (limits.timeout or math.inf) <= timeout):
                return timeout
        return None

    def check(self, cell: Cell, limits: Limits) -> None:
        """Raise `OutlastedError` for a fit that would meet the limit."""
        if (timeout := self.limit(cell, limits)) is not None:
            raise OutlastedError(timeout)

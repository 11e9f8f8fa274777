"""Forecast of the time of cells from those that have ended."""

from __future__ import annotations

import functools
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from dsgkit.experiment.selection import NOT_BEGUN_PREFIX, SEARCHING_PREFIX
from dsgkit.experiment.store import Record


class Planned(Protocol):
    """A cell, or its entry in a stored plan."""

    @property
    def kind(self) -> str:
        """``search`` or ``fit``."""

    @property
    def solver(self) -> str:
        """Key in the config."""

    @property
    def at(self) -> Mapping[str, int]:
        """Sizes used, by axis."""

    @property
    def flops(self) -> float:
        """Approximate number of operations."""


_PRODUCT_ROWS = 1024
_N_PRODUCTS = 5

Place = tuple[Any, ...]
"""The solver, the kind and the sizes of cells that take about as long as each other."""


def place(cell: Planned) -> Place:
    """Return the place of a cell."""
    return *_group(cell), *cell.at.items()


class Paces:
    """Seconds per estimated operation, by place and by solver.

    A cell has the pace of the cells of its solver that ended at the same size, in any way: memory
    and time limits depend on the size. Without such cells it has the pace of other sizes with a
    result, and without those the pace of a matrix product on this machine. It takes no longer than
    the time limit, or the longest limit that a cell has met.

    Parameters
    ----------
    ended : iterable of (Planned, Record)
        Cells that have ended.
    timeout : float or None
        Time limit of a cell, in seconds, where it is known.
    """

    def __init__(
        self, ended: Iterable[tuple[Planned, Record]] = (), timeout: float | None = None
    ) -> None:
        self._at_place: dict[Place, _Pace] = defaultdict(_Pace)
        self._of_solver: dict[Place, _Pace] = defaultdict(_Pace)
        self._longest = timeout or 0.0
        for cell, record in ended:
            self.note(cell, record)

    def note(self, cell: Planned, record: Record) -> None:
        """Learn from a cell that has ended."""
        seconds = _seconds_taken(record)
        self._at_place[place(cell)].add(seconds, cell.flops)
        if record["status"] == "ok":
            self._of_solver[_group(cell)].add(seconds, cell.flops)
        self._longest = max(self._longest, record.get("timeout", 0.0))

    def seconds(self, cell: Planned) -> float:
        """Return the expected seconds of a cell."""
        pace = self._at_place[place(cell)].value
        if pace is None:
            pace = self._of_solver[_group(cell)].value or 1 / product_speed()
        return min(cell.flops * pace, self._longest or math.inf)


class _Pace:
    """Seconds per operation of some cells; None before the first."""

    def __init__(self) -> None:
        self._seconds = self._flops = 0.0

    def add(self, seconds: float, flops: float) -> None:
        self._seconds += seconds
        self._flops += flops

    @property
    def value(self) -> float | None:
        return self._seconds / self._flops if self._flops else None


def _group(cell: Planned) -> tuple[str, str]:
    return cell.solver, cell.kind


def _seconds_taken(record: Record) -> float:
    """Return how long a cell ran: up to the time limit, if it was stopped."""
    if times := record.get("times"):
        return float(sum(times.values()))
    was_run = not (record.get("message") or "").startswith((NOT_BEGUN_PREFIX, SEARCHING_PREFIX))
    return float(record.get("timeout", 0.0)) if was_run else 0.0


@functools.cache
def product_speed() -> float:
    """Return the operations per second of processor time in a float32 matrix product.

    The fastest of a few products, since other processes only slow it down; measured once.
    """
    a = np.ones((_PRODUCT_ROWS, _PRODUCT_ROWS), np.float32)
    seconds = []
    for _ in range(_N_PRODUCTS):
        start = time.process_time()
        a @ a
        seconds.append(time.process_time() - start)
    return 2 * _PRODUCT_ROWS**3 / max(min(seconds), 1e-6)

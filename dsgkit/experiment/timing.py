"""Repeated timing of one fit, and whether other processes disturbed it.

Fits with the same parameters, rows and seed do the same work, so only the machine makes their times
differ: the median over repeats is reported, and their range shows how reliable it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from dsgkit.experiment.measure import Clock
from dsgkit.tasks.base import Clock as PhaseClock

if TYPE_CHECKING:
    from dsgkit.experiment.plan import Cell
    from dsgkit.experiment.records import Records

MIN_REPEATS = 3
MIN_SECONDS = 1.0
"""A fit is timed at least this often, and at least this long in total."""

LONG_FIT = 10.0
"""Seconds above which a fit is timed once: short disturbances do not matter in it."""

SHORTEST_MEASUREMENT = 0.05
"""Seconds of a measurement: shorter fits are repeated within it and averaged. It must exceed the
scheduler's time slices of a few milliseconds."""

DISTURBED_RATIO = 1.5
"""A fit is disturbed if its wall time exceeds its busiest thread's by more than this factor."""

NOISE_SECONDS = 0.001
"""Seconds of waiting in a measurement that do not count: starting threads takes as long."""

Record = dict[str, Any]
Fit = Callable[[PhaseClock], object]


def repeated(seconds: float) -> float:
    """Return the total seconds of all repeats of a fit that takes ``seconds``."""
    if seconds > LONG_FIT:
        return seconds
    return max(MIN_REPEATS * seconds, MIN_SECONDS)


class Timing:
    """Times of equal fits.

    Parameters
    ----------
    threads : int
        Threads of each fit. On one thread, its time is the processor time, else the wall time.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._load = os.getloadavg()[0]
        self._measured: list[tuple[Clock, int]] = []
        self._seconds = 0.0

    def first(self, fit: Fit, cell: Clock) -> None:
        """Time the fit that is evaluated; its phases are also added to its cell's clock."""
        clock = Clock()
        begun = time.perf_counter()
        try:
            fit(clock)
        finally:
            cell.add(clock)
        self._keep(clock, 1, time.perf_counter() - begun)

    def repeat(self, fit: Fit) -> None:
        """Time equal fits until there are enough repeats and seconds.

        The seconds include everything around the phases, so that repeating a short phase after a
        long preparation does not take forever.
        """
        if self._seconds > LONG_FIT:
            return
        while len(self._measured) < MIN_REPEATS or self._seconds < MIN_SECONDS:
            clock, fits, begun = Clock(), 0, time.perf_counter()
            while not fits or time.perf_counter() - begun < SHORTEST_MEASUREMENT:
                fit(clock)
                fits += 1
            self._keep(clock, fits, time.perf_counter() - begun)

    def _keep(self, clock: Clock, fits: int, seconds: float) -> None:
        self._measured.append((clock, fits))
        self._seconds += seconds

    @property
    def record(self) -> Record:
        """Entries for the cell's record: ``times``, ``timing`` and ``measurements``."""
        wall, processor, busiest = (
            self._each(lambda clock: clock.wall),
            self._each(lambda clock: clock.processor),
            self._each(lambda clock: clock.busiest),
        )
        shown = processor if self._threads == 1 else wall
        timing = {
            "range": {name: [min(values), max(values)] for name, values in shown.items()},
            "threads": self._threads,
            "slowdown": round(self._slowdown, 3),
            "disturbed": self._disturbed,
        }
        measurements = {"wall": wall, "processor": processor, "busiest": busiest}
        return {
            "times": {name: round(median(values), 6) for name, values in shown.items()},
            "timing": timing,
            "measurements": measurements | {"load": self._load},
        }

    def _each(self, seconds: Callable[[Clock], Mapping[str, float]]) -> dict[str, list[float]]:
        """Return the seconds per fit of each phase in every measurement."""
        names = dict.fromkeys(name for clock, _ in self._measured for name in seconds(clock))
        return {
            name: [round(seconds(c).get(name, 0.0) / fits, 6) for c, fits in self._measured]
            for name in names
        }

    @property
    def _totals(self) -> list[tuple[float, float]]:
        """Wall time and time of the busiest thread, summed over phases, of every measurement."""
        return [(sum(c.wall.values()), sum(c.busiest.values())) for c, _ in self._measured]

    @property
    def _slowdown(self) -> float:
        """Wall time over the busiest thread's time; at most a million."""
        return median(min(wall / max(busy, 1e-9), 1e6) for wall, busy in self._totals)

    @property
    def _disturbed(self) -> bool:
        return median(wall - DISTURBED_RATIO * busy for wall, busy in self._totals) > NOISE_SECONDS


def is_disturbed(record: Mapping[str, Any]) -> bool:
    """Return whether other processes have disturbed the times of a fit.

    Fits on one thread never count: their time is processor time, which hardly changes.
    """
    timing = record.get("timing") or {"disturbed": False}
    return bool(timing["disturbed"]) and timing["threads"] > 1


def is_less_disturbed(record: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Return whether a repeated measurement of a fit was less disturbed than the one before."""
    if record["status"] != "ok" or "timing" not in record:
        return False
    return bool(record["timing"]["slowdown"] < than["timing"]["slowdown"])


def timed_otherwise(plan: Iterable[Cell], records: Records, threads: int) -> set[str]:
    """Return the keys of fits that were timed on another number of threads."""
    fits = {cell.key for cell in plan if cell.kind == "fit"}
    timings = {key: records.entry(key, "timing") for key in fits if key in records}
    return {key for key, timing in timings.items() if (timing or {}).get("threads") != threads}

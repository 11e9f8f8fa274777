"""Repeated timing of one fit, and whether other processes disturbed it.

Fits with the same parameters, rows and seed do the same work, so their times differ by the machine
alone: the median over repeats is reported, and the range says how far to trust it.
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
"""A fit is timed so often, and for so long in all."""

LONG_FIT = 10.0
"""A fit of more seconds is timed once: what disturbs for a moment has no weight in it."""

SHORTEST_MEASUREMENT = 0.05
"""Shorter fits are timed several in a row: a measurement is then the mean of these. It outlasts the
slices of a few milliseconds that a system gives to processes in turn."""

DISTURBED_RATIO = 1.5
"""A fit is disturbed if its wall time is more than so many times that of its busiest thread."""

NOISE_SECONDS = 0.001
"""Seconds of waiting in a measurement that are no disturbance: starting threads takes as long."""

Record = dict[str, Any]
Fit = Callable[[PhaseClock], object]


def repeated(seconds: float) -> float:
    """Return the seconds that all fits take together, of which one takes some seconds."""
    if seconds > LONG_FIT:
        return seconds
    return max(MIN_REPEATS * seconds, MIN_SECONDS)


class Timing:
    """Times of equal fits.

    Parameters
    ----------
    threads : int
        Threads of each fit. Of a fit on one thread the time is the processor time, of others the
        wall time.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._load = os.getloadavg()[0]
        self._measured: list[tuple[Clock, int]] = []
        self._seconds = 0.0

    def first(self, fit: Fit, cell: Clock) -> None:
        """Time the fit that is judged; its phases are added to the clock of its cell, too."""
        clock = Clock()
        begun = time.perf_counter()
        try:
            fit(clock)
        finally:
            cell.add(clock)
        self._keep(clock, 1, time.perf_counter() - begun)

    def repeat(self, fit: Fit) -> None:
        """Time equal fits, as many as it takes.

        What counts is the time with everything around the phases, so that a repeat of a short phase
        after a long preparation does not take for ever.
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
        """Return the seconds of each phase in every measurement, of one fit."""
        names = dict.fromkeys(name for clock, _ in self._measured for name in seconds(clock))
        return {
            name: [round(seconds(c).get(name, 0.0) / fits, 6) for c, fits in self._measured]
            for name in names
        }

    @property
    def _totals(self) -> list[tuple[float, float]]:
        """Wall time and that of the busiest thread, of all phases of every measurement."""
        return [(sum(c.wall.values()), sum(c.busiest.values())) for c, _ in self._measured]

    @property
    def _slowdown(self) -> float:
        """How many times as long as its busiest thread a fit takes; at most a million."""
        return median(min(wall / max(busy, 1e-9), 1e6) for wall, busy in self._totals)

    @property
    def _disturbed(self) -> bool:
        return median(wall - DISTURBED_RATIO * busy for wall, busy in self._totals) > NOISE_SECONDS


def is_disturbed(record: Mapping[str, Any]) -> bool:
    """Return whether other processes are part of a fit's time.

    They hardly change processor time, which is the time of a fit on one thread.
    """
    timing = record.get("timing") or {"disturbed": False}
    return bool(timing["disturbed"]) and timing["threads"] > 1


def is_less_disturbed(record: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Return whether a fit that was measured again was less disturbed than before."""
    if record["status"] != "ok" or "timing" not in record:
        return False
    return bool(record["timing"]["slowdown"] < than["timing"]["slowdown"])


def timed_otherwise(plan: Iterable[Cell], records: Records, threads: int) -> set[str]:
    """Return the keys of fits whose times are not of so many threads: rivals are timed alike."""
    fits = {cell.key for cell in plan if cell.kind == "fit"}
    timings = {key: records.entry(key, "timing") for key in fits if key in records}
    return {key for key, timing in timings.items() if (timing or {}).get("threads") != threads}

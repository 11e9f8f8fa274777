"""Clocks and peak memory of a cell, repeated timing of its fit, and the time that cells take."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsgkit.experiment.plan import Cell

MIN_REPEATS, MIN_SECONDS = 3, 1.0  # a fit is timed at least this often, and this long in all
LONG_FIT = 10.0  # seconds above which it is timed once: short disturbances do not matter
SHORTEST_MEASUREMENT = 0.05  # seconds: shorter fits are averaged, as time slices are so long

NOISE_SECONDS = 0.001  # of waiting, for threads to start
DISTURBED_RATIO = 1.5  # of a disturbed fit's wall time, without noise, to its busiest thread's time
MACHINE_FLOPS = 1e11  # per second where no cell has ended: the median of `results/reference`


class Clock:
    """Seconds by phase: wall time, processor time of all threads, and of the busiest one."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.busiest: dict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        threads, processor, wall = _thread_seconds(), time.process_time(), time.perf_counter()
        try:
            yield
        finally:
            self.wall[name] += time.perf_counter() - wall
            self.processor[name] += time.process_time() - processor
            spent = (s - threads.get(thread, 0.0) for thread, s in _thread_seconds().items())
            self.busiest[name] += max(spent)


def _thread_seconds() -> dict[int, float]:
    """Return the processor seconds of each thread of this process."""
    seconds = {}
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError, IndexError, ValueError):  # the thread has ended
            seconds[int(task.name)] = int((task / "schedstat").read_bytes().split()[0]) / 1e9
    seconds[threading.get_native_id()] = time.thread_time()  # up to now, not to the last tick
    return seconds


def repeated(
    fit: Callable[[Clock], object], first: Clock, told: Callable[[int], object] = lambda _: None
) -> list[tuple[Clock, int]]:
    """Repeat a fit until there are enough measurements: clocks, each of a number of equal fits.

    The ``first`` one has been made; ``told`` is called with the number of measurements so far.
    """
    measured = [(first, 1)]
    last = total = sum(first.wall.values())
    with suppress(BaseException):  # an error ends the repeating: the first fit counts
        while last <= LONG_FIT and (len(measured) < MIN_REPEATS or total < MIN_SECONDS):
            told(len(measured))
            clock, fits, begun = Clock(), 0, time.perf_counter()
            while not fits or time.perf_counter() - begun < SHORTEST_MEASUREMENT:
                fit(clock)
                fits += 1
            measured.append((clock, fits))
            last = time.perf_counter() - begun  # with what is around the phases: it may be long
            total += last
    return measured


def timing_record(measured: Sequence[tuple[Clock, int]], threads: int) -> dict[str, Any]:
    """Return a record's entries on times: processor time on one thread, else wall time."""
    each = {
        kind: {
            name: [round(vars(clock)[kind].get(name, 0.0) / fits, 6) for clock, fits in measured]
            for name in measured[0][0].wall
        }
        for kind in ("wall", "processor", "busiest")
    }
    shown = each["processor" if threads == 1 else "wall"]
    totals = [(sum(c.wall.values()), sum(c.busiest.values())) for c, _ in measured]
    waited = median(wall - DISTURBED_RATIO * busy for wall, busy in totals)
    slowdown = median(min(wall / max(busy, 1e-9), 1e6) for wall, busy in totals)
    return {
        "times": {name: round(median(values), 6) for name, values in shown.items()},
        "timing": {
            "range": {name: [min(values), max(values)] for name, values in shown.items()},
            "threads": threads,
            "slowdown": round(slowdown, 3),
            "disturbed": waited > NOISE_SECONDS,
        },
        "measurements": {**each, "load": os.getloadavg()[0]},
    }


@dataclass
class Paces:
    """Expected seconds of cells, by their solver's pace so far and up to the time limit."""

    timeout: float | None = None
    sums: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def note(self, cell: Cell, record: Mapping[str, Any]) -> None:
        if record["status"] == "ok":
            seconds, flops = self.sums.get((cell.solver, cell.kind), (0.0, 0.0))
            seconds += sum(record.get("times", {}).values())
            self.sums[cell.solver, cell.kind] = seconds, flops + cell.flops

    def seconds(self, cell: Cell, *, once: bool = False) -> float:
        """Return the expected seconds of a cell; ``once`` says that fits are not repeated."""
        seconds, flops = self.sums.get((cell.solver, cell.kind), (0.0, 0.0))
        expected = cell.flops * seconds / flops if flops else cell.flops / MACHINE_FLOPS
        if not flops and cell.kind == "fit" and not once:
            training = (cell.flops - cell.judging) / MACHINE_FLOPS
            if training <= LONG_FIT:
                expected += max(MIN_REPEATS * training, MIN_SECONDS) - training
        return min(expected, self.timeout or math.inf)


def reset_peak_memory() -> None:
    """Start a new measurement of this process's peak memory, where the system supports it."""
    gc.collect()  # and return what the allocator holds: it would count as used
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):  # then `peak_memory` is the peak since the process started
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Return the peak resident bytes of this process since the last reset."""
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(peak[1]) if peak else 0

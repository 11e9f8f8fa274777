"""Clocks and memory gauges of a cell."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_PRODUCT_ROWS = 1024
_N_PRODUCTS = 5

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_TASKS = Path("/proc/self/task")


class Clock:
    """Seconds of the named phases of a cell.

    Attributes
    ----------
    wall : dict
        Wall time.
    processor : dict
        Processor time of all threads of the process.
    busiest : dict
        Processor time of the busiest thread: wall time cannot be shorter.
    """

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.busiest: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent in the ``with`` block to a phase."""
        threads = _thread_seconds()
        processor, wall = time.process_time(), time.perf_counter()
        try:
            yield
        finally:
            wall = time.perf_counter() - wall
            processor = time.process_time() - processor
            spent = (s - threads.get(thread, 0.0) for thread, s in _thread_seconds().items())
            self._add(name, wall, processor, max(spent))

    def _add(self, name: str, wall: float, processor: float, busiest: float) -> None:
        self.wall[name] = self.wall.get(name, 0.0) + wall
        self.processor[name] = self.processor.get(name, 0.0) + processor
        self.busiest[name] = self.busiest.get(name, 0.0) + busiest

    def add(self, other: Clock) -> None:
        """Add the phases of another clock."""
        for name in other.wall:
            self._add(name, other.wall[name], other.processor[name], other.busiest[name])


def _thread_seconds() -> dict[int, float]:
    """Return the processor seconds of each thread; without Linux's /proc, of this one only."""
    seconds = {threading.get_native_id(): time.thread_time()}
    with contextlib.suppress(OSError):
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError, ValueError):  # the thread has ended
                nanoseconds = (task / "schedstat").read_bytes().split(maxsplit=1)[0]
                seconds.setdefault(int(task.name), int(nanoseconds) / 1e9)
    return seconds


def reset_peak_memory() -> None:
    """Start a new measurement of this process's peak memory, where the system supports it.

    Freed memory that the allocator holds is returned first: it would count as used.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):  # then `peak_memory` is the peak since the process started
        _CLEAR.write_text("5")


def peak_memory() -> int:
    """Return the peak resident memory in bytes since the last reset (of the whole process)."""
    try:
        line = next(s for s in _STATUS.read_text().splitlines() if s.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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

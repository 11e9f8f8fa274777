"""Clocks and memory gauges of a cell."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import time
from collections.abc import Iterator
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class Clock:
    """Wall-clock seconds of the named phases of a cell."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent in the ``with`` block to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def reset_peak_memory() -> None:
    """Start a new measurement of this process's peak memory, where the system can.

    Memory that was freed but is still held is given back first: it would count as used.
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

"""Memory available to a computation, and the size of a core's cache."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_USUAL_CACHE = 2**20
_MEMORY_SHARE = 0.8

_processes = 1
_most = math.inf


def constrain_memory(processes: int, most: int | None) -> None:
    """Let this process use a part of the available memory, up to a limit in bytes.

    ``processes`` is the number of processes that compute at the same time.
    """
    global _processes, _most
    _processes = processes
    _most = math.inf if most is None else most


def memory_limit() -> int:
    """Return the bytes that one computation may take: 80% of what is available now, or less."""
    available = min(psutil.virtual_memory().available, _cgroup_available())
    return int(min(_MEMORY_SHARE * available / _processes, _most))


def _cgroup_available() -> float:
    """Return the free bytes of this process's control group (container); infinity if unlimited."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        return float("inf") if limit == "max" else max(0, int(limit) - used)
    except (OSError, ValueError):
        return float("inf")


@functools.cache
def cache_size() -> int:
    """Return the bytes of a core's second-level cache; 1 MiB if unknown."""
    try:
        return 1024 * int(_CACHE.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        return _USUAL_CACHE

"""How much memory a computation may take."""

from __future__ import annotations

from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_SHARE = 0.8

_processes = 1


def share_memory(processes: int) -> None:
    """Let this process count on its part only, as one of several that compute at the same time."""
    global _processes
    _processes = processes


def memory_limit() -> int:
    """Return the bytes that one computation may take: 80% of what is available now."""
    available = min(psutil.virtual_memory().available, _cgroup_available())
    return int(_SHARE * available / _processes)


def _cgroup_available() -> float:
    """Return what this process's control group (a container) has left; infinity without a limit."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        return float("inf") if limit == "max" else max(0, int(limit) - used)
    except (OSError, ValueError):
        return float("inf")

"""What one cell may take, and whether a cell that met a limit before may go further now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsgkit.memory import memory_limit

FAILURES = ("failed", "crashed")
"""Statuses of cells that went wrong: an exception, or a worker process that died."""

MET = ("needed", "limit", "timeout")
"""What records tell of a limit that was met: bytes, bytes and seconds."""


def status_words(status: str) -> str:
    """Return a status as it is printed."""
    return status.replace("_", " ")


@dataclass(frozen=True)
class Limits:
    """Limits of one cell.

    Attributes
    ----------
    timeout : float or None
        Seconds, from when its data are loaded and its solver is compiled.
    memory : int or None
        Bytes of the worker process, those that it shares included, without pages of mapped files.
    """

    timeout: float | None = None
    memory: int | None = None

    def settle(self, ended: dict[str, Any]) -> bool:
        """Whether a cell that ended without failure would end in the same way under these limits.

        Parameters
        ----------
        ended : dict
            ``status`` of its record, with ``timeout``, ``needed`` and ``limit`` where it met one.
        """
        if ended["status"] == "timeout":
            return self.timeout is not None and self.timeout <= ended.get("timeout", 0)
        if ended["status"] != "out_of_memory":
            return True
        if ended.get("needed") is not None:
            return bool(ended["needed"] > min(memory_limit(), self.memory or float("inf")))
        if ended.get("limit") is not None:
            return self.memory is not None and self.memory <= ended["limit"]
        return False

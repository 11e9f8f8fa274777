"""Limits of a cell, and whether they still hold for a cell that met a limit before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsgkit.system.memory import memory_limit

LIMIT_ENTRIES = ("needed", "limit", "timeout")
"""Entries of records about a limit that was met: bytes, bytes and seconds."""


@dataclass(frozen=True)
class Limits:
    """Limits of one cell.

    Attributes
    ----------
    timeout : float or None
        Seconds, from when its data are loaded and its solver is compiled.
    memory : int or None
        Bytes of the worker process, with shared memory, without pages of mapped files.
    """

    timeout: float | None = None
    memory: int | None = None

    def settle(self, ended: dict[str, Any]) -> bool:
        """Return whether a cell that did not fail would end in the same way under these limits.

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

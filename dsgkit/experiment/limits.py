"""Limits of a cell, and whether they still hold for a cell that met a limit before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsgkit.errors import MemoryLimitError
from dsgkit.system.memory import memory_limit

FAILURES = ("failed", "crashed")
"""Statuses of cells that went wrong: an exception, or a worker process that died."""

REFUSED = "refused"
"""Ending of a cell that was not begun: it needs more memory than there is."""

LEFT_OUT = "left_out"
"""Status of a point of a sweep that has no cell: the config leaves it out (``at_most``)."""

TOO_LARGE = "too_large"
"""Kind of a plan's entry for sizes of the sweep that exceed the data."""

LIMIT_ENTRIES = ("needed", "limit", "timeout")
"""Entries of records about a limit that was met: bytes, bytes and seconds."""


def status_words(status: str) -> str:
    """Return a status as printed text."""
    return status.replace("_", " ")


def ending(record: Mapping[str, Any]) -> str:
    """Return the status of a record, or `REFUSED` if it was refused for its predicted memory."""
    refused = record["status"] == MemoryLimitError.status and record.get("needed") is not None
    return REFUSED if refused else str(record["status"])


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

"""How the cells of an experiment ended: counts, and those without a value by their cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dsgkit.experiment.endings import cause
from dsgkit.experiment.limits import FAILURES, status_words
from dsgkit.experiment.results import Results
from dsgkit.experiment.store import Record
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.numbers import counted, ranges
from dsgkit.report.summary import Summary


@dataclass(frozen=True)
class Counts:
    """How many cells there are, and how they ended.

    Attributes
    ----------
    planned : int
        Cells of the plan; those recorded where no plan is stored.
    statuses : Counter
        Recorded cells by their status.
    missing : int
        Experiments that were not run at all.
    """

    planned: int
    statuses: Counter[str]
    missing: int = 0

    @property
    def finished(self) -> int:
        """Cells with a value."""
        return self.statuses["ok"]

    @property
    def failed(self) -> int:
        """Cells that went wrong."""
        return sum(self.statuses[status] for status in FAILURES)

    @property
    def limited(self) -> int:
        """Cells that ended at a limit, or without a solution."""
        return self.statuses.total() - self.finished - self.failed

    @property
    def left(self) -> int:
        """Cells without a record."""
        return self.planned - self.statuses.total()

    @property
    def sentence(self) -> str:
        """All of it in words."""
        missing = f" {counted(self.missing, 'experiment')} not run." if self.missing else ""
        return self._cells + missing

    @property
    def _cells(self) -> str:
        if not self.planned:
            return "No cell is recorded yet."
        if self.finished == self.planned:
            return f"All {self.planned:,} cells finished."
        parts = [f"{self.finished:,} of {self.planned:,} cells finished"]
        parts += [
            f"{count:,} {status_words(status)}"
            for status, count in sorted(self.statuses.items())
            if status != "ok"
        ]
        if self.left:
            parts.append(f"{self.left:,} not run yet")
        return f"{', '.join(parts)}."


@dataclass(frozen=True)
class Cause:
    """Cells that ended without a value for the same reason.

    Attributes
    ----------
    status : str
        In words.
    message : str
        Of the first cell.
    varies : bool
        Whether the numbers in it differ from cell to cell.
    count : int
        Number of cells.
    solvers : str
    cells : Layout
        Which they are.
    traceback : str
        Of the first cell, empty if there is none.
    """

    status: str
    message: str
    varies: bool
    count: int
    solvers: str
    cells: Layout
    traceback: str


def count_cells(results: Results) -> Counts:
    """Return how many cells were planned, and how they ended."""
    statuses = Counter(record["status"] for record in results.records)
    planned = len(results.records) if results.planned is None else results.planned
    return Counts(planned, statuses)


def total_counts(counts: Iterable[Counts], missing: int) -> Counts:
    """Return the sum of the counts of several experiments, of which some were not run."""
    counts = list(counts)
    statuses = sum((one.statuses for one in counts), Counter[str]())
    return Counts(sum(one.planned for one in counts), statuses, missing)


def failures(summary: Summary) -> list[Cause]:
    """Return the causes of the cells that went wrong, the most frequent first."""
    return _causes(summary, lambda status: status in FAILURES)


def limits(summary: Summary) -> list[Cause]:
    """Return the causes of the cells that met a limit or have no solution, likewise."""
    return _causes(summary, lambda status: status not in ("ok", *FAILURES))


def _causes(summary: Summary, wanted: Callable[[str], bool]) -> list[Cause]:
    groups: dict[Any, list[Record]] = {}
    for record in summary.results.records:
        if wanted(record["status"]):
            groups.setdefault(cause(record), []).append(record)
    # sorted() keeps the order of the plan among causes of the same size
    groups_by_size = sorted(groups.values(), key=len, reverse=True)
    return [_cause(summary, group) for group in groups_by_size]


def _cause(summary: Summary, records: Sequence[Record]) -> Cause:
    first = records[0]
    return Cause(
        status=status_words(first["status"]),
        message=first.get("message") or "",
        varies=len({record.get("message") for record in records}) > 1,
        count=len(records),
        solvers=", ".join(dict.fromkeys(_name(summary, record) for record in records)),
        cells=_which(summary, records),
        traceback=first.get("traceback") or "",
    )


def _which(summary: Summary, records: Sequence[Record]) -> Layout:
    """Return the table of the cells of a cause; with their messages where these differ."""
    axis = summary.axis
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        size = 0 if axis is None else record["at"][axis.name]
        groups.setdefault((_name(summary, record), record["kind"], size), []).append(record)
    differ = len({record.get("message") for record in records}) > 1
    rows = [
        [
            Cell(name),
            Cell(kind),
            *([] if axis is None else [Cell(f"{n:,}", value=n)]),
            Cell(ranges(record["trial"] + 1 for record in group)),
            Cell(f"{len(group):,}", value=len(group)),
            *([Cell(_one_message(group))] if differ else []),
        ]
        for (name, kind, n), group in groups.items()
    ]
    sizes = [] if axis is None else [axis.title]
    header = ["Solver", "Cell", *sizes, "Trials", "Cells", *(["Message"] if differ else [])]
    return Layout("", header, rows)


def _one_message(records: Sequence[Record]) -> str:
    """Return the message of the first record, saying so if others differ."""
    messages = list(dict.fromkeys(record.get("message") or "" for record in records))
    return messages[0] + (f" (and {len(messages) - 1} like it)" if len(messages) > 1 else "")


def _name(summary: Summary, record: Record) -> str:
    return summary.names.get(record["solver"]) or record.get("label") or str(record["solver"])

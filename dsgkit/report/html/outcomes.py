"""How the cells of an experiment ended: counts, and those without a value by their cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dsgkit.experiment.endings import cause
from dsgkit.experiment.limits import FAILURES, status_words
from dsgkit.experiment.results import Results
from dsgkit.experiment.store import Record
from dsgkit.report.layout import Cell, Layout


@dataclass(frozen=True)
class Counts:
    """How many cells there are, and how they ended.

    Attributes
    ----------
    planned : int
        Cells of the plan; those recorded where no plan is stored.
    statuses : Counter
        Recorded cells by their status.
    """

    planned: int
    statuses: Counter[str]

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


def total_counts(counts: Iterable[Counts]) -> Counts:
    """Return the sum of the counts of several experiments."""
    counts = list(counts)
    statuses = sum((one.statuses for one in counts), Counter[str]())
    return Counts(sum(one.planned for one in counts), statuses)


def failures(results: Results) -> list[Cause]:
    """Return the causes of the cells that went wrong, the most frequent first."""
    return _causes(record for record in results.records if record["status"] in FAILURES)


def limits(results: Results) -> list[Cause]:
    """Return the causes of the cells that met a limit or have no solution, likewise."""
    passed = ("ok", *FAILURES)
    return _causes(record for record in results.records if record["status"] not in passed)


def _causes(records: Iterable[Record]) -> list[Cause]:
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(cause(record), []).append(record)
    # sorted() keeps the order of the plan among causes of the same size
    return [_cause(group) for group in sorted(groups.values(), key=len, reverse=True)]


def _cause(records: Sequence[Record]) -> Cause:
    first = records[0]
    return Cause(
        status=status_words(first["status"]),
        message=first.get("message") or "",
        varies=_differ(records),
        count=len(records),
        solvers=", ".join(dict.fromkeys(_label(record) for record in records)),
        cells=_which(records),
        traceback=first.get("traceback") or "",
    )


def _which(records: Sequence[Record]) -> Layout:
    """Return the table of the cells of a cause; with their messages where these differ."""
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        key = (_label(record), record["kind"], record["n_unlabeled"])
        groups.setdefault(key, []).append(record)
    differ = _differ(records)
    rows = [
        [
            Cell(label),
            Cell(kind),
            Cell(f"{n:,}", value=n),
            Cell(_ranges(record["trial"] + 1 for record in group)),
            Cell(f"{len(group):,}", value=len(group)),
            *([Cell(_one_message(group))] if differ else []),
        ]
        for (label, kind, n), group in groups.items()
    ]
    header = ["Solver", "Cell", "Unlabelled rows", "Trials", "Cells"]
    return Layout("", [*header, *(["Message"] if differ else [])], rows)


def _differ(records: Sequence[Record]) -> bool:
    """Tell whether messages differ."""
    return len({record.get("message") for record in records}) > 1


def _one_message(records: Sequence[Record]) -> str:
    """Return the message of the first record, saying so if others differ."""
    messages = list(dict.fromkeys(record.get("message") or "" for record in records))
    return messages[0] + (f" (and {len(messages) - 1} like it)" if len(messages) > 1 else "")


def _label(record: Record) -> str:
    return record.get("label") or record["solver"]


def _ranges(numbers: Iterable[int]) -> str:
    """Return whole numbers in short: ``1–3, 5``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)

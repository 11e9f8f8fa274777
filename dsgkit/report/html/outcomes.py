"""Outcomes of an experiment's cells: counts, and causes of missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dsgkit.experiment.results import Results
from dsgkit.experiment.status import FAILURES, by_cause, ending, status_words
from dsgkit.experiment.store import Record
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.numbers import counted, ranges
from dsgkit.report.old_names import grouped
from dsgkit.report.summary import Summary


@dataclass(frozen=True)
class Counts:
    """Numbers of cells by outcome.

    Attributes
    ----------
    planned : int
        Planned cells; recorded cells if no plan is stored.
    statuses : Counter
        Recorded cells by their status.
    missing : int
        Number of experiments that were not run.
    """

    planned: int
    statuses: Counter[str]
    missing: int = 0

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of cells by outcome; "Limits met" includes problems without a solution."""
        finished, recorded = self.statuses["ok"], self.statuses.total()
        failed = sum(self.statuses[status] for status in FAILURES)
        return {
            "Planned": self.planned,
            "Finished": finished,
            "Limits met": recorded - finished - failed,
            "Failed": failed,
            "Not run": self.planned - recorded,
        }

    @property
    def sentence(self) -> str:
        """The counts as a sentence."""
        missing = f" {counted(self.missing, 'experiment')} not run." if self.missing else ""
        finished, left = self.numbers["Finished"], self.numbers["Not run"]
        if not self.planned:
            return f"No cell is recorded yet.{missing}"
        if finished == self.planned:
            return f"All {self.planned:,} cells finished.{missing}"
        ended = sorted((status, n) for status, n in self.statuses.items() if status != "ok")
        parts = [f"{n:,} {status_words(status)}" for status, n in ended]
        parts += [f"{left:,} not run yet"] if left else []
        return (
            f"{', '.join([f'{finished:,} of {self.planned:,} cells finished', *parts])}.{missing}"
        )


def count_cells(results: Results) -> Counts:
    """Return the numbers of planned cells and of outcomes."""
    statuses = Counter(map(ending, results.records))
    planned = results.records if results.plan is None else results.plan.cells
    return Counts(len(planned), statuses)


def total_counts(counts: Iterable[Counts], missing: int) -> Counts:
    """Return the sum of the counts of several experiments; ``missing`` were not run."""
    counts = list(counts)
    statuses = sum((one.statuses for one in counts), Counter[str]())
    return Counts(sum(one.planned for one in counts), statuses, missing)


class Cause(NamedTuple):
    """Cells that ended without a value for the same reason.

    The message and the traceback are those of the first cell; ``varies`` says that the numbers in
    the message differ among cells. ``cells`` lists the cells, ``solvers`` their solvers.
    """

    status: str
    message: str
    varies: bool
    number: int
    solvers: str
    cells: Layout
    traceback: str


def failures(summary: Summary) -> list[Cause]:
    """Return the causes of failed cells, the most frequent first."""
    return _causes(summary, lambda status: status in FAILURES)


def limits(summary: Summary) -> list[Cause]:
    """Return the causes of cells that met a limit or have no solution, likewise."""
    return _causes(summary, lambda status: status not in ("ok", *FAILURES))


def _causes(summary: Summary, wanted: Callable[[str], bool]) -> list[Cause]:
    ended = (record for record in summary.results.records if wanted(record["status"]))
    return [_cause(summary, group) for group in by_cause(ended)]


def _cause(summary: Summary, records: Sequence[Record]) -> Cause:
    first = records[0]
    names = dict.fromkeys(summary.name_of(record) for record in records)
    messages = _messages(records)
    words, traceback = status_words(ending(first)), first.get("traceback") or ""
    cells = _cells_table(summary, records, with_messages=len(messages) > 1)
    return Cause(
        words, messages[0], len(messages) > 1, len(records), ", ".join(names), cells, traceback
    )


def _messages(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.get("message") or "" for record in records))


def _cells_table(summary: Summary, records: Sequence[Record], *, with_messages: bool) -> Layout:
    """Return the table of the cells of a cause."""
    axis = summary.axis

    def alike(record: Record) -> tuple[str, str, int]:
        size = 0 if axis is None else record["at"][axis.name]
        return summary.name_of(record), record["kind"], size

    rows = []
    for (name, kind, n), group in grouped(records, alike).items():
        first, *others = _messages(group)
        message = first + (f" (and {len(others)} like it)" if others else "")
        sizes = [] if axis is None else [Cell(f"{n:,}", value=n)]
        trials = Cell(ranges(record["trial"] + 1 for record in group))
        number = Cell(f"{len(group):,}", value=len(group))
        row = [Cell(name), Cell(kind), *sizes, trials, number, Cell(message)]
        rows.append(row if with_messages else row[:-1])
    sizes_name = [] if axis is None else [axis.title]
    header = ["Solver", "Cell", *sizes_name, "Trials", "Cells", "Message"]
    return Layout("", header if with_messages else header[:-1], rows)

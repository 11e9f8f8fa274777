"""Where a run stands and how its cells ended, read during the run or afterwards."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dsgkit.errors import MemoryLimitError, in_a_line, printable
from dsgkit.experiment.folder import (
    LEFT_OUT,
    PLAN,
    other_source,
    planned_cells,
    read_environments,
    read_plan,
    read_task,
)
from dsgkit.experiment.plan import Cell, LeftOut, Plan, TooLarge
from dsgkit.experiment.store import CELLS, Record, read_records, running
from dsgkit.tasks.measures import Axis

FAILURES = ("failed", "crashed")
"""Statuses of cells that went wrong: an exception, or a worker process that died."""

REFUSED = "refused"
"""Ending of a cell that was not begun: it needs more memory than there is."""

MAX_CAUSES = 20
"""Causes that are printed."""


def status_words(status: str) -> str:
    """Return a status as printed text."""
    return status.replace("_", " ")


def ending(record: Mapping[str, Any]) -> str:
    """Return the status of a record, or `REFUSED` if it was refused for its predicted memory."""
    refused = record["status"] == MemoryLimitError.status and record.get("needed") is not None
    return REFUSED if refused else str(record["status"])


def cells(count: int) -> str:
    """Return a number of cells as text, such as ``1 cell`` or ``2 cells``."""
    return f"{count:,} cell{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the largest unit of which it has at least two."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def without_numbers(text: str) -> str:
    """Replace all numbers: texts that differ only in these become equal."""
    return re.sub(r"\d[\d.,]*", "#", text)


def by_cause(records: Iterable[Record]) -> list[list[Record]]:
    """Group records by status, error and place in the code, the most frequent cause first.

    Messages that differ only in numbers are of one cause. Ties are in the order of the records.
    """
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        groups[_cause(record)].append(record)
    return sorted(groups.values(), key=len, reverse=True)


def _cause(record: Record) -> tuple[Any, ...]:
    lines = (record.get("traceback") or "").splitlines()
    frames = tuple(line for line in lines if line.lstrip().startswith("File "))
    return record["status"], without_numbers(record.get("message") or ""), frames


def reason(record: Record) -> str:
    """Return in one line why a cell has no result."""
    words = status_words(ending(record))
    first = (record.get("message") or words).partition("\n")[0]
    complete = record["status"] in ("failed", "ok") or first.startswith(words)
    return first if complete else f"{words}: {first}"


def places(records: Sequence[Record], axis: Axis | None) -> str:
    """Return the trials and sizes of some cells, such as ``trials 1..3, 500 unlabelled``."""
    text = _range("trial", sorted({record["trial"] + 1 for record in records}))
    if axis:
        sizes = sorted({record["at"][axis.name] for record in records})
        text += f", {_range('', sizes)} {axis.noun}"
    return text if len(records) == 1 else f"{text} ({cells(len(records))})"


def _range(noun: str, values: Sequence[int]) -> str:
    if len(values) == 1:
        return f"{noun} {values[0]:,}".strip()
    return f"{noun + 's ' if noun else ''}{values[0]:,}..{values[-1]:,}"


def describe_endings(
    records: Iterable[Record], axis: Axis | None, *, tracebacks: bool = False
) -> list[str]:
    """Return lines on cells that have no result or a warning: a line per solver and cause.

    Parameters
    ----------
    records : iterable of Record
        Those of cells with a result and without warnings are ignored.
    axis : Axis or None
        The swept axis.
    tracebacks : bool
        Add the traceback of the first cell of each group.
    """
    failed: list[Record] = []
    limited: list[Record] = []
    warned: list[Record] = []
    for record in records:
        if record["status"] != "ok":
            (failed if record["status"] in FAILURES else limited).append(record)
        else:
            warned += [record | {"message": text} for text in record.get("warnings", ())]
    lines = []
    for head, ended in (
        (f"{cells(len(failed))} failed:", failed),
        (f"{cells(len(limited))} ended at a limit or without a solution:", limited),
        ("warnings:", warned),
    ):
        groups: dict[Any, list[Record]] = defaultdict(list)
        for record in ended:
            groups[record.get("label"), record["kind"], _cause(record)].append(record)
        lines += [head] if ended else []
        for (label, kind, _), group in list(groups.items())[:MAX_CAUSES]:
            what = f"{label or group[0]['solver']} {kind}, {places(group, axis)}"
            lines.append(f"  {what}: {reason(group[0])}")
            if tracebacks and group[0].get("traceback"):
                lines += [f"    {line}" for line in group[0]["traceback"].splitlines()]
        if len(groups) > MAX_CAUSES:
            lines.append(f"  and {len(groups) - MAX_CAUSES} more causes")
    return [printable(line) for line in lines]


def describe_too_large(too_large: Iterable[TooLarge], axis: Axis | None) -> list[str]:
    """Return a line for each list of sizes that exceed the data."""
    if axis is None:
        return []
    return [
        f"{axis.name}: {', '.join(f'{size:,}' for size in sizes)} left out: "
        f"the data leave {most:,} {axis.title.lower()}" + ("" if taken else "; `all` takes them")
        for sizes, most, taken in too_large
    ]


@dataclass(frozen=True)
class Status:
    """Status of the cells of the last plan of a results folder.

    Attributes
    ----------
    axis : Axis or None
        The swept axis.
    plan : dict
        Entries of the plan by key; without ``plan.json``, those of the records.
    records : dict
        Records of the plan's cells by key.
    bad : list of int
        Numbers of unreadable lines of the store.
    writer : str or None
        The process that is writing to the folder, if any.
    left_out : list of LeftOut
        Points of the sweep that the config leaves out.
    too_large : list of TooLarge
        Sizes of the sweep that exceed the data.
    has_plan : bool
        Whether the folder has a plan; without one, missing cells are unknown.
    """

    folder: Path
    axis: Axis | None
    plan: dict[str, Cell]
    records: dict[str, Record]
    bad: list[int]
    writer: str | None
    left_out: Sequence[LeftOut] = ()
    too_large: Sequence[TooLarge] = ()
    has_plan: bool = True

    @property
    def left(self) -> list[Cell]:
        """Entries of the plan without a record."""
        return [entry for key, entry in self.plan.items() if key not in self.records]

    @property
    def seconds_left(self) -> float:
        """Estimated seconds of the remaining cells, one after the other."""
        return sum(self._seconds_by_entry.values())

    @property
    def is_guess(self) -> bool:
        """Whether most of the remaining time is for sizes at which no cell has ended."""
        from dsgkit.experiment.paces import place

        seen = {place(self.plan[key]) for key in self.records}
        unseen = {
            k: s for k, s in self._seconds_by_entry.items() if place(self.plan[k]) not in seen
        }
        return sum(unseen.values()) > self.seconds_left / 2

    @cached_property
    def _seconds_by_entry(self) -> dict[str, float]:
        """Estimated seconds of each remaining cell, by its key."""
        from dsgkit.experiment.paces import Paces

        paces = Paces((self.plan[key], record) for key, record in self.records.items())
        return {entry.key: paces.seconds(entry) for entry in self.left}


def read_status(folder: Path) -> Status:
    """Read the status of a run.

    Raises
    ------
    ResultsError
        If the folder is not a results folder.
    """
    axis = read_task(folder).axis
    stored, bad = read_records(folder)
    stored_plan = read_plan(folder)
    cells, left_out, too_large = stored_plan or Plan(planned_cells(stored.values()), [], [])
    plan = {entry.key: entry for entry in cells}
    records, writer = {key: stored[key] for key in plan if key in stored}, running(folder)
    has_plan = stored_plan is not None
    return Status(folder, axis, plan, records, bad, writer, left_out, too_large, has_plan)


def describe_status(status: Status, *, tracebacks: bool = False) -> str:
    """Return the status as text."""
    records = status.records
    done = Counter(record["status"] for record in records.values())
    lines = [f"{status.folder}: {done['ok']:,} of {cells(len(status.plan))} have a result"]
    lines[0] += _state(status)
    lines += _by_solver(status)
    lines += [f"  {line}" for line in describe_too_large(status.too_large, status.axis)]
    lines += describe_endings(records.values(), status.axis, tracebacks=tracebacks)
    environments = read_environments(status.folder, records.values())
    lines += other_source(records.values(), environments)
    if bad := status.bad:
        lines.append(
            f"unreadable lines of {CELLS}: {len(bad)}, the first is line {bad[0]}; "
            "their cells run again"
        )
    return "\n".join(lines)


def _state(status: Status) -> str:
    if status.writer:
        return f"; running ({status.writer}), {_left(status)}"
    if not status.has_plan:
        return f"; there is no {PLAN}, so cells that have not run are not counted"
    records = status.records
    failed = any(record["status"] in FAILURES for record in records.values())
    if status.left or failed:
        left = f", {_left(status)}" if status.left else ""
        return f"; not running{left}; the same `dsg run` resumes it"
    return "; finished"


def _left(status: Status) -> str:
    """Return the remaining cells and time."""
    guess = " (most of it a guess: no cell of these sizes has ended)" if status.is_guess else ""
    left = f"{cells(len(status.left))} left"
    return f"{left}, about {duration(status.seconds_left)} of work{guess}"


def _by_solver(status: Status) -> list[str]:
    """Return a line per solver and kind of cell."""
    total: Counter[tuple[str, str]] = Counter()
    ended: Mapping[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for key, entry in status.plan.items():
        group = entry.solver, entry.kind
        total[group] += 1
        if key in status.records:
            ended[group][ending(status.records[key])] += 1
    left_out: dict[str, list[int]] = defaultdict(list)
    for point in status.left_out:
        left_out[point.solver].append(point.at[status.axis.name] if status.axis else 0)
    names = {solver: in_a_line(solver) for solver in [*(solver for solver, _ in total), *left_out]}
    width = max(map(len, names.values()), default=0)
    lines = [
        f"  {names[solver]:<{width}}  {kind:<6}  {_counts(ended[solver, kind], count)}"
        for (solver, kind), count in total.items()
    ]
    return [
        *lines,
        *(
            f"  {names[solver]:<{width}}  {status_words(LEFT_OUT)} by the config"
            f"{_at_sizes(sizes, status.axis)}"
            for solver, sizes in left_out.items()
        ),
    ]


def _at_sizes(sizes: Sequence[int], axis: Axis | None) -> str:
    return f" at {', '.join(f'{size:,}' for size in sizes)} {axis.noun}" if axis else ""


def _counts(ended: Counter[str], total: int) -> str:
    others = [f"{n} {status_words(status)}" for status, n in ended.items() if status != "ok"]
    left = total - ended.total()
    parts: Sequence[str] = [*sorted(others), *([f"{left} left"] if left else [])]
    return f"{ended['ok']:>5} of {total}" + (f" ({', '.join(parts)})" if parts else "")

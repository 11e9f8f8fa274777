"""Where a run stands and how its cells ended, in words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from dsgkit.errors import MemoryLimitError, in_a_line
from dsgkit.experiment.folder import (
    LEFT_OUT,
    PLAN,
    other_source,
    planned_cells,
    read_environments,
    read_plan,
    read_task,
)
from dsgkit.experiment.plan import Plan, TooLarge
from dsgkit.experiment.store import CELLS, Record, read_records, running
from dsgkit.experiment.timing import Paces
from dsgkit.tasks.base import Axis

FAILURES = ("failed", "crashed")
"""Statuses of cells that went wrong: an exception, or a worker process that died."""

MAX_CAUSES = 20
"""Causes of missing results that are printed."""


def status_words(status: str) -> str:
    """Return a status as printed text."""
    return status.replace("_", " ")


def ending(record: Mapping[str, Any]) -> str:
    """Return a record's status, or ``refused`` if its predicted memory kept it from beginning."""
    refused = record["status"] == MemoryLimitError.status and record.get("needed") is not None
    return "refused" if refused else str(record["status"])


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


def by_cause(records: Iterable[Record], *others: str) -> list[list[Record]]:
    """Group records by status and message, but for numbers, and by further entries.

    The most frequent cause comes first; ties are in the order of the records.
    """
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        message = without_numbers(record.get("message") or "")
        groups[record["status"], message, *map(record.get, others)].append(record)
    return sorted(groups.values(), key=len, reverse=True)


def reason(record: Record) -> str:
    """Return in one line why a cell has no result."""
    words = status_words(ending(record))
    first = (record.get("message") or words).partition("\n")[0]
    complete = record["status"] in ("failed", "ok") or first.startswith(words)
    return first if complete else f"{words}: {first}"


def places(records: Sequence[Record], axis: Axis | None) -> str:
    """Return the trials and sizes of some cells, such as ``trials 1..3, 500 unlabelled``."""
    trials = {record["trial"] + 1 for record in records}
    text = f"trial{'s' if len(trials) > 1 else ''} {from_to(trials)}"
    if axis:
        text += f", {from_to({record['at'][axis.name] for record in records})} {axis.noun}"
    return text if len(records) == 1 else f"{text} ({cells(len(records))})"


def from_to(values: Set[int]) -> str:
    """Return the least and the largest value, such as ``500..2,000``."""
    return "..".join(f"{value:,}" for value in sorted({min(values), max(values)}))


def describe_endings(
    records: Iterable[Record], axis: Axis | None, *, tracebacks: bool = False
) -> list[str]:
    """Return lines on cells that have no result or a warning: one per solver, kind and cause.

    With ``tracebacks``, each has that of its first cell.
    """
    records = list(records)
    done = [record for record in records if record["status"] == "ok"]
    failed = [record for record in records if record["status"] in FAILURES]
    limited = [record for record in records if record["status"] not in ("ok", *FAILURES)]
    warned = [record | {"message": text} for record in done for text in record.get("warnings", ())]
    lines = []
    for head, ended in (
        (f"{cells(len(failed))} failed:", failed),
        (f"{cells(len(limited))} ended at a limit or without a solution:", limited),
        ("warnings:", warned),
    ):
        lines += [head] if ended else []
        groups = by_cause(ended, "label", "kind")
        for group in groups[:MAX_CAUSES]:
            first = group[0]
            what = f"{first.get('label') or first['solver']} {first['kind']}"
            lines.append(f"  {what}, {places(group, axis)}: {reason(first)}")
            if tracebacks:
                lines += [f"    {line}" for line in first.get("traceback", "").splitlines()]
        if len(groups) > MAX_CAUSES:
            lines.append(f"  and {len(groups) - MAX_CAUSES} more causes")
    return [in_a_line(line, 1000) for line in lines]


def describe_too_large(too_large: Iterable[TooLarge], axis: Axis | None) -> list[str]:
    """Return a line for each list of sizes that exceed the data."""
    if axis is None:
        return []
    return [
        f"{axis.name}: {', '.join(f'{size:,}' for size in sizes)} left out: "
        f"the data leave {most:,} {axis.title.lower()}" + ("" if taken else "; `all` takes them")
        for sizes, most, taken in too_large
    ]


def describe_status(folder: Path, *, tracebacks: bool = False) -> str:
    """Return the status of the last plan of a results folder as text.

    Raises
    ------
    ResultsError
        If the folder is not a results folder.
    """
    axis, writer = read_task(folder).axis, running(folder)
    stored, bad = read_records(folder)
    known = read_plan(folder)
    plan = known or Plan(planned_cells(stored.values()), [], [])
    planned = {cell.key: cell for cell in plan.cells}
    records = [stored[key] for key in planned if key in stored]
    n_ok = sum(record["status"] == "ok" for record in records)
    paces = Paces((planned[record["key"]], record) for record in records)
    seconds = sum(paces.seconds(cell) for key, cell in planned.items() if key not in stored)
    left = f"{cells(len(planned) - len(records))} left, about {duration(seconds)} of work"
    if writer:
        state = f"running ({writer}), {left}"
    elif known is None:
        state = f"there is no {PLAN}, so cells that have not run are not counted"
    elif len(records) < len(planned):
        state = f"not running, {left}; the same `dsg run` resumes it"
    elif any(record["status"] in FAILURES for record in records):
        state = "not running; the same `dsg run` resumes it"
    else:
        state = "finished"
    lines = [f"{folder}: {n_ok:,} of {cells(len(planned))} have a result; {state}"]
    lines += _by_solver(plan, stored, axis)
    lines += [f"  {line}" for line in describe_too_large(plan.too_large, axis)]
    lines += describe_endings(records, axis, tracebacks=tracebacks)
    lines += other_source(records, read_environments(folder, records))
    if bad:
        number = f"{len(bad)}, the first is line {bad[0]}"
        lines.append(f"unreadable lines of {CELLS}: {number}; their cells run again")
    return "\n".join(lines)


def _by_solver(plan: Plan, records: Mapping[str, Record], axis: Axis | None) -> Iterator[str]:
    """Yield a line per solver and kind of cell, and per solver that the config leaves out."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cell in plan.cells:
        groups[cell.solver, cell.kind].add(cell.key)
    left_out: dict[str, list[str]] = defaultdict(list)
    for point in plan.left_out:
        left_out[point.solver].append(f"{point.at[axis.name]:,}" if axis else "")
    names = {solver: in_a_line(solver) for solver in [*(s for s, _ in groups), *left_out]}
    width = max(map(len, names.values()), default=0)
    for (solver, kind), keys in groups.items():
        ended = Counter(ending(records[key]) for key in keys if key in records)
        others = [f"{n} {status_words(end)}" for end, n in sorted(ended.items()) if end != "ok"]
        left = len(keys) - ended.total()
        others += [f"{left} left"] if left else []
        more = f" ({', '.join(others)})" if others else ""
        yield f"  {names[solver]:<{width}}  {kind:<6}  {ended['ok']:>5} of {len(keys)}{more}"
    for solver, sizes in left_out.items():
        at = f" at {', '.join(sizes)} {axis.noun}" if axis else ""
        yield f"  {names[solver]:<{width}}  {status_words(LEFT_OUT)} by the config{at}"

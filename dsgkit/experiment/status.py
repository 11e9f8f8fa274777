"""Where a run stands and how its cells ended, in words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from dsgkit.errors import MemoryLimitError, in_a_line
from dsgkit.experiment.folder import other_source, read_plan
from dsgkit.experiment.store import CELLS, Record, running
from dsgkit.experiment.timing import Paces
from dsgkit.tasks.base import Axis

FAILURES = ("failed", "crashed")  # statuses: an exception, or a worker process that died


def ending(record: Mapping[str, Any]) -> str:
    """Return in words how a cell ended: ``refused`` if its predicted memory was too much."""
    refused = record["status"] == MemoryLimitError.status and record.get("needed") is not None
    return "refused" if refused else record["status"].replace("_", " ")


def cells(count: int) -> str:
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
    """Group records by status, message but for numbers, and further entries; largest first."""
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        message = without_numbers(record.get("message") or "")
        groups[record["status"], message, *map(record.get, others)].append(record)
    return sorted(groups.values(), key=len, reverse=True)


def reason(record: Record) -> str:
    """Return in one line why a cell has no result."""
    words = ending(record)
    first = (record.get("message") or words).partition("\n")[0]
    return first if first.startswith(words) else f"{words}: {first}"


def places(records: Sequence[Record], axis: Axis | None) -> str:
    """Return the trials and sizes of some cells, such as ``trials 1..3, 500 unlabelled``."""
    trials = {record["trial"] + 1 for record in records}
    text = f"trial{'s' if len(trials) > 1 else ''} {from_to(trials)}"
    if axis:
        text += f", {from_to({record['at'][axis.name] for record in records})} {axis.noun}"
    return text if len(records) == 1 else f"{text} ({cells(len(records))})"


def from_to(values: Set[int], between: str = "..") -> str:
    """Return the least and the largest value, such as ``500..2,000``."""
    return between.join(f"{value:,}" for value in sorted({min(values), max(values)}))


def describe_endings(
    records: Iterable[Record], axis: Axis | None, *, tracebacks: bool = False
) -> list[str]:
    """Return a line per solver, kind and cause on cells that failed, met a limit or warned."""
    ended: list[Record] = []
    for record in records:
        if record["status"] == "ok":
            texts = record.get("warnings", ())
            ended += [record | {"status": "warning", "message": text} for text in texts]
        else:
            ended.append(record)
    lines = []
    for group in by_cause(ended, "label", "kind"):
        first = group[0]
        line = f"  {first['label']} {first['kind']}, {places(group, axis)}: {reason(first)}"
        lines.append(in_a_line(line, 1000))
        if tracebacks:
            lines += [f"    {line}" for line in first.get("traceback", "").splitlines()]
    return lines


def describe_status(folder: Path, *, tracebacks: bool = False) -> str:
    from dsgkit.experiment.runs import load

    (run,), writer = load(folder), running(folder)
    plan, cells_ = read_plan(folder), [*(run.cells or run.recorded)]
    records = [record for _, record in run.recorded]
    left = [cell for cell, record in cells_ if record is None or record["status"] in FAILURES]
    limits = [record["timeout"] for record in records if "timeout" in record]
    paces = Paces(max(limits, default=None))  # the same command has the same limit
    for cell, known in run.recorded:
        paces.note(cell, known)
    work = f"{cells(len(left))} left, about {duration(sum(map(paces.seconds, left)))} of work"
    if writer:
        state = f"running ({writer}), {work}"
    else:
        state = f"not running, {work}; the same `dsg run` resumes it" if left else "finished"
    n_ok = sum(record["status"] == "ok" for record in records)
    share = f" ({n_ok / len(cells_):.0%})" if cells_ else ""
    lines = [f"{folder}: {n_ok:,} of {cells(len(cells_))}{share} have a result; {state}"]
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for cell, record in cells_:
        counts[cell.solver, cell.kind]["left" if record is None else ending(record)] += 1
    width = max((len(run.names[solver]) for solver, _ in counts), default=0)
    for (solver, kind), ended in counts.items():
        number, n_ok = ended.total(), ended.pop("ok", 0)
        more = ", ".join(f"{n} {how}" for how, n in sorted(ended.items()))
        more = f" ({more})" if more else ""
        lines.append(f"  {run.names[solver]:<{width}}  {kind:<6}  {n_ok:>5} of {number}{more}")
    lines += [f"  {sizes.text(run.axis)}" for sizes in (plan.too_large if plan else ())]
    lines += describe_endings(records, run.axis, tracebacks=tracebacks)
    lines += other_source(records, folder)
    if run.bad:
        first = f"{len(run.bad)}, the first is line {run.bad[0]}"
        lines.append(f"unreadable lines of {CELLS}: {first}; their cells run again")
    return "\n".join(lines)

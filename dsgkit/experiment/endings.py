"""Summary of cells without a result: a line per cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dsgkit.errors import printable
from dsgkit.experiment.limits import FAILURES, ending, status_words
from dsgkit.experiment.records import Record
from dsgkit.tasks.base import Axis
from dsgkit.text.groups import grouped

if TYPE_CHECKING:
    from dsgkit.experiment.folder import TooLargeEntry
    from dsgkit.experiment.plan import TooLarge

MAX_CAUSES = 20


def describe_endings(
    ended: Sequence[Record], axis: Axis | None, *, tracebacks: bool = False
) -> str:
    """Return which cells have no result and why, grouped by cause; empty if there are none.

    Parameters
    ----------
    ended : sequence of Record
        Records whose status is not ``ok``.
    axis : Axis or None
        The swept axis.
    tracebacks : bool
        Add the traceback of the first cell of each group.
    """
    failed = [record for record in ended if record["status"] in FAILURES]
    others = [record for record in ended if record["status"] not in FAILURES]
    parts = []
    if failed:
        parts += [f"{cells(len(failed))} failed:", *_groups(failed, axis, tracebacks)]
    if others:
        what = "ended at a limit or without a solution"
        parts += [f"{cells(len(others))} {what}:", *_groups(others, axis, tracebacks)]
    return "\n".join(parts)


def describe_warnings(records: Iterable[Record], axis: Axis | None) -> str:
    """Return the warnings of cells that have a result, grouped; empty if there are none."""
    warned = [
        record | {"message": text}
        for record in records
        if record["status"] == "ok"
        for text in record.get("warnings", ())
    ]
    return "\n".join(["warnings:", *_groups(warned, axis, tracebacks=False)]) if warned else ""


def describe_too_large(
    too_large: Iterable[TooLarge | TooLargeEntry], axis: Axis | None
) -> list[str]:
    """Return a line for each list of sizes that exceed the data."""
    if axis is None:
        return []
    return [
        f"{axis.name}: {', '.join(f'{size:,}' for size in sizes)} left out: "
        f"the data leave {most:,} {axis.title.lower()}" + ("" if taken else "; `all` takes them")
        for sizes, most, taken in too_large
    ]


def cause(record: Record) -> tuple[str, str, tuple[str, ...]]:
    """Return a key that is equal for records that differ only in the numbers of their messages."""
    message = without_numbers(record.get("message") or "")
    lines = (record.get("traceback") or "").splitlines()
    frames = tuple(line for line in lines if line.lstrip().startswith("File "))
    return record["status"], message, frames


def by_cause(records: Iterable[Record]) -> list[list[Record]]:
    """Group records by cause, the most frequent first, ties in the order of the plan."""
    return sorted(grouped(records, cause).values(), key=len, reverse=True)


def without_numbers(text: str) -> str:
    """Replace all numbers: texts that differ only in these become equal."""
    return re.sub(r"\d[\d.,]*", "#", text)


def cells(count: int) -> str:
    """Return a number of cells as text, such as ``1 cell`` or ``2 cells``."""
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _groups(ended: Iterable[Record], axis: Axis | None, tracebacks: bool) -> list[str]:
    groups = grouped(ended, lambda record: (record.get("label"), record["kind"], cause(record)))
    lines = []
    for records in list(groups.values())[:MAX_CAUSES]:
        first = records[0]
        what = f"{first.get('label') or first['solver']} {first['kind']}"
        lines.append(f"  {what}, {places(records, axis)}: {reason(first)}")
        if tracebacks and first.get("traceback"):
            lines += [f"    {line}" for line in first["traceback"].splitlines()]
    if len(groups) > MAX_CAUSES:
        lines.append(f"  and {len(groups) - MAX_CAUSES} more causes")
    return [printable(line) for line in lines]


def reason(record: Record) -> str:
    """Return in one line why a cell has no result."""
    words = status_words(ending(record))
    first = (record.get("message") or words).partition("\n")[0]
    complete = record["status"] in ("failed", "ok") or first.startswith(words)
    return first if complete else f"{words}: {first}"


def places(records: Sequence[Record], axis: Axis | None) -> str:
    """Return the trials and sizes of some cells."""
    text = _range("trial", sorted({record["trial"] + 1 for record in records}))
    if axis:
        sizes = sorted({record["at"][axis.name] for record in records})
        text += f", {_range('', sizes)} {axis.noun}"
    return text if len(records) == 1 else f"{text} ({cells(len(records))})"


def _range(noun: str, values: Sequence[int]) -> str:
    if len(values) == 1:
        return f"{noun} {values[0]:,}".strip()
    return f"{noun + 's ' if noun else ''}{values[0]:,}..{values[-1]:,}"

"""Cells without a result, in words: what ended in the same way is one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsgkit.experiment.limits import FAILURES
from dsgkit.experiment.store import Record

MOST_LINES = 20


def describe_endings(ended: Sequence[Record], *, tracebacks: bool = False) -> str:
    """Return which cells have no result and why, grouped by cause; nothing for none.

    Parameters
    ----------
    ended : sequence of Record
        Records whose status is not ``ok``.
    tracebacks : bool
        Add the traceback of the first cell of each group.
    """
    failed = [record for record in ended if record["status"] in FAILURES]
    others = [record for record in ended if record["status"] not in FAILURES]
    parts = []
    if failed:
        parts += [f"{cells(len(failed))} failed:", *_groups(failed, tracebacks)]
    if others:
        what = "ended at a limit or without a solution"
        parts += [f"{cells(len(others))} {what}:", *_groups(others, tracebacks)]
    return "\n".join(parts)


def cells(count: int) -> str:
    """Return a number of cells in words."""
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _groups(ended: Iterable[Record], tracebacks: bool) -> list[str]:
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in ended:
        cause = tuple(str(record.get(name, "")) for name in ("label", "kind", "status", "message"))
        groups.setdefault(cause, []).append(record)
    lines = []
    for (label, kind, status, message), records in list(groups.items())[:MOST_LINES]:
        lines.append(f"  {label} {kind}, {_places(records)}: {_reason(status, message)}")
        if tracebacks and records[0].get("traceback"):
            lines += [f"    {line}" for line in records[0]["traceback"].splitlines()]
    if len(groups) > MOST_LINES:
        lines.append(f"  and {len(groups) - MOST_LINES} more causes")
    return lines


def _reason(status: str, message: str) -> str:
    words = status.replace("_", " ")
    first = message.splitlines()[0] if message else words
    return first if status == "failed" or first.startswith(words) else f"{words}: {first}"


def _places(records: Sequence[Record]) -> str:
    """Return the trials and sizes of some cells."""
    trials = sorted({record["trial"] + 1 for record in records})
    sizes = sorted({record["n_unlabeled"] for record in records})
    text = f"{_range('trial', trials)}, {_range('', sizes)} unlabelled"
    return text if len(records) == 1 else f"{text} ({cells(len(records))})"


def _range(noun: str, values: Sequence[int]) -> str:
    if len(values) == 1:
        return f"{noun} {values[0]:,}".strip()
    return f"{noun + 's ' if noun else ''}{values[0]:,}..{values[-1]:,}"

"""Entries of tables: what is shown of the trials of a solver, and which of several is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsgkit.report.formats import Cell
from dsgkit.report.numbers import (
    NONE,
    counted,
    memory_text,
    percents,
    ranges,
    time_digits,
    with_std,
)
from dsgkit.report.summary import NOT_RUN, Entry, Summary
from dsgkit.tasks.measures import Measure

DAGGER = "†"
"""The mark of entries of which a trial has a remark."""


def remark_notes(entries: Iterable[Entry], title: str = "") -> list[str]:
    """Return the footnote on remarks, each with its solvers and trials; none without any.

    Parameters
    ----------
    entries : iterable of Entry
        Those of one table.
    title : str
        What they are of, where a table is of several.
    """
    trials: dict[str, dict[tuple[str, int], list[int]]] = {}
    for entry in entries:
        for remark, n in entry.remarks.items():
            trials.setdefault(remark, {}).setdefault((entry.solver, entry.planned), []).append(n)
    about = f" {title}:" if title else ""
    notes = []
    for remark, counts in trials.items():
        of = (
            f"{solver} in {ranges(n, '-')} of {counted(planned, 'trial')}"
            for (solver, planned), n in counts.items()
        )
        notes.append(f"{DAGGER}{about} {', '.join(of)}: {remark}.")
    return notes


def statistic(measure: Measure, shown: Sequence[Summary]) -> str:
    """Return what is shown of how many trials, a range where their number differs."""
    counts = sorted({one.results.trials for one in shown})
    if counts == [1]:
        return "one trial"
    if measure.tally:
        return f"in how many of {'-'.join(map(str, dict.fromkeys([counts[0], counts[-1]])))} trials"
    what = "maximum" if measure.unit == "bytes" else "mean ± standard deviation"
    return f"{what} over {'-'.join(map(str, dict.fromkeys([counts[0], counts[-1]])))} trials"


def entry_cells(
    measure: Measure,
    entries: Sequence[Entry | None],
    *,
    note_size: bool = False,
    none: str = NONE,
) -> list[Cell]:
    """Return the cells of entries that compete with each other; ``none`` for one that is None.

    With ``note_size`` each also says its size; times at different sizes are no contest.
    """
    contest = measure.better and not (note_size and measure.unit == "seconds")
    best = _best(measure, entries) if contest and len(entries) > 1 else []
    return [
        Cell(none) if entry is None else _cell(measure, entry, entry in best, note_size)
        for entry in entries
    ]


def _best(measure: Measure, entries: Sequence[Entry | None]) -> list[Entry]:
    """Return the entries whose printed mean is the best; none where all have it, or only one."""
    shown = [
        (round(percents(measure, entry.mean), _digits(measure, entry)), entry)
        for entry in entries
        if entry is not None and entry.values
    ]
    if len({value for value, _ in shown}) < 2:
        return []
    target = measure.best(value for value, _ in shown)
    return [entry for value, entry in shown if value == target]


def _cell(measure: Measure, entry: Entry, best: bool, note_size: bool) -> Cell:
    """Return an entry's cell: its mean, or in words why there is none."""
    if not entry.values:
        text = NONE if entry.status == NOT_RUN else entry.status
        return Cell(text, "" if entry.needed is None else f"(needs {memory_text(entry.needed)})")
    remarks = [f"{entry.size.n:,}"] * note_size + [entry.partial] * bool(entry.partial)
    note = f"({', '.join(remarks)})" if remarks else ""
    mark = DAGGER if entry.remarks else ""
    if measure.unit == "bytes":
        largest = max(entry.values)
        return Cell(memory_text(largest), note, best, largest, mark=mark)
    if measure.tally:
        counted = sum(value > 0 for value in entry.values)
        return Cell(f"{counted}/{len(entry.values)}", note, best, entry.mean, mark=mark)
    mean = percents(measure, entry.mean)
    std = None if entry.std is None else percents(measure, entry.std)
    text = with_std(mean, std, _digits(measure, entry))
    return Cell(text, note, best, entry.mean, mark=mark)


def _digits(measure: Measure, entry: Entry) -> int:
    return time_digits(entry.mean) if measure.unit == "seconds" else measure.digits

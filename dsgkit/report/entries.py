"""Cells of tables: the average of a solver's trials, and which solver is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsgkit.experiment.timing import DISTURBED_RATIO
from dsgkit.report.formats import BEST, Cell
from dsgkit.report.numbers import (
    NO_VALUE,
    counted,
    from_to,
    in_sentence,
    memory_text,
    percents,
    ranges,
    time_digits,
    with_range,
    with_std,
)
from dsgkit.report.summary import (
    LEFT_OUT_WORDS,
    NOT_RUN,
    TO_COME,
    Entry,
    Summary,
    all_axes,
    lowered,
)
from dsgkit.tasks.measures import Measure

DAGGER = "†"
"""Marks entries with a remark on a trial."""

DOUBLE_DAGGER = "‡"
"""Marks times disturbed by other processes."""

LEVEL_MARK = "§"
"""Marks entries of a solver that does not depend on the swept size."""

UNITS = {
    "": "",
    "seconds": " in seconds (one fit at the chosen hyper-parameters)",
    "bytes": " of the process during the fit",
}
"""Caption suffix per unit."""

_BEST_TIME = (
    "the fastest, if its longest time is shorter than the shortest of every other and no other was "
    "disturbed"
)


def best_means(measure: Measure) -> str:
    """Return the meaning of a marked entry of a measure."""
    return _BEST_TIME if measure.unit == "seconds" else BEST


def footnotes(parts: Sequence[tuple[Summary, Iterable[Entry]]], *, titled: bool) -> list[str]:
    """Return the footnotes of a table; with ``titled``, notes name their results."""
    notes = []
    for one, entries in parts:
        title = one.heading if titled else ""
        notes += _partial_notes(entries, title, swept=one.axis is not None)
        notes += remark_notes(entries, title)
    shown, every = [one for one, _ in parts], [entry for _, of in parts for entry in of]
    return [*notes, *level_notes(every, shown), *_ending_notes(every, shown)]


def _partial_notes(entries: Iterable[Entry], title: str, *, swept: bool) -> list[str]:
    """Return the footnote on entries with unfinished trials, if any.

    It says how these trials ended, except those still to come.
    """
    partial = [entry for entry in entries if entry.partial]
    others = [
        f"{in_sentence(entry.solver)}{f' at {entry.size.n:,}' if swept else ''} ("
        + ", ".join(f"{count} {status}" for status, count in sorted(ended.items()))
        + ")"
        for entry in partial
        if (ended := {status: n for status, n in entry.others.items() if n and status != TO_COME})
    ]
    rest = f" The others: {'; '.join(others)}." if others else ""
    about = f"{title} " if title else ""
    return [f"{about}(k/n): only k of n trials finished.{rest}"] if partial else []


def remark_notes(entries: Iterable[Entry], title: str = "") -> list[str]:
    """Return the footnotes on remarks and disturbed times, each with its solvers and trials."""
    trials: dict[tuple[str, str], dict[tuple[str, int], list[int]]] = {}
    for entry in entries:
        own_notes = [((DAGGER, remark), n) for remark, n in entry.remarks.items()]
        own_notes += [((DOUBLE_DAGGER, _DISTURBED), entry.disturbed)] if entry.disturbed else []
        for note, n in own_notes:
            trials.setdefault(note, {}).setdefault((entry.solver, entry.planned), []).append(n)
    about = f"{title}: " if title else ""
    notes = []
    for (mark, remark), counts in trials.items():
        solvers = (
            f"{in_sentence(solver)} in {ranges(n, '-')} of {counted(planned, 'trial')}"
            for (solver, planned), n in counts.items()
        )
        notes.append(f"{mark} {remark} ({about}{', '.join(solvers)}).")
    return notes


_DISTURBED = (
    f"Disturbed by other processes: the wall time is more than {DISTURBED_RATIO} times "
    "the processor time of the busiest thread"
)


def level_notes(entries: Iterable[Entry], shown: Sequence[Summary]) -> list[str]:
    """Return the footnote on solvers that do not depend on the swept size, if any."""
    axes = lowered(all_axes(shown))
    level = any(entry.level and entry.values for entry in entries)
    return [f"{LEVEL_MARK} One fit per trial: it does not use {axes}."] if level else []


def _ending_notes(entries: Iterable[Entry], shown: Sequence[Summary]) -> list[str]:
    """Return footnotes on sizes that the config leaves out, and on fits still to come."""
    statuses = {entry.status for entry in entries}
    notes = [f"{LEFT_OUT_WORDS}: by the config (at_most)."] if LEFT_OUT_WORDS in statuses else []
    if left := [one for one in shown if one.to_come]:
        progress = "; ".join(
            f"{f'{one.heading}: ' if len(shown) > 1 else ''}{one.to_come}" for one in left
        )
        notes.append(f"Unfinished: {progress}; where some are to come, none is called the best.")
    return notes


def statistic(measure: Measure, shown: Sequence[Summary]) -> str:
    """Return the shown statistic, such as ``mean ± standard deviation over 5 trials``."""
    counts = {one.results.experiment.protocol.trials for one in shown}
    trials = "" if counts == {1} else f"{from_to(counts)} trials"
    if measure.unit == "seconds":
        over = trials or "repeats of one trial"
        return f"{time_words(measure, shown)}median [range] over {over}"
    if not trials:
        return "one trial"
    if measure.tally:
        return f"in how many of {trials}"
    name = "maximum" if measure.unit == "bytes" else "mean ± standard deviation"
    return f"{name} over {trials}"


def time_words(measure: Measure, shown: Sequence[Summary]) -> str:
    """Return the kind of time for captions; empty for fits on all cores."""
    threads = set().union(*(one.threads(measure) for one in shown))
    if threads == {1}:
        return "processor time on one thread, "
    return "processor time where it was on one thread, else wall time, " if 1 in threads else ""


def entry_cells(
    measure: Measure,
    entries: Sequence[Entry | None],
    *,
    note_size: bool = False,
    none: str = NO_VALUE,
    contest: bool = True,
) -> list[Cell]:
    """Return the cells of competing entries; the text ``none`` for an entry that is None.

    ``note_size`` adds each entry's size. The best is not marked without ``contest``, for times at
    different sizes, or while fits are still to come.
    """
    contest = contest and not (note_size and measure.unit == "seconds")
    contest = contest and not any(entry and entry.to_come for entry in entries)
    competing = measure.better and contest and len(entries) > 1
    best = _best(measure, entries) if competing else []
    return [
        Cell(none) if entry is None else _cell(measure, entry, entry in best, note_size)
        for entry in entries
    ]


def _best(measure: Measure, entries: Sequence[Entry | None]) -> list[Entry]:
    """Return the entries with the best printed mean; none if all entries print the same."""
    finished = [entry for entry in entries if entry and entry.values and entry.competes]
    if measure.unit == "seconds":
        return _best_time(measure, finished)
    shown = [
        (round(percents(measure, entry.mean), _digits(measure, entry)), entry) for entry in finished
    ]
    if len({value for value, _ in shown}) < 2:
        return []
    best = max if measure.better == "higher" else min
    target = best(value for value, _ in shown)
    return [entry for value, entry in shown if value == target]


def _best_time(measure: Measure, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entry with the best time if it is clearly the best, see `_BEST_TIME`."""
    if len(entries) < 2 or any(entry.disturbed for entry in entries):
        return []
    sign = -1 if measure.better == "higher" else 1
    best = min(entries, key=lambda entry: sign * entry.centre)
    low, high = _printed_spread(best)
    for other in entries:
        lowest, highest = _printed_spread(other)
        reached = lowest <= high if sign > 0 else highest >= low
        if other is not best and reached:
            return []
    return [best]


def _printed_spread(entry: Entry) -> list[float]:
    return [round(value, time_digits(entry.centre)) for value in entry.spread]


def _cell(measure: Measure, entry: Entry, best: bool, note_size: bool) -> Cell:
    """Return an entry's cell: its mean or median, or its status."""
    if not entry.values:
        text = NO_VALUE if entry.status == NOT_RUN else entry.status
        return Cell(text, "" if entry.needed is None else f"(needs {memory_text(entry.needed)})")
    sized = note_size and not entry.level
    remarks = [f"{entry.size.n:,}"] * sized + [entry.partial] * bool(entry.partial)
    note = f"({', '.join(remarks)})" if remarks else ""
    mark = (
        DAGGER * bool(entry.remarks)
        + DOUBLE_DAGGER * bool(entry.disturbed)
        + LEVEL_MARK * entry.level
    )
    if measure.unit == "bytes":
        largest = max(entry.values)
        return Cell(memory_text(largest), note, best, largest, mark=mark)
    if measure.tally:
        count = sum(value > 0 for value in entry.values)
        return Cell(f"{count}/{len(entry.values)}", note, best, entry.mean, mark=mark)
    if measure.unit == "seconds":
        low, high = entry.spread
        text = with_range(entry.centre, low, high, _digits(measure, entry))
        return Cell(text, note, best, entry.centre, mark=mark)
    mean = percents(measure, entry.mean)
    std = None if entry.std is None else percents(measure, entry.std)
    text = with_std(mean, std, _digits(measure, entry))
    return Cell(text, note, best, entry.mean, mark=mark)


def _digits(measure: Measure, entry: Entry) -> int:
    return time_digits(entry.centre) if measure.unit == "seconds" else measure.digits

"""Tables of a measure: solvers by sizes, or datasets by solvers at their largest size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import LEFT_OUT, NOT_RUN, TO_COME, Run
from dsgkit.experiment.status import from_to
from dsgkit.experiment.timing import DISTURBED_RATIO
from dsgkit.report import frame
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.frame import Entry
from dsgkit.report.numbers import (
    NO_VALUE,
    counted,
    memory_text,
    percents,
    time_digits,
    with_range,
    with_std,
)
from dsgkit.tasks.measures import Measure

_DISTURBED = (
    "‡ Disturbed by other processes: the wall time is more than "
    f"{DISTURBED_RATIO} times the processor time of the busiest thread"
)


def measure_table(runs: Sequence[Run], name: str, measures: Sequence[Measure]) -> Table:
    """Return the tables of measures: solvers by sizes or, for several runs, runs by solvers."""
    main = [m for m in measures if m.better] or [m for m in measures if m.tally] or measures
    layouts, data = [], []
    for measure in measures:
        found = [(run, frame.entries(run, measure)) for run in runs if frame.shows(run, measure)]
        if len(runs) > 1:
            found = [(run, frame.largest(every)) for run, every in found]
            at, header, rows = _by_dataset(measure, found)
        else:
            at, header, rows = _by_size(measure, *found[0])
        of = [run for run, _ in found]
        layout = Layout(
            f"{column_title(measure)}: {statistic(measure, of)}{at}.",
            header,
            rows,
            notes(found),
            best_means(measure),
            about=frame.about(of),
            aside=measure.for_published or (len(runs) == 1 and measure not in main),
        )
        layouts.append(layout)
        data += [_row(run, measure, entry) for run, every in found for entry in every]
    return Table(name, layouts, pd.DataFrame(data))


Found = Sequence[tuple[Run, list[Entry]]]
# the end of the caption, the header, the rows
Parts = tuple[str, list[str], Sequence[Sequence[Cell]]]


def _by_size(measure: Measure, run: Run, every: Sequence[Entry]) -> Parts:
    """Return the parts of a table of solvers by sizes; with one column without a sweep."""
    sizes, names = frame.full_at(run), map(Cell, run.names.values())
    columns = [entry_cells(measure, [one for one in every if one.size == size]) for size in sizes]
    rows = list(zip(names, *columns, strict=True))
    if run.axis is None:
        return "", ["Solver", measure.title], rows
    texts, axis = [frame.size_text(*size) for size in sizes.items()], frame.lowered(run.axis.title)
    at = f", by number of {axis}" if len(texts) > 1 else f", at {texts[0]} {axis}"
    return at, ["Solver", *texts], rows


def _by_dataset(measure: Measure, found: Found) -> Parts:
    """Return the parts of a table of datasets by solvers, each at its largest finished size."""
    runs, rows = [run for run, _ in found], []
    solvers, axes = frame.solver_names(runs), frame.lowered(frame.axis_title(runs))
    for run, every in found:
        by_name = {entry.name: entry for entry in every}
        row, contest = [by_name.get(name) for name in solvers], not frame.progress(run)
        cells = entry_cells(measure, row, sized=run.axis is not None, contest=contest)
        rows.append([Cell(run.heading), *cells])
    at = f", at the largest number of {axes} that each finished, in parentheses" if axes else ""
    return at, ["Dataset", *solvers], rows


def column_title(measure: Measure) -> str:
    """Return the title of a measure's numbers, with unit and rows."""
    title = measure.title if measure.unit == "bytes" else measure.axis_label
    return f"{title} on the {measure.where}" if measure.where else title


def _row(run: Run, measure: Measure, entry: Entry) -> dict[str, object]:
    return {
        "dataset": run.title,
        "measure": measure.name,
        "solver": entry.name,
        **({run.axis.name: entry.size} if run.axis else {}),
        "mean": entry.mean,
        "std": entry.std,
        "median": np.median(entry.values) if entry.values else np.nan,
        "lowest": entry.low,
        "highest": entry.high,
        "trials": len(entry.values),
        "status": entry.ending,
        "needed_bytes": entry.needed,
        "disturbed": entry.disturbed,
        "level": entry.level,
        "remarks": "; ".join(f"{n}: {text}" for text, n in entry.remarks.items()),
    }


def entry_cells(
    measure: Measure, row: Sequence[Entry | None], *, sized: bool = False, contest: bool = True
) -> list[Cell]:
    """Return the cells of competing entries, with their sizes if ``sized``; a dash for None."""
    known = [entry for entry in row if entry]
    # nothing is the best among times at different sizes, or while fits are still to come
    contest = contest and len(row) > 1 and not any(entry.others[TO_COME] for entry in known)
    contest = contest and not (sized and measure.unit == "seconds")
    best = _best(measure, known) if contest and measure.better else []
    return [_cell(measure, one, one in best, sized) if one else Cell(NO_VALUE) for one in row]


def _best(measure: Measure, known: Sequence[Entry]) -> list[Entry]:
    """Return the entries with the best printed mean, none if all print the same."""
    finished = [entry for entry in known if entry.values and entry.competes]
    if measure.unit == "seconds":
        if len(finished) < 2 or any(entry.disturbed for entry in finished):
            return []
        # the best if no other time, as printed, reaches its range
        best, *others = sorted(finished, key=lambda entry: entry.centre)
        longest = round(best.high, time_digits(best.centre))
        clear = all(round(one.low, time_digits(one.centre)) > longest for one in others)
        return [best] if clear else []
    shown = [round(percents(measure, entry.mean), measure.digits) for entry in finished]
    top = (max if measure.better == "higher" else min)(shown, default=None)
    several = len({*shown}) > 1
    return [one for one, value in zip(finished, shown, strict=True) if several and value == top]


def _cell(measure: Measure, entry: Entry, best: bool, sized: bool) -> Cell:
    """Return an entry's cell: its mean or median, or why there is none."""
    if not entry.values:
        needs = "" if np.isnan(entry.needed) else f"(needs {memory_text(entry.needed)})"
        return Cell(NO_VALUE if entry.ending == NOT_RUN else entry.ending, needs)
    value = entry.centre
    if measure.unit == "bytes":
        value = entry.high
        text = memory_text(value)
    elif measure.unit == "seconds":
        text = with_range(value, entry.low, entry.high, time_digits(value))
    elif measure.tally:
        text = f"{sum(one > 0 for one in entry.values)}/{len(entry.values)}"
    else:
        std = percents(measure, entry.std)
        text = with_std(percents(measure, value), std, measure.digits)
    note = ", ".join(filter(None, [f"{entry.size:,}" * (sized and not entry.level), entry.partial]))
    mark = "†" * bool(entry.remarks) + "‡" * bool(entry.disturbed) + "§" * entry.level
    return Cell(text, note and f"({note})", best, value, mark=mark)


def best_means(measure: Measure) -> str:
    """Return the meaning of a marked entry of a measure."""
    clear = "the fastest: its longest time is shorter than all others', and none was disturbed"
    return clear if measure.unit == "seconds" else "best"


def statistic(measure: Measure, runs: Sequence[Run]) -> str:
    """Return the shown statistic, such as ``mean ± standard deviation over 5 trials``."""
    counts = {run.experiment.protocol.trials for run in runs}
    trials = f"{from_to(counts, ' to ')} trials" if counts != {1} else ""
    if measure.unit == "seconds":
        threads = {*pd.concat([run.fits["timing.threads"] for run in runs]).dropna()}
        clock = "processor time on one thread" if measure.clock and 1 in threads else ""
        clock += ", else wall time" if clock and len(threads) > 1 else ""
        over = trials or "repeats of one trial"
        return ", ".join(filter(None, [clock, f"median [range] over {over}"]))
    if not trials:
        return "one trial"
    if measure.tally:
        return f"in how many of {trials}"
    name = "maximum" if measure.unit == "bytes" else "mean ± standard deviation"
    return f"{name} over {trials}"


def notes(found: Found) -> list[str]:
    """Return the footnotes of a table, each with those of whom it is true."""
    said: list[tuple[str, str]] = []
    for run, every in found:
        title = f"{run.heading}: " if len(found) > 1 else ""
        if left := frame.progress(run):
            said.append(("None is the best where fits are to come", f"{title}{left}"))
        for entry in every:
            counts = Counter({f"† {text}": n for text, n in entry.remarks.items()})
            counts[_DISTURBED] = entry.disturbed
            if run.axis and entry.level:
                axis = frame.lowered(run.axis.title)
                counts[f"§ One fit per trial: it does not use {axis}"] = len(entry.values)
            if entry.ending == LEFT_OUT:
                counts[f"{LEFT_OUT}: by the config (at_most)"] = entry.planned
            for ending, n in entry.others.items() if entry.values else ():
                counts[f"(k/n): the other trials: {ending}"] = n if ending != TO_COME else 0
            for text in +counts:
                of = f" in {counts[text]} of {counted(entry.planned, 'trial')}"
                who = f"{title}{entry.name}"
                said.append((text, who + of * (counts[text] < entry.planned)))
    texts = dict.fromkeys(text for text, _ in said)
    whom = {text: dict.fromkeys(who for one, who in said if one == text) for text in texts}
    return [f"{text} – {', '.join(who)}." for text, who in whom.items()]

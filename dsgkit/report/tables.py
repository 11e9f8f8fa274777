"""The tables of a report: every measure by solvers and sizes, and chosen hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.experiment.results import Results
from dsgkit.files import folder_name
from dsgkit.report.choices import PARAMS_TABLE, params_table
from dsgkit.report.entries import (
    best_means,
    ending_notes,
    entry_cells,
    level_notes,
    remark_notes,
    statistic,
)
from dsgkit.report.formats import Cell, Layout, Table, plain, write_table
from dsgkit.report.gains import gain_table
from dsgkit.report.outputs import check_names, nothing_to_show
from dsgkit.report.published import PUBLISHED_TABLE, published_table
from dsgkit.report.summary import (
    TO_COME,
    Entry,
    Summary,
    all_axes,
    all_measures,
    all_outputs,
    all_solvers,
    check_recorded,
    lowered,
    settings,
    summarise,
)
from dsgkit.report.trace_tables import trace_overview, trace_table
from dsgkit.report.traces import is_traced
from dsgkit.tasks.measures import GAINS, TIME, Measure

TRACE_TABLE = "_trace_table"
UNITS = {
    "": "",
    "seconds": " in seconds (one fit at the chosen hyper-parameters)",
    "bytes": " of the process during the fit",
}
"""What the words of a measure leave to its unit."""


def write_tables(results: Sequence[Results], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the tables as CSV, Markdown and LaTeX (booktabs) and return their paths.

    For one results folder these are those that its config's ``outputs`` ask for, each with one on
    official test rows where there are any, ``gain_table`` where a solver is compared with another
    one, always ``params_table``, and ``published_table`` where a paper's figures are known. For
    several, what any of them asks for: these names then compare the datasets, each solver at its
    largest finished size, and a folder per dataset holds its own.

    Parameters
    ----------
    results : sequence of Results
    folder : Path
        The files go to ``tables/`` in it.
    only : sequence of str
        Names of the tables to write, whatever the configs ask for; all of those if empty.

    Raises
    ------
    ResultsError
        If there is nothing recorded or no such table, or the folder cannot be written.
    """
    check_recorded(results)
    return write_summaries(summarise(results), folder, only)


def write_summaries(shown: Sequence[Summary], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write tables of what is summed up already, see `write_tables`."""
    wanted = wanted_tables(shown, only)
    if len(shown) == 1:
        tables = tables_of(shown[0], wanted)
    else:
        tables = overview_tables(shown, wanted)
        for one in shown:
            inside = folder_name(one.title)
            tables += [replace(t, name=f"{inside}/{t.name}") for t in tables_of(one, wanted)]
    if only:
        tables = [table for table in tables if Path(table.name).name in only]
    return [path for table in tables for path in write_table(table, Path(folder) / "tables")]


def text_table(results: Sequence[Results], only: Sequence[str] = ()) -> str:
    """Return tables that the configs' ``outputs`` ask for as text for a terminal.

    These are those of what fits came to, each with its measures that have a better side, or all
    where none has, and gains at the largest sizes; what explains published figures is left to
    files.

    Parameters
    ----------
    results : sequence of Results
    only : sequence of str
        Names of the tables to return instead.

    Raises
    ------
    ResultsError
        If there is nothing recorded, or no such table.
    """
    check_recorded(results)
    shown = summarise(results)
    wanted = wanted_tables(shown, only) if only else _printed(shown)
    blocks = []
    if len(shown) > 1:
        overviews = [t for t in overview_tables(shown, wanted) if t.name != PUBLISHED_TABLE]
        blocks += [layout for table in overviews for layout in table.layouts]
    for one in shown:
        found = (_measures(one, name) for name in wanted)
        measures = (m for of in found for m in (of if only else _with_better_side(of)))
        layouts = [_by_size(one, measure) for measure in measures]
        # Solvers as columns: there are fewer of them than sizes, and terminals are narrow.
        if one.axis is not None:
            layouts = [layout.transposed(one.axis.title) for layout in layouts]
        blocks += layouts
        for table in _trace_tables(one, wanted):
            blocks += [layout.transposed(TIME.title) for layout in table.layouts]
        if only or len(shown) == 1:  # the overview of several has the largest sizes
            for table in _gain_tables([one], wanted, largest=not only):
                blocks += table.layouts
        if PARAMS_TABLE in only:
            blocks += params_table(one).layouts
    if PUBLISHED_TABLE in only and (published := published_table(shown)):
        blocks += published.layouts
    return "\n".join(plain(layout) for layout in blocks)


def _printed(shown: Sequence[Summary]) -> list[str]:
    """Return the names of the tables that a terminal gets unasked."""
    known, wanted = _tables_of_sizes(shown), wanted_tables(shown)
    # Whoever asks for figures alone sees all numbers here.
    asked = [name for name in wanted if name in known] or list(known)
    measures = {name: [m for one in shown for m in _measures(one, name)] for name in asked}
    printed = [name for name in asked if not any(m.for_published for m in measures[name])]
    return [*printed, *(name for name in wanted if name == GAINS)]


def _with_better_side(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Return the measures that solvers compete in; where they do in none, the tallies, or all."""
    competing = [measure for measure in measures if measure.better]
    return competing or [measure for measure in measures if measure.tally] or measures


def wanted_tables(shown: Sequence[Summary], only: Sequence[str] = ()) -> list[str]:
    """Return the names of the tables of measures to make: those asked for, or all configs ask for.

    Raises
    ------
    ResultsError
        If there is no table of a name, or no value to show in it.
    """
    known = _outputs_by_table(shown)
    if not only:
        return [name for output in all_outputs(shown) for name in known if known[name] == output]
    published = [PUBLISHED_TABLE] if any(one.results.task.published for one in shown) else []
    check_names(only, [*known, *published, PARAMS_TABLE], "table")
    wanted = [name for name in known if name in only]
    for name in wanted:
        has_gain = name == GAINS and gain_table(shown) is not None
        if not (has_gain or any(_measures(one, name) or _traced(one, name) for one in shown)):
            raise nothing_to_show(shown, name)
    return wanted


def _outputs_by_table(shown: Sequence[Summary]) -> dict[str, str]:
    """Return the output that asks for each table of measures, or of gains in them."""
    measures = (measure for one in shown for measure in one.results.task.measures if measure.traced)
    along = {f"{one.file}{TRACE_TABLE}": f"{one.output}{TRACE_TABLE}" for one in measures}
    solvers = (spec for one in shown for spec in one.results.experiment.solvers.values())
    gains = {GAINS: GAINS} if any(spec.against for spec in solvers) else {}
    return _tables_of_sizes(shown) | along | gains


def _tables_of_sizes(shown: Iterable[Summary]) -> dict[str, str]:
    """Return the same of the tables that show what fits came to, and not how."""
    measures = (measure for one in shown for measure in one.results.task.measures)
    return {f"{one.file}_table": f"{one.output}_table" for one in measures}


def _measures(summary: Summary, name: str) -> list[Measure]:
    """Return the measures that a table shows of one of the results."""
    measures = all_measures([summary])
    return [measure for measure in measures if f"{measure.file}_table" == name]


def _traced(summary: Summary, name: str) -> list[Measure]:
    """Return the measures that a table shows along the training of one of the results."""
    measures = all_measures([summary])
    named = [measure for measure in measures if f"{measure.file}{TRACE_TABLE}" == name]
    return [measure for measure in named if is_traced(summary, measure)]


def _trace_tables(summary: Summary, wanted: Sequence[str]) -> list[Table]:
    """Return the tables of one results folder by training time."""
    found = ((name, _traced(summary, name)) for name in wanted)
    return [trace_table(summary, name, measures) for name, measures in found if measures]


def _gain_tables(
    shown: Sequence[Summary], wanted: Sequence[str], *, largest: bool = False
) -> list[Table]:
    """Return the table of gains, if it is wanted and there are any."""
    table = gain_table(shown, largest=largest) if GAINS in wanted else None
    return [] if table is None else [table]


def tables_of(summary: Summary, wanted: Sequence[str]) -> list[Table]:
    """Return the tables of one results folder."""
    tables = []
    for name in wanted:
        if measures := _measures(summary, name):
            layouts = [_by_size(summary, measure) for measure in measures]
            shown = (summary, measures, summary.entries(measures[0]).values())
            tables.append(Table(name, layouts, _tidy([shown])))
    published = published_table([summary])
    beside = [] if published is None else [published]
    tables += [*_gain_tables([summary], wanted), *_trace_tables(summary, wanted), *beside]
    return [*tables, params_table(summary)]


def overview_tables(shown: Sequence[Summary], wanted: Sequence[str]) -> list[Table]:
    """Return the tables of datasets by solvers."""
    tables = []
    for name in wanted:
        measured = [(one, _measures(one, name)) for one in shown]
        parts = [(one, found, one.largest(found[0]).values()) for one, found in measured if found]
        measures = dict.fromkeys(measure for _, found in measured for measure in found)
        layouts = [_by_dataset([one for one in shown if one.shows(m)], m) for m in measures]
        if parts:
            tables.append(Table(name, layouts, _tidy(parts)))
        if traced := dict.fromkeys(m for one in shown for m in _traced(one, name)):
            tables.append(trace_overview(shown, name, list(traced)))
    published = published_table(shown)
    tables += _gain_tables(shown, wanted, largest=True)
    return tables if published is None else [*tables, published]


def _by_size(summary: Summary, measure: Measure) -> Layout:
    """Return the table of solvers by sizes; of one column where nothing is swept."""
    entries, axis = summary.entries(measure), summary.axis
    solvers = list(summary.solvers)
    columns = [
        entry_cells(measure, [entries[solver, size] for solver in solvers])
        for size in summary.sizes
    ]
    caption = [f"{measure.caption}{UNITS[measure.unit]}", statistic(measure, [summary])]
    caption += [] if axis is None else [f"at each number of {lowered(axis.title)}"]
    about = ", ".join(filter(None, [summary.title, settings([summary])]))
    header = [measure.title] if axis is None else [size.text for size in summary.sizes]
    return Layout(
        f"{', '.join(caption)}; {about}.",
        ["Solver", *header],
        list(zip(map(Cell, solvers), *columns, strict=True)),
        [
            *_partial_notes(entries.values(), swept=axis is not None),
            *remark_notes(entries.values()),
            *level_notes(entries.values(), [summary]),
            *ending_notes(entries.values(), [summary]),
        ],
        best_means(measure),
    )


def _by_dataset(shown: Sequence[Summary], measure: Measure) -> Layout:
    """Return the table of datasets by solvers, each at its largest finished size."""
    solvers = list(all_solvers(shown))
    rows, footnotes = [], []
    for one in shown:
        found, swept = one.largest(measure), one.axis is not None
        entries = [found.get(solver) for solver in solvers]
        cells = entry_cells(measure, entries, note_size=swept, contest=not one.to_come)
        rows.append([Cell(one.title), *cells])
        footnotes += [f"{one.title} {note}" for note in _partial_notes(found.values(), swept=swept)]
        footnotes += remark_notes(found.values(), one.title)
    shown_entries = [entry for one in shown for entry in one.largest(measure).values()]
    footnotes += level_notes(shown_entries, shown) + ending_notes(shown_entries, shown)
    caption = f"{measure.caption}{UNITS[measure.unit]}, {statistic(measure, shown)}"
    if setting := settings(shown):
        caption += f", {setting}"
    if axes := lowered(all_axes(shown)):
        caption += f", at the largest number of {axes} that the solver finished (in parentheses)"
    return Layout(
        f"{caption}.",
        ["Dataset", *solvers],
        rows,
        footnotes,
        best_means(measure),
    )


def _partial_notes(entries: Iterable[Entry], *, swept: bool) -> list[str]:
    """Return the footnote on entries of which some trials only finished; none without such.

    It says how the others ended; those that are still to come are many.
    """
    partial = [entry for entry in entries if entry.partial]
    others = [
        f"{entry.solver}{f' at {entry.size.n:,}' if swept else ''} ("
        + ", ".join(f"{count} {status}" for status, count in sorted(ended.items()))
        + ")"
        for entry in partial
        if (ended := {status: n for status, n in entry.others.items() if n and status != TO_COME})
    ]
    if not partial:
        return []
    told = f" The others: {'; '.join(others)}." if others else ""
    return [f"(k/n): only k of n trials finished.{told}"]


def _tidy(parts: Sequence[tuple[Summary, Sequence[Measure], Iterable[Entry]]]) -> pd.DataFrame:
    """Return entries of the first measure as tidy data, with a column for every further one."""
    frame = pd.DataFrame(
        [
            _row(summary, entry, measures[1:])
            for summary, measures, entries in parts
            for entry in entries
        ]
    )
    axes = {summary.axis.name for summary, _, _ in parts if summary.axis}
    frame = frame.drop(columns=[name for name in ("remarks", "level") if not frame[name].any()])
    # Whole numbers, also where some are missing.
    whole = [name for name in frame if name.endswith("_bytes") or name in axes]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _row(summary: Summary, entry: Entry, further: Sequence[Measure]) -> dict[str, Any]:
    row = {
        "dataset": summary.title,
        "solver": entry.solver,
        **({summary.axis.name: entry.size.n} if summary.axis else {}),
        **_statistics(entry),
        "trials": len(entry.values),
        "status": entry.status,
        "needed_bytes": entry.needed,
        "remarks": "; ".join(f"{n}: {text}" for text, n in entry.remarks.items()),
        "level": entry.level,
    }
    for measure in further:
        beside = summary.entries(measure)[entry.solver, entry.size]
        if measure.unit == "bytes":
            row[f"{measure.name}_bytes"] = max(beside.values, default=None)
        else:
            row[measure.name] = beside.centre
    return row


def _statistics(entry: Entry) -> dict[str, Any]:
    if not entry.timed:
        return {"mean": entry.mean, "std": entry.std}
    lowest, highest = entry.spread or (None, None)
    return {
        "median": entry.centre,
        "lowest": lowest,
        "highest": highest,
        "disturbed": entry.disturbed,
    }

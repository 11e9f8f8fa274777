"""Tables of a measure by training time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dsgkit.report.entries import entry_cells, level_notes, remark_notes, statistic
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NO_VALUE, SHORTEST_TIME
from dsgkit.report.summary import Entry, Summary, settings
from dsgkit.report.traces import Race, Training, largest_races, races
from dsgkit.tasks.measures import TIME, Measure

MAX_TIMES = 12
TIME_SERIES = ((1, 2, 5), (1, 3), (1,))
"""Leading digits of the times in a table's header, the finest series first."""


def trace_table(shown: Sequence[Summary], name: str, measures: Sequence[Measure]) -> Table:
    """Return the table of solvers by training time: for each size, or each dataset's largest."""
    several, layouts, rows = len(shown) > 1, [], []
    for measure in measures:
        every = [race for one in shown if one.shows(measure) for race in races(one, measure)]
        groups = [largest_races(every)] if several else [[race] for race in every]
        for group in groups:
            times = round_times(group)
            layouts.append((_several_races if several else _one_race)(group, measure, times))
            rows += [row for race in group for row in _tidy(race, measure, times)]
    return Table(name, layouts, pd.DataFrame(rows))


def round_times(found: Sequence[Race]) -> list[float]:
    """Return a few round times that cover the iterative methods' training.

    One more time follows if another method ends later.
    """
    along = sorted(
        max(time, SHORTEST_TIME) for race in found for time in race.times(iterative=True)
    )
    last = max((time for race in found for time in race.times()), default=0.0)
    if not along:
        return []
    for digits in TIME_SERIES:
        decades = range(math.floor(math.log10(along[0])), math.ceil(math.log10(last)) + 1)
        series = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        end = next(place for place, time in enumerate(series) if time >= along[-1])
        times = [time for time in series[: end + 1] if time >= along[0]]
        if len(times) <= MAX_TIMES:
            break
    later = next(time for time in series if time >= last)
    return times if later in times else [*times, later]


def _one_race(found: Sequence[Race], measure: Measure, times: Sequence[float]) -> Layout:
    """Return the table of solvers by training time of one dataset at one size."""
    (race,) = found
    summary = race.summary
    parts = [f"{_caption(measure, [summary])}; {summary.heading}"]
    parts += [caption] if (caption := summary.results.task.caption) else []
    parts += [f"{race.size.n:,} {summary.axis.noun}"] if summary.axis else []
    return Layout(
        f"{', '.join(parts)}.",
        ["Solver", *map(_heading, times)],
        _rows(race, measure, times),
        _notes([race], times),
        corner=TIME.title,
    )


def _several_races(found: Sequence[Race], measure: Measure, times: Sequence[float]) -> Layout:
    """Return the table of datasets and solvers by training time."""
    caption = _caption(measure, [race.summary for race in found])
    if setting := settings([race.summary for race in found]):
        caption += f", {setting}"
    rows = []
    for race in found:
        axis = race.summary.axis
        size = f"({race.size.n:,} {axis.noun})" if axis else ""
        rows += [[Cell(race.summary.heading, size), *row] for row in _rows(race, measure, times)]
    header = ["Dataset", "Solver", *map(_heading, times)]
    return Layout(f"{caption}.", header, rows, _notes(found, times))


def _caption(measure: Measure, shown: Sequence[Summary]) -> str:
    return f"{measure.caption} after so many seconds of training, {statistic(measure, shown)}"


def _heading(seconds: float) -> str:
    return f"{seconds:,.10g} s"


def _rows(race: Race, measure: Measure, times: Sequence[float]) -> list[list[Cell]]:
    """Return a row per solver: blank before its first value; a status only in the first column."""
    columns = []
    for place, time in enumerate(times):
        entries = [_after(training, time) for training in race.trainings]
        cells = [
            cell if place == 0 or training.entry.values else Cell(NO_VALUE)
            for training, cell in zip(
                race.trainings, entry_cells(measure, entries, none=""), strict=True
            )
        ]
        columns.append(cells)
    names = [Cell(training.entry.solver) for training in race.trainings]
    return [list(row) for row in zip(names, *columns, strict=True)]


def _after(training: Training, seconds: float) -> Entry | None:
    """Return a solver's entry after ``seconds`` of training; None before its first value."""
    values = training.values_after(seconds)
    if training.entry.values and not values:
        return None
    return replace(training.entry, values=values)


def _notes(found: Sequence[Race], times: Sequence[float]) -> list[str]:
    """Return the footnotes of a table, with one on entries of only some trials."""
    notes = [
        note
        for race in found
        for note in remark_notes(
            (one.entry for one in race.trainings), race.summary.heading if len(found) > 1 else ""
        )
    ]
    notes += level_notes(
        (one.entry for race in found for one in race.trainings), [race.summary for race in found]
    )
    entries = [_after(one, time) for race in found for one in race.trainings for time in times]
    if any(entry and entry.partial for entry in entries):
        notes.append("(k/n): only k of n trials had a value by then.")
    return notes


def _tidy(race: Race, measure: Measure, times: Sequence[float]) -> list[dict[str, Any]]:
    """Return a row per solver and time, with or without a value."""
    axis = race.summary.axis
    rows = []
    for training in race.trainings:
        for time in times:
            entry = _after(training, time)
            rows.append(
                {
                    "dataset": race.summary.title,
                    "solver": training.entry.solver,
                    **({axis.name: race.size.n} if axis else {}),
                    "measure": measure.name,
                    "seconds": time,
                    "mean": entry.mean if entry else math.nan,
                    "std": entry.std if entry else None,
                    "trials": len(entry.values) if entry else 0,
                    "status": training.entry.status,
                }
            )
    return rows

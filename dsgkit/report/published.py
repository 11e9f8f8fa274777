"""The table of published values next to measured ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from dsgkit.experiment.runs import Run
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.frame import Entry, about, entries, largest, measures_of
from dsgkit.report.measure_tables import column_title, entry_cells, notes, statistic
from dsgkit.report.numbers import NO_VALUE, percents
from dsgkit.tasks.measures import PUBLISHED_TABLE, Measure, PublishedFigure

Pair = tuple[Run, Measure, PublishedFigure, Entry]


def published_table(runs: Sequence[Run]) -> Table:
    """Return the table with a row per published value that was measured, and how many agree."""
    pairs = [pair for run in runs for pair in _pairs(run)]
    layouts = [
        _by_measure(measure, [pair for pair in pairs if pair[1] == measure])
        for measure in dict.fromkeys(measure for _, measure, _, _ in pairs)
    ]
    return Table(PUBLISHED_TABLE, layouts, pd.DataFrame([*map(_row, pairs)]))


def _pairs(run: Run) -> Iterator[Pair]:
    """Yield published values with the measured entry at the largest finished size."""
    figures = run.task.published.figures if run.task.published else ()
    measures = {measure.name: measure for measure in measures_of([run])}
    found: dict[str, dict[str, Entry]] = {}
    for name in {figure.measure for figure in figures} & measures.keys():
        found[name] = {one.solver: one for one in largest(entries(run, measures[name]))}
    for figure in figures:
        if entry := found.get(figure.measure, {}).get(figure.solver):
            yield run, measures[figure.measure], figure, entry


def _compared(pair: Pair) -> tuple[float | None, bool | None]:
    """Return the difference from a published value, and if the two agree; None if unknown."""
    _, measure, figure, entry = pair
    if measure.unit or not entry.values:  # seconds depend on the machine
        return None, None
    difference = entry.mean - figure.value
    if figure.flag or figure.tolerance is None:
        return difference, None
    rounding = 10.0**-figure.decimals / 2
    return difference, abs(difference) <= figure.tolerance + rounding


def _row(pair: Pair) -> dict[str, object]:
    """Return a published and a measured value as tidy data."""
    run, measure, figure, entry = pair
    difference, agrees = _compared(pair)
    return {
        "dataset": run.title,
        "solver": entry.name,
        "measure": measure.name,
        "published": figure.value,
        "mean": entry.mean,
        "std": entry.std,
        "trials": len(entry.values),
        "difference": difference,
        "agrees": agrees,
        "remark": figure.flag,
    }


def _cells(pair: Pair) -> list[Cell]:
    run, measure, figure, entry = pair
    difference, agrees = _compared(pair)
    text = NO_VALUE
    if difference is not None:
        text = f"{percents(measure, difference):+z.{measure.digits}f}"
        text = text if text.strip("+0.") else text[1:]
    return [
        *map(Cell, (run.heading, entry.name)),
        Cell(f"{percents(measure, figure.value):.{figure.decimals}f}", value=figure.value),
        *entry_cells(measure, [entry], sized=run.axis is not None),
        Cell(text, best=agrees is True, value=difference),
        Cell(figure.flag),
    ]


def _by_measure(measure: Measure, pairs: Sequence[Pair]) -> Layout:
    """Return the published and measured values of one measure."""
    runs = list({id(run): run for run, *_ in pairs}.values())
    sources = dict.fromkeys(run.task.published.source for run in runs if run.task.published)
    rows = [_cells(pair) for pair in pairs]
    footnotes = notes([(run, [one[3] for one in pairs if one[0] is run]) for run in runs])
    known = [agrees for _, agrees in map(_compared, pairs) if agrees is not None]
    if known:
        most = sorted({figure.tolerance for _, _, figure, _ in pairs if figure.tolerance})
        tolerance = f"{' or '.join(f'{one:g}' for one in most)}, up to rounding"
        count = f"{sum(known)} of {len(known)} published values without a remark"
        footnotes = [f"{count} are within the tolerance: {tolerance}.", *footnotes]
    layout = Layout(
        f"{column_title(measure)}, as published by {'; '.join(sources)}, and as measured: "
        f"{statistic(measure, runs)}.",
        ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"],
        rows,
        footnotes,
        best_means="within the tolerance",
        about=about(runs),
        aside=True,
    )
    filled = [any(row[place].text not in ("", NO_VALUE) for row in rows) for place in (4, 5)]
    return layout.with_columns([True] * 4 + filled)

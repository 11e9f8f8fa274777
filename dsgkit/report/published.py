"""The table of published values next to measured ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

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
    rows = [(pair, _row(*pair)) for pair in pairs]
    measures = dict.fromkeys(measure for _, measure, _, _ in pairs)
    layouts = [_layout(m, [one for one in rows if one[0][1] == m]) for m in measures]
    return Table(PUBLISHED_TABLE, layouts, pd.DataFrame([row for _, row in rows]))


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


def _row(run: Run, measure: Measure, figure: PublishedFigure, entry: Entry) -> dict[str, Any]:
    # seconds depend on the machine
    difference = entry.mean - figure.value if not measure.unit else math.nan
    agrees = None
    if not (math.isnan(difference) or figure.tolerance is None or figure.flag):
        rounding = 10.0**-figure.decimals / 2
        agrees = abs(difference) <= figure.tolerance + rounding
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


def _layout(measure: Measure, found: Sequence[tuple[Pair, dict[str, Any]]]) -> Layout:
    runs = list({id(run): run for (run, *_), _ in found}.values())
    sources = dict.fromkeys(run.task.published.source for run in runs if run.task.published)
    measured = [(run, [one[3] for one, _ in found if one[0] is run]) for run in runs]
    rows = []
    for (run, _, figure, entry), known in found:
        text = f"{percents(measure, known['difference']):+z.{measure.digits}f}"
        text = text if text.strip("+0.") else text[1:]
        difference = Cell(text, best=known["agrees"] is True, value=known["difference"])
        rows.append(
            [
                *map(Cell, (run.heading, entry.name)),
                Cell(f"{percents(measure, figure.value):.{figure.decimals}f}", value=figure.value),
                *entry_cells(measure, [entry], sized=run.axis is not None),
                Cell(NO_VALUE) if math.isnan(known["difference"]) else difference,
                Cell(figure.flag),
            ]
        )
    agrees = [known["agrees"] for _, known in found if known["agrees"] is not None]
    most = sorted({figure.tolerance for (_, _, figure, _), _ in found if figure.tolerance})
    within = f"within the tolerance: {' or '.join(f'{one:g}' for one in most)}, up to rounding"
    count = f"{sum(agrees)} of {len(agrees)} published values without a remark are {within}."
    layout = Layout(
        f"{column_title(measure)}, as published by {'; '.join(sources)}, and as measured: "
        f"{statistic(measure, runs)}.",
        ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"],
        rows,
        [*([count] if agrees else []), *notes(measured)],
        best_means="within the tolerance",
        about=about(runs),
        aside=True,
    )
    filled = [any(row[place].text not in ("", NO_VALUE) for row in rows) for place in (4, 5)]
    return layout.with_columns([True] * 4 + filled)

"""The table of published values next to measured ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from dsgkit.experiment.runs import Run
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.frame import Entry, entries, largest, measures_of, settings
from dsgkit.report.measure_tables import column_title, entry_cells, notes, statistic
from dsgkit.report.numbers import NO_VALUE, percents
from dsgkit.tasks.measures import PUBLISHED_TABLE, Measure, PublishedFigure

Pair = tuple[Run, Measure, PublishedFigure, Entry]


def published_table(runs: Sequence[Run]) -> Table:
    """Return the table with a row per published value that was measured, and how many agree."""
    pairs = [pair for run in runs for pair in _pairs(run)]
    frame = pd.DataFrame([_row(*pair) for pair in pairs])
    layouts = []
    for measure in dict.fromkeys(measure for _, measure, _, _ in pairs):
        places = [place for place, pair in enumerate(pairs) if pair[1] == measure]
        layouts.append(_by_measure(measure, [pairs[i] for i in places], frame.iloc[places]))
    if pairs and frame["agrees"].notna().any():
        layouts.append(_agreement(pairs, frame))
    return Table(PUBLISHED_TABLE, layouts, frame)


def _pairs(run: Run) -> Iterator[Pair]:
    """Yield published values with the measured entry at the largest finished size."""
    figures = run.task.published.figures if run.task.published else ()
    measures = {measure.name: measure for measure in measures_of([run])}
    found: dict[tuple[str, str], Entry] = {}
    for name in dict.fromkeys(figure.measure for figure in figures):
        every = largest(entries(run, measures[name])) if name in measures else []
        found |= {(name, entry.solver): entry for entry in every}
    for figure in figures:
        if entry := found.get((figure.measure, figure.solver)):
            yield run, measures[figure.measure], figure, entry


def _row(run: Run, measure: Measure, figure: PublishedFigure, entry: Entry) -> dict[str, object]:
    # seconds depend on the machine
    difference = entry.mean - figure.value if entry.values and not measure.unit else None
    agrees = None
    if difference is not None and figure.tolerance is not None and not figure.flag:
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


def _by_measure(measure: Measure, pairs: Sequence[Pair], frame: pd.DataFrame) -> Layout:
    """Return the published and measured values of one measure."""
    by_run = {id(run): (run, [pair[3] for pair in pairs if pair[0] is run]) for run, *_ in pairs}
    runs = [run for run, _ in by_run.values()]
    sources = dict.fromkeys(run.task.published.source for run in runs if run.task.published)
    rows = []
    for (run, _, figure, entry), row in zip(pairs, frame.to_dict("records"), strict=True):
        text, difference = NO_VALUE, row["difference"]
        if known := pd.notna(difference):
            text = f"{percents(measure, difference):+z.{measure.digits}f}"
            text = text if text.strip("+0.") else text[1:]
        published = f"{percents(measure, figure.value):.{figure.decimals}f}"
        rows.append(
            [
                *map(Cell, (run.heading, entry.name)),
                Cell(published, value=figure.value),
                *entry_cells(measure, [entry], sized=run.axis is not None),
                Cell(text, best=row["agrees"] is True, value=difference if known else None),
                Cell(figure.flag),
            ]
        )
    setting = settings(runs)
    filled = [any(row[place].text not in ("", NO_VALUE) for row in rows) for place in (4, 5)]
    return Layout(
        f"{column_title(measure)}, as published by {'; '.join(sources)}, and as measured: "
        f"{statistic(measure, runs)}.",
        ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"],
        rows,
        notes(list(by_run.values())),
        best_means=f"a difference within {_tolerances(pairs)}, up to rounding",
        about=setting and f"{setting}.",
        aside=True,
    ).with_columns([True] * 4 + filled)


def _agreement(pairs: Sequence[Pair], frame: pd.DataFrame) -> Layout:
    """Return how many published values agree with measured ones, by solver and measure."""
    known = frame.dropna(subset="agrees").astype({"agrees": int})
    known = pd.concat([known, known.assign(solver="All")])
    titles = {measure.name: measure.title for _, measure, _, _ in pairs}
    counts = {
        solver: group.groupby("measure")["agrees"].agg(["sum", "count"])
        for solver, group in known.groupby("solver", sort=False)
    }
    measures = list(dict.fromkeys(known["measure"]))
    rows = []
    for solver, of in counts.items():
        agree = of.reindex(measures, fill_value=0).itertuples()
        rows.append([Cell(str(solver)), *(Cell(f"{sure} of {n}") for _, sure, n in agree)])
    aside = (frame["measure"].isin(measures) & (frame["remark"] != "")).sum()
    return Layout(
        f"Published values within {_tolerances(pairs)} of the measured ones.",
        ["Solver", *(titles[name] for name in measures)],
        rows,
        [f"{aside} published values with a remark are left out."] if aside else [],
        aside=True,
    )


def _tolerances(pairs: Sequence[Pair]) -> str:
    """Return the tolerances of the published values as text."""
    found = sorted({figure.tolerance for _, _, figure, _ in pairs if figure.tolerance})
    return " or ".join(f"{tolerance:g}" for tolerance in found)

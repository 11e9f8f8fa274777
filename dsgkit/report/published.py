"""The table of published and measured figures, their agreement, and ranks of solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from dsgkit.report.entries import entry_cells, level_notes, remark_notes, statistic
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NO_VALUE, p_text, percents
from dsgkit.report.old_names import grouped
from dsgkit.report.output import EVERY_REPORT, TableOutput
from dsgkit.report.rankings import published_rankings
from dsgkit.report.ranks import LEVEL
from dsgkit.report.reproductions import Reproduction, reproductions
from dsgkit.report.summary import Summary, all_solvers, settings
from dsgkit.tasks.measures import PUBLISHED_TABLE, Measure


def published_tables(shown: Sequence[Summary]) -> Iterator[TableOutput]:
    """Yield the table of published figures, if these datasets have any."""
    if any(one.results.task.published for one in shown):
        yield TableOutput(
            name=PUBLISHED_TABLE,
            output=EVERY_REPORT,
            shown=shown,
            has=lambda one: any(True for _ in reproductions(one)),
            make=lambda: published_table(shown),
            in_overview="all",
        )


def published_table(shown: Sequence[Summary]) -> Table | None:
    """Return the table with a row per published figure; None without any."""
    compared = [each for one in shown for each in reproductions(one)]
    if not compared:
        return None
    by_measure = grouped(compared, lambda each: each.measure)
    layouts = [_layout(measure, members) for measure, members in by_measure.items()]
    layouts += [_agreement(compared)] if any(each.agrees is not None for each in compared) else []
    ranks = _ranks(compared)
    layouts += [ranks] if ranks.rows else []
    return Table(PUBLISHED_TABLE, layouts, pd.DataFrame([_tidy(each) for each in compared]))


def _layout(measure: Measure, compared: Sequence[Reproduction]) -> Layout:
    """Return the published and measured figures of one measure."""
    shown = _summaries(compared)
    tasks = [one.results.task for one in shown]
    sources = dict.fromkeys(task.published.source for task in tasks if task.published)
    unit = " in seconds" if measure.unit == "seconds" else ""
    measured = ", ".join(filter(None, [statistic(measure, shown), settings(shown)]))
    caption = (
        f"{measure.caption}{unit}, as published by {'; '.join(sources)}, and measured: {measured}."
    )
    rows = [_cells(each) for each in compared]
    header = ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"]
    # Leave out empty columns: times have no difference, and most figures no remark.
    filled = [
        place < 4 or any(row[place].text not in ("", NO_VALUE) for row in rows)
        for place in range(6)
    ]
    return Layout(
        caption,
        header,
        rows,
        [
            *remark_notes(each.entry for each in compared),
            *level_notes((p.entry for p in compared), shown),
        ],
        best_means=f"a difference within {_tolerances(compared)}, up to rounding",
    ).with_columns(filled)


def _cells(each: Reproduction) -> list[Cell]:
    value = percents(each.measure, each.figure.value)
    swept = each.summary.axis is not None
    return [
        Cell(each.summary.heading),
        Cell(each.entry.solver),
        Cell(f"{value:.{each.figure.decimals}f}", value=each.figure.value),
        *entry_cells(each.measure, [each.entry], note_size=swept),
        _difference(each),
        Cell(each.figure.flag),
    ]


def _summaries(compared: Sequence[Reproduction]) -> list[Summary]:
    """Return the distinct results of some figures."""
    return list({id(each.summary): each.summary for each in compared}.values())


def _difference(each: Reproduction) -> Cell:
    if each.difference is None:
        return Cell(NO_VALUE)
    text = f"{percents(each.measure, each.difference):+z.{each.measure.digits}f}"
    text = text if text.strip("+0.") else text[1:]
    return Cell(text, best=bool(each.agrees), value=each.difference)


def _agreement(compared: Sequence[Reproduction]) -> Layout:
    """Return the numbers of published figures that agree with measured ones."""
    counted = [each for each in compared if each.agrees is not None]
    measures = list(dict.fromkeys(each.measure for each in counted))
    by_solver = grouped(counted, lambda each: each.entry.solver)
    rows = []
    for name, members in {**by_solver, "All": counted}.items():
        agree = [[bool(p.agrees) for p in members if p.measure == measure] for measure in measures]
        rows.append([Cell(name), *(Cell(f"{sum(each)} of {len(each)}") for each in agree)])
    setting = settings(_summaries(counted))
    aside = sum(bool(p.figure.flag) for p in compared if p.measure in measures)
    return Layout(
        f"Published figures within {_tolerances(counted)} of what was measured"
        f"{f' with {setting}' if setting else ''}; without those with a remark.",
        ["Solver", *(measure.title for measure in measures)],
        rows,
        [f"{aside} published figures with a remark are left out."] if aside else [],
    )


def _tolerances(compared: Sequence[Reproduction]) -> str:
    """Return the tolerances of the figures as text."""
    tolerances = sorted({each.figure.tolerance for each in compared if each.figure.tolerance})
    return " or ".join(f"{tolerance:g}" for tolerance in tolerances)


def _ranks(compared: Sequence[Reproduction]) -> Layout:
    """Return mean ranks over the datasets with both figures for all solvers."""
    rankings = published_rankings(compared)
    if not rankings:
        return Layout("", [], [])
    known = next(iter(rankings.values())).measured.ranks
    solvers = [name for name in all_solvers(each.summary for each in compared) if name in known]
    columns = [[Cell(name) for name in (*solvers, "Friedman's p", "Critical difference")]]
    for published, measured in rankings.values():
        both = [(published.ranks[name], measured.ranks[name]) for name in solvers]
        columns.append(
            [
                *(Cell(f"{a:.1f} / {b:.1f}") for a, b in both),
                Cell(f"{p_text(published.p)} / {p_text(measured.p)}"),
                Cell(f"{measured.critical_difference:.2f}"),
            ]
        )
    setting = settings(_summaries(compared))
    counts = [f"{measure.title} ({both.measured.n_datasets})" for measure, both in rankings.items()]
    return Layout(
        "Mean ranks of the solvers, published / measured, 1 the best, over the datasets (how many) "
        "on which all have both; figures with a remark count too. Friedman's test is that of all "
        "solvers being alike; solvers whose ranks differ by less than the critical difference of "
        f"Nemenyi's test at the level {LEVEL:g} are not told apart."
        f"{f' Setting: {setting}.' if setting else ''}",
        ["Solver", *counts],
        list(zip(*columns, strict=True)),
    )


def _tidy(each: Reproduction) -> dict[str, object]:
    return {
        "dataset": each.summary.title,
        "solver": each.entry.solver,
        "measure": each.measure.name,
        "published": each.figure.value,
        "mean": each.entry.mean,
        "std": each.entry.std,
        "trials": len(each.entry.values),
        "difference": each.difference,
        "agrees": each.agrees,
        "remark": each.figure.flag,
    }

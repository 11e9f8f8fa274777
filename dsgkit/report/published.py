"""The table of published figures next to measured ones: which agree, and how solvers rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from dsgkit.report.entries import entry_cells, level_notes, remark_notes, statistic
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NO_VALUE, p_text, percents
from dsgkit.report.output import EVERY_REPORT, TableOutput
from dsgkit.report.pairs import Pair, pairs_of
from dsgkit.report.rankings import published_rankings
from dsgkit.report.ranks import LEVEL
from dsgkit.report.summary import Summary, all_solvers, settings
from dsgkit.tasks.measures import PUBLISHED_TABLE, Measure


def published_tables(shown: Sequence[Summary], **_: bool) -> Iterator[TableOutput]:
    """Yield the table of published figures, if there are any of these datasets."""
    if any(one.results.task.published for one in shown):
        yield TableOutput(
            name=PUBLISHED_TABLE,
            output=EVERY_REPORT,
            shown=shown,
            has=lambda one: any(True for _ in pairs_of(one)),
            make=lambda: published_table(shown),
            in_overview="all",
        )


def published_table(shown: Sequence[Summary]) -> Table | None:
    """Return the table of all figures that were published, a row each; None if none were."""
    pairs = [pair for one in shown for pair in pairs_of(one)]
    if not pairs:
        return None
    measures = list(dict.fromkeys(pair.measure for pair in pairs))
    layouts = [_layout(measure, [p for p in pairs if p.measure == measure]) for measure in measures]
    layouts += [_agreement(pairs)] if any(pair.agrees is not None for pair in pairs) else []
    ranks = _ranks(pairs)
    layouts += [ranks] if ranks.rows else []
    return Table(PUBLISHED_TABLE, layouts, pd.DataFrame([_tidy(pair) for pair in pairs]))


def _layout(measure: Measure, pairs: Sequence[Pair]) -> Layout:
    """Return what was published and measured of one measure."""
    shown = _summaries(pairs)
    tasks = [one.results.task for one in shown]
    sources = dict.fromkeys(task.published.source for task in tasks if task.published)
    unit = " in seconds" if measure.unit == "seconds" else ""
    measured = ", ".join(filter(None, [statistic(measure, shown), settings(shown)]))
    caption = (
        f"{measure.caption}{unit}, as published by {'; '.join(sources)}, and measured: {measured}."
    )
    rows = [_cells(pair) for pair in pairs]
    header = ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"]
    # Times have no difference, and most figures no remark.
    told = [
        place < 4 or any(row[place].text not in ("", NO_VALUE) for row in rows)
        for place in range(6)
    ]
    return Layout(
        caption,
        header,
        rows,
        [
            *remark_notes(pair.entry for pair in pairs),
            *level_notes((p.entry for p in pairs), shown),
        ],
        best_means=f"a difference within {_tolerances(pairs)}, up to rounding",
    ).with_columns(told)


def _cells(pair: Pair) -> list[Cell]:
    value = percents(pair.measure, pair.figure.value)
    swept = pair.summary.axis is not None
    return [
        Cell(pair.summary.heading),
        Cell(pair.entry.solver),
        Cell(f"{value:.{pair.figure.decimals}f}", value=pair.figure.value),
        *entry_cells(pair.measure, [pair.entry], note_size=swept),
        _difference(pair),
        Cell(pair.figure.flag),
    ]


def _summaries(pairs: Sequence[Pair]) -> list[Summary]:
    """Return the results that figures are of, each once."""
    return list({id(pair.summary): pair.summary for pair in pairs}.values())


def _difference(pair: Pair) -> Cell:
    if pair.difference is None:
        return Cell(NO_VALUE)
    text = f"{percents(pair.measure, pair.difference):+z.{pair.measure.digits}f}"
    text = text if text.strip("+0.") else text[1:]
    return Cell(text, best=bool(pair.agrees), value=pair.difference)


def _agreement(pairs: Sequence[Pair]) -> Layout:
    """Return how many published figures agree with what was measured."""
    counted = [pair for pair in pairs if pair.agrees is not None]
    measures = list(dict.fromkeys(pair.measure for pair in counted))
    by_solver: dict[str, list[Pair]] = {}
    for pair in counted:
        by_solver.setdefault(pair.entry.solver, []).append(pair)
    rows = []
    for name, members in {**by_solver, "All": counted}.items():
        agree = [[bool(p.agrees) for p in members if p.measure == measure] for measure in measures]
        rows.append([Cell(name), *(Cell(f"{sum(found)} of {len(found)}") for found in agree)])
    setting = settings(_summaries(counted))
    aside = sum(bool(p.figure.flag) for p in pairs if p.measure in measures)
    return Layout(
        f"Published figures within {_tolerances(counted)} of what was measured"
        f"{f' with {setting}' if setting else ''}; without those with a remark.",
        ["Solver", *(measure.title for measure in measures)],
        rows,
        [f"{aside} published figures with a remark are left out."] if aside else [],
    )


def _tolerances(pairs: Sequence[Pair]) -> str:
    """Return within what figures agree, up to rounding, as text."""
    tolerances = sorted({pair.figure.tolerance for pair in pairs if pair.figure.tolerance})
    return " or ".join(f"{tolerance:g}" for tolerance in tolerances)


def _ranks(pairs: Sequence[Pair]) -> Layout:
    """Return mean ranks over the datasets on which all solvers have both figures."""
    found = published_rankings(pairs)
    if not found:
        return Layout("", [], [])
    known = next(iter(found.values())).measured.ranks
    solvers = [name for name in all_solvers(pair.summary for pair in pairs) if name in known]
    columns = [[Cell(name) for name in (*solvers, "Friedman's p", "Critical difference")]]
    for published, measured in found.values():
        both = [(published.ranks[name], measured.ranks[name]) for name in solvers]
        columns.append(
            [
                *(Cell(f"{a:.1f} / {b:.1f}") for a, b in both),
                Cell(f"{p_text(published.p)} / {p_text(measured.p)}"),
                Cell(f"{measured.critical_difference:.2f}"),
            ]
        )
    setting = settings(_summaries(pairs))
    counts = [f"{measure.title} ({both.measured.n_datasets})" for measure, both in found.items()]
    return Layout(
        "Mean ranks of the solvers, published / measured, 1 the best, over the datasets (how many) "
        "on which all have both; figures with a remark count too. Friedman's test is that of all "
        "solvers being alike; solvers whose ranks differ by less than the critical difference of "
        f"Nemenyi's test at the level {LEVEL:g} are not told apart."
        f"{f' Setting: {setting}.' if setting else ''}",
        ["Solver", *counts],
        list(zip(*columns, strict=True)),
    )


def _tidy(pair: Pair) -> dict[str, object]:
    return {
        "dataset": pair.summary.title,
        "solver": pair.entry.solver,
        "measure": pair.measure.name,
        "published": pair.figure.value,
        "mean": pair.entry.mean,
        "std": pair.entry.std,
        "trials": len(pair.entry.values),
        "difference": pair.difference,
        "agrees": pair.agrees,
        "remark": pair.figure.flag,
    }

"""The table of published figures beside measured ones: what agrees, and how solvers rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dsgkit.report.entries import entry_cells, statistic
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NONE, percents
from dsgkit.report.summary import Entry, Summary, all_measures, all_solvers
from dsgkit.tasks.base import PublishedFigure
from dsgkit.tasks.measures import Measure

PUBLISHED_TABLE = "published_table"


@dataclass(frozen=True)
class _Pair:
    """A published figure and the entry that was measured at the largest finished size."""

    summary: Summary
    measure: Measure
    figure: PublishedFigure
    entry: Entry

    @property
    def difference(self) -> float | None:
        """Measured less published, in the measure's own unit; seconds depend on the machine."""
        if not self.entry.values or self.measure.unit:
            return None
        return self.entry.mean - self.figure.value

    @property
    def agrees(self) -> bool | None:
        """Whether both are within the tolerance, up to rounding; None where that says nothing."""
        difference, tolerance = self.difference, self.figure.tolerance
        if self.figure.flag or difference is None or tolerance is None:
            return None
        return abs(difference) <= tolerance + 10.0**-self.figure.decimals / 2


def published_table(shown: Sequence[Summary]) -> Table | None:
    """Return the table of all figures that were published; None if none were.

    Parameters
    ----------
    shown : sequence of Summary
        A row for every dataset and solver with a published figure.
    """
    pairs = [pair for one in shown for pair in _pairs(one)]
    if not pairs:
        return None
    measures = list(dict.fromkeys(pair.measure for pair in pairs))
    layouts = [_layout(measure, [p for p in pairs if p.measure == measure]) for measure in measures]
    layouts += [_agreement(pairs)] if any(pair.agrees is not None for pair in pairs) else []
    ranks = _ranks(pairs)
    layouts += [ranks] if ranks.rows else []
    return Table(PUBLISHED_TABLE, layouts, pd.DataFrame([_tidy(pair) for pair in pairs]))


def _pairs(summary: Summary) -> Iterator[_Pair]:
    published = summary.results.task.published
    measures = {measure.name: measure for measure in all_measures([summary])}
    for figure in published.figures if published else ():
        measure, name = measures.get(figure.measure), summary.names.get(figure.solver)
        if measure is not None and name is not None:
            yield _Pair(summary, measure, figure, summary.largest(measure)[name])


def _layout(measure: Measure, pairs: Sequence[_Pair]) -> Layout:
    """Return what was published and measured of one measure."""
    shown = list({id(pair.summary): pair.summary for pair in pairs}.values())
    tasks = [one.results.task for one in shown]
    sources = dict.fromkeys(task.published.source for task in tasks if task.published)
    settings = dict.fromkeys(task.setting for task in tasks if task.setting)
    parts = [f"{measure.caption}, as published by {'; '.join(sources)}", *settings]
    parts.append(f"measured: {statistic(measure, shown)}")
    rows = []
    for pair in pairs:
        swept = pair.summary.axis is not None
        (measured,) = entry_cells(measure, [pair.entry], note_size=swept)
        shown_value = percents(measure, pair.figure.value)
        rows.append(
            [
                Cell(pair.summary.title),
                Cell(pair.entry.solver),
                Cell(f"{shown_value:.{pair.figure.decimals}f}", value=pair.figure.value),
                measured,
                _difference(pair),
                Cell(pair.figure.flag),
            ]
        )
    header = ["Dataset", "Solver", "Published", "Measured", "Difference", "Remark"]
    return Layout(f"{', '.join(parts)}.", header, rows)


def _difference(pair: _Pair) -> Cell:
    if pair.difference is None:
        return Cell(NONE)
    text = f"{percents(pair.measure, pair.difference):+.{pair.measure.digits}f}"
    return Cell(text, best=bool(pair.agrees), value=pair.difference)


def _agreement(pairs: Sequence[_Pair]) -> Layout:
    """Return how many published figures agree with what was measured."""
    counted = [pair for pair in pairs if pair.agrees is not None]
    measures = list(dict.fromkeys(pair.measure for pair in counted))
    rows = []
    for solver in dict.fromkeys(pair.entry.solver for pair in counted):
        of_solver = [pair for pair in counted if pair.entry.solver == solver]
        found = [[p.agrees for p in of_solver if p.measure == measure] for measure in measures]
        rows.append([Cell(solver), *(Cell(f"{sum(map(bool, a))} of {len(a)}") for a in found)])
    totals = [[p.agrees for p in counted if p.measure == measure] for measure in measures]
    rows.append([Cell("All"), *(Cell(f"{sum(map(bool, a))} of {len(a)}") for a in totals)])
    tolerances = sorted({pair.figure.tolerance for pair in counted if pair.figure.tolerance})
    aside = sum(bool(p.figure.flag) for p in pairs if p.measure in measures)
    return Layout(
        f"Published figures within {' or '.join(f'{t:g}' for t in tolerances)} of what was "
        "measured, of those that say something.",
        ["Solver", *(measure.title for measure in measures)],
        rows,
        [f"{aside} published figures with a remark are left out."] if aside else [],
    )


def _ranks(pairs: Sequence[_Pair]) -> Layout:
    """Return mean ranks over the datasets on which all solvers have both figures."""
    with_pairs = {pair.entry.solver for pair in pairs}
    solvers = [name for name in all_solvers(pair.summary for pair in pairs) if name in with_pairs]
    header, columns = ["Solver"], [[Cell(name) for name in solvers]]
    for measure in dict.fromkeys(pair.measure for pair in pairs if pair.measure.better):
        datasets = _complete([pair for pair in pairs if pair.measure == measure], solvers)
        if len(datasets) > 1 and len(solvers) > 1:
            published = _mean_ranks(
                measure, [[pair.figure.value for pair in found] for found in datasets]
            )
            measured = _mean_ranks(
                measure,
                [[round(p.entry.mean, p.figure.decimals) for p in found] for found in datasets],
            )
            both = zip(published, measured, strict=True)
            header.append(f"{measure.title} ({len(datasets)})")
            columns.append([Cell(f"{a:.1f} / {b:.1f}") for a, b in both])
    return Layout(
        "Mean ranks of the solvers, published / measured, 1 the best, over the datasets (how many) "
        "on which all have both; figures with a remark count too.",
        header,
        list(zip(*columns, strict=True)) if len(columns) > 1 else [],
    )


def _complete(pairs: Sequence[_Pair], solvers: Sequence[str]) -> list[list[_Pair]]:
    """Return the pairs of every dataset that has one for each solver, in their order."""
    found: dict[int, dict[str, _Pair]] = {}
    for pair in pairs:
        if pair.entry.values:
            found.setdefault(id(pair.summary), {})[pair.entry.solver] = pair
    return [[one[name] for name in solvers] for one in found.values() if len(one) == len(solvers)]


def _mean_ranks(measure: Measure, values: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the mean rank of every column, equal values sharing theirs."""
    from scipy.stats import rankdata

    sign = -1 if measure.better == "higher" else 1
    return np.mean([rankdata(sign * np.array(row)) for row in values], axis=0)


def _tidy(pair: _Pair) -> dict[str, object]:
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

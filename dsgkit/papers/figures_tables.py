"""Tables of the papers, with what is measured or at hand beside what was published."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
import pandas as pd

from dsgkit.data.catalogue import DATASETS
from dsgkit.errors import ResultsError
from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import Case, Evidence
from dsgkit.papers.figures import (
    Complexities,
    DatasetTable,
    Figures,
    Growth,
    MeasureTable,
    Shown,
    Stated,
)
from dsgkit.papers.figures_drawn import (
    Filled,
    Look,
    case_of,
    file_name,
    filled,
    measure_of,
    panels_of,
)
from dsgkit.papers.growth import Grows
from dsgkit.papers.verdicts import Point
from dsgkit.report.entries import (
    UNITS,
    best_means,
    entry_cells,
    footnotes,
    statistic,
)
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NONE, counted, percents, short_count
from dsgkit.report.output import TableOutput
from dsgkit.report.pairs import pairs_of
from dsgkit.report.summary import Entry, Size, Summary, all_solvers, settings
from dsgkit.tasks.base import PublishedFigure
from dsgkit.tasks.measures import Measure

LEAST_TRIALS = 2
LEAST_SIZES = 2

NOT_MEASURED = "not measured"
NO_ALGORITHM = "not here"


def table_output(
    paper: Figures, shown: Shown, evidence: Evidence, look: Look
) -> TableOutput | None:
    """Return a table of a paper; None for a figure.

    Raises
    ------
    ResultsError
        If it needs results and there are none.
    """
    summaries: Sequence[Summary] = ()
    if isinstance(shown, MeasureTable):
        panels = panels_of(paper, shown, evidence, look)
        parts = filled(paper, panels, shown.methods, evidence, look)
        measure = measure_of(paper, shown, parts)
        summaries, table = parts.shown, _measures(paper, shown, parts, measure)
    elif isinstance(shown, Complexities):
        table = _complexities(paper, shown, evidence, look)
    elif isinstance(shown, DatasetTable):
        table = _datasets(paper, shown)
    elif isinstance(shown, Stated):
        table = _stated(paper, shown)
    else:
        return None
    return TableOutput(
        name=table.name, output="", shown=summaries, has=lambda _: True, make=lambda: table
    )


def _caption(paper: Figures, shown: Shown, further: str = "") -> str:
    return " ".join(filter(None, [f"{paper.key}, {shown.name}: {shown.title}.", further]))


def _measures(paper: Figures, shown: MeasureTable, parts: Filled, measure: Measure) -> Table:
    """Return datasets by methods at one size each, with published figures where there are any."""
    solvers = list(all_solvers(parts.shown))
    rows, frame, notes = [], [], []
    noted: list[tuple[Summary, list[Entry]]] = []
    absent: dict[str, list[str]] = {}
    remaining = iter(parts.shown)
    for place in range(len(parts.shown) + len(parts.empty)):
        if place in parts.empty:
            title, why = parts.empty[place]
            rows.append([Cell(title), *(Cell(NONE) for _ in solvers)])
            absent.setdefault(" ".join(why.split()), []).append(title)
            continue
        one = next(remaining)
        size = _size(one, measure, shown.size)
        entries = one.entries(measure)
        found = [entries[name, size] if name in one.solvers else None for name in solvers]
        published = _published(one, measure)
        cells = entry_cells(measure, found)
        beside = [published.get(name) for name in solvers]
        pairs = zip(cells, beside, strict=True)
        sized = f"{one.title}, {short_count(size.n)}" if _sized(shown, one) else one.title
        rows.append([Cell(sized), *(_beside(measure, cell, was) for cell, was in pairs)])
        noted.append((one, [entry for entry in found if entry]))
        notes += [
            f"{one.title}, {name}: {was.flag}."
            for name, was in zip(solvers, beside, strict=True)
            if was and was.flag
        ]
        frame += [_tidy(one, entry, was) for entry, was in zip(found, beside, strict=True) if entry]
    has_published = any(one["published"] is not None for one in frame)
    words = [f"{measure.caption}{UNITS[measure.unit]}", statistic(measure, parts.shown)]
    words += ["in parentheses as published (!: see below)"] if has_published else []
    words += [setting] if (setting := settings(parts.shown)) else []
    left_out = [f"{', '.join(titles)}: {why}." for why, titles in absent.items()]
    layout = Layout(
        _caption(paper, shown, f"{', '.join(words)}."),
        ["Dataset", *solvers],
        rows,
        [*footnotes(noted, titled=True), *notes, *left_out, *shown.notes],
        best_means(measure),
    )
    return Table(file_name(shown), [layout], pd.DataFrame(frame))


def _sized(shown: MeasureTable, one: Summary) -> bool:
    return shown.size is not None and one.axis is not None


def _size(one: Summary, measure: Measure, most: int | None) -> Size:
    """Return the largest size with values up to one; the smallest if all are larger."""
    entries = one.entries(measure)
    sizes = [s for s in one.sizes if any(entries[name, s].values for name in one.solvers)]
    return next((s for s in reversed(sizes) if most is None or s.n <= most), sizes[0])


def _published(one: Summary, measure: Measure) -> dict[str, PublishedFigure]:
    """Return the published figures of a measure by solver."""
    return {pair.entry.solver: pair.figure for pair in pairs_of(one) if pair.measure == measure}


def _beside(measure: Measure, cell: Cell, was: PublishedFigure | None) -> Cell:
    """Return a cell with the published figure behind it."""
    if was is None:
        return cell
    value = f"{percents(measure, was.value):.{was.decimals}f}"
    note = f"({value}{'!' if was.flag else ''})"
    return Cell(cell.text, f"{cell.note} {note}".strip(), cell.best, cell.value, mark=cell.mark)


def _tidy(one: Summary, entry: Entry, was: PublishedFigure | None) -> dict[str, object]:
    return {
        "dataset": one.title,
        "solver": entry.solver,
        "size": entry.size.n,
        "value": entry.centre,
        "std": entry.std,
        "trials": len(entry.values),
        "status": entry.status,
        "published": was.value if was else None,
        "remark": was.flag if was else "",
    }


def _complexities(paper: Figures, shown: Complexities, evidence: Evidence, look: Look) -> Table:
    """Return stated orders beside the exponents that results have."""
    found = [case_of(paper, panel, evidence, look) for panel in shown.panels]
    cases = [case for case in found if case]
    rows, frame = [], []
    for stated in _published_rows("complexities.csv"):
        if stated["paper"] != paper.key:
            continue
        method = stated["method"]
        growths = shown.measured.get(method)
        points = [(growth, _growth(growth, cases, evidence)) for growth in growths or ()]
        cells = [Cell(method)]
        for what, order in (("time", "time"), ("memory", "space")):
            of = [pair for pair in points if pair[0].of == what]
            measured = NO_ALGORITHM if growths is None else _exponents(of)
            cells += [Cell(stated[order] or NONE), Cell(measured)]
        rows.append(cells)
        frame += [
            {
                "method": method,
                "stated": stated["time" if growth.of == "time" else "space"],
                "of": growth.of,
                "grows": growth.symbol,
                "where": point.where,
                "exponent": point.estimate,
                "low": point.low,
                "high": point.high,
                "lengths": point.note,
            }
            for growth, several in points
            for point in several
        ]
    layout = Layout(
        _caption(
            paper,
            shown,
            "Orders as stated beside measured exponents: the slope of the median on log scales, "
            "with its 95% interval, or the range over several datasets.",
        ),
        ["Algorithm", "Time", "measured", "Memory", "measured"],
        rows,
        shown.notes,
    )
    columns = ["method", "stated", "of", "grows", "where", "exponent", "low", "high", "lengths"]
    return Table(file_name(shown), [layout], pd.DataFrame(frame, columns=columns))


def _growth(growth: Growth, cases: Sequence[Case], evidence: Evidence) -> list[Point]:
    """Return the slopes that there are enough results for."""
    if growth.config is not None:
        special = evidence.case(growth.config, growth.config, [""])
        cases = [special] if special else []
    test = Grows.model_validate(
        {
            "by": "protocol",
            "test": "grows",
            "a": growth.a,
            "measure": "fit" if growth.of == "time" else "peak_memory",
            "axis": growth.axis,
            "sizes": {"min": growth.least},
            "interval": [0.0, None],
            "lengths": LEAST_SIZES,
            "trials": LEAST_TRIALS,
            "leave_out": growth.without,
            "minus": growth.minus,
        }
    )
    return [point for point in test.points(Scope(cases)) if point.estimate is not None]


def _exponents(measured: Sequence[tuple[Growth, Sequence[Point]]]) -> str:
    """Return measured exponents in words."""
    texts = [_exponent(growth, points) for growth, points in measured if points]
    return ", ".join(texts) or NOT_MEASURED


def _exponent(growth: Growth, points: Sequence[Point]) -> str:
    slopes = np.array([point.estimate for point in points])
    if len(points) == 1:
        (point,) = points
        return f"{growth.symbol}^{point.estimate:.1f} [{point.low:.1f}, {point.high:.1f}]"
    span = f"{slopes.min():.1f} to {slopes.max():.1f}"
    return f"{growth.symbol}^({span}) ({counted(len(points), 'dataset')})"


def _datasets(paper: Figures, shown: DatasetTable) -> Table:
    """Return published sizes beside those of the catalogue."""
    published = _published_rows(shown.published)
    rows, frame = [], []
    has_classes = any(one.get("classes") for one in published)
    for one in published:
        info = DATASETS[one["dataset"]]
        title = one.get("printed") or info.title
        sizes = [(one["rows"], info.n_rows), (one["features"], info.n_features)]
        texts = [Cell(text) for pair in sizes for text in map(_count, pair)]
        classes = [Cell(_count(one["classes"]))] if has_classes else []
        rows.append([Cell(title), *texts, *classes, Cell(info.homepage)])
        frame.append(
            {
                "dataset": info.name,
                "title": title,
                "rows_published": one["rows"],
                "rows": info.n_rows,
                "features_published": one["features"],
                "features": info.n_features,
                "classes_published": one.get("classes"),
                "address": info.homepage,
            }
        )
    header = ["Dataset", "Rows, published", "here", "Features, published", "here"]
    header += ["Classes, published"] if has_classes else []
    layout = Layout(_caption(paper, shown), [*header, "Address"], rows, shown.notes)
    return Table(file_name(shown), [layout], pd.DataFrame(frame))


def _published_rows(name: str) -> list[dict[str, str]]:
    with files("dsgkit.published").joinpath(name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _count(value: str | int | None) -> str:
    return f"{int(value):,}" if value else NONE


def _stated(paper: Figures, shown: Stated) -> Table:
    """Return what a paper defines.

    Raises
    ------
    ResultsError
        For an illustration, which has no table.
    """
    if not shown.rows:
        told = " ".join([f"{shown.title}.", *shown.notes])
        raise ResultsError(f"{paper.key}/{shown.number}: {told}")
    rows = [[Cell(text) for text in row] for row in shown.rows]
    layout = Layout(_caption(paper, shown), shown.header, rows, shown.notes)
    return Table(file_name(shown), [layout], pd.DataFrame(shown.rows, columns=shown.header))

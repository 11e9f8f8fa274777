"""Tables of the papers: published values with measured ones, or with those of the data."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import pandas as pd

from dsgkit.data.catalogue import DATASETS
from dsgkit.papers.cases import Case as Fits
from dsgkit.papers.evidence import Case, Evidence
from dsgkit.papers.figures import (
    Complexities,
    DatasetTable,
    Figures,
    Growth,
    MeasureTable,
    NothingToShowError,
    Panel,
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
from dsgkit.papers.judge import NO_RESULTS
from dsgkit.papers.schema import Grows
from dsgkit.papers.tests import Point, grows
from dsgkit.published.bsgd_svc import published_of
from dsgkit.report.entries import (
    UNITS,
    best_means,
    entry_cells,
    footnotes,
    statistic,
)
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NO_VALUE, counted, percents, short_count
from dsgkit.report.output import TableOutput
from dsgkit.report.summary import Entry, Size, Summary, settings
from dsgkit.tasks import base as tasks
from dsgkit.tasks.measures import STANDARD, Measure, PublishedFigure

LEAST_TRIALS = 2
LEAST_SIZES = 2

NOT_MEASURED = "not measured"
NO_ALGORITHM = "not here"

DATASET_HEADER = [
    "Dataset",
    *("Rows published", "Rows here", "Features published", "Features here"),
    "Classes published",
]
EXPONENT_COLUMNS = [
    *("method", "stated", "of", "grows", "where"),
    *("exponent", "low", "high", "lengths"),
]


def table_output(
    paper: Figures, shown: Shown, evidence: Evidence, look: Look
) -> TableOutput | None:
    """Return a table of a paper; None for a figure.

    Raises
    ------
    ResultsError
        If the table needs results and there are none.
    """
    summaries: Sequence[Summary] = ()
    if isinstance(shown, MeasureTable):
        panels = panels_of(paper, shown, evidence, look)
        parts = filled(paper, panels, shown.methods, evidence, look)
        summaries, table = parts.shown, _measures(paper, shown, panels, parts, look)
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


@dataclass(frozen=True)
class _Row:
    """A row: a dataset's results, if any, with an entry and a published figure per column."""

    title: str
    one: Summary | None
    size: Size | None
    entries: list[Entry | None]
    published: list[PublishedFigure | None]

    def cells(self, shown: MeasureTable, measure: Measure) -> list[Cell]:
        """Return the printed row."""
        sized = shown.size is not None and self.one is not None and self.one.axis is not None
        title = f"{self.title}, {short_count(self.size.n)}" if sized and self.size else self.title
        pairs = zip(entry_cells(measure, self.entries), self.published, strict=True)
        return [Cell(title), *(_with_published(measure, cell, was) for cell, was in pairs)]

    def tidy(self, solvers: Sequence[str]) -> Iterator[dict[str, object]]:
        """Yield the row as tidy data."""
        for name, entry, was in zip(solvers, self.entries, self.published, strict=True):
            if entry or was:
                yield {
                    "dataset": self.title,
                    "solver": name,
                    "size": entry.size.n if entry else None,
                    "value": entry.centre if entry else None,
                    "std": entry.std if entry else None,
                    "trials": len(entry.values) if entry else 0,
                    "status": entry.status if entry else NO_RESULTS,
                    "published": was.value if was else None,
                    "remark": was.flag if was else "",
                }


def _measures(
    paper: Figures, shown: MeasureTable, panels: Sequence[Panel], parts: Filled, look: Look
) -> Table:
    """Return the table of datasets by methods, each at one size, with published figures."""
    measure = _measure(paper, shown, parts, look)
    solvers = {key: name for one in parts.shown for key, name in one.names.items()}
    solvers = solvers or shown.printed
    rows = [_row(shown, measure, parts, i, panel, solvers) for i, panel in enumerate(panels)]
    noted = [(row.one, [entry for entry in row.entries if entry]) for row in rows if row.one]
    left_out = f"Without results: {parts.left_out}." if parts.empty else ""
    names = list(solvers.values())
    layout = Layout(
        _caption(paper, shown, _in_words(measure, parts, rows)),
        ["Dataset", *names],
        [row.cells(shown, measure) for row in rows],
        [
            *footnotes(noted, titled=True),
            *_remarks(rows, names),
            *filter(None, [left_out]),
            *shown.notes,
        ],
        best_means(measure),
    )
    frame = pd.DataFrame([one for row in rows for one in row.tidy(names)])
    return Table(file_name(shown), [layout], frame)


def _measure(paper: Figures, shown: MeasureTable, parts: Filled, look: Look) -> Measure:
    """Return the measure as defined in the results or, without any, by the task."""
    if parts.shown or not shown.printed:
        return measure_of(paper, shown, parts, look)
    measures = (*tasks.get(paper.paper.task).measures, *STANDARD)
    return next(one for one in measures if one.name == shown.measure)


def _row(
    shown: MeasureTable,
    measure: Measure,
    parts: Filled,
    place: int,
    panel: Panel,
    solvers: Mapping[str, str],
) -> _Row:
    one = parts.by_place.get(place)
    known = _published(shown, panel, one)
    published = {figure.solver: figure for figure in known if figure.measure == measure.name}
    figures = [published.get(key) for key in solvers]
    if one is None:
        return _Row(panel.title, None, None, [None] * len(solvers), figures)
    size = _size(one, measure, shown.size)
    entries = one.entries(measure)
    shown_entries = [
        entries[name, size] if name in one.solvers else None for name in solvers.values()
    ]
    return _Row(one.title, one, size, shown_entries, figures)


def _published(shown: MeasureTable, panel: Panel, one: Summary | None) -> Sequence[PublishedFigure]:
    """Return the published figures of a dataset with or without results."""
    if one is not None:
        published = one.results.task.published
    else:
        published = published_of(panel.dataset) if shown.printed else None
    return published.figures if published else ()


def _in_words(measure: Measure, parts: Filled, rows: Sequence[_Row]) -> str:
    """Return the caption's sentence on the numbers of the table."""
    has_published = any(was for row in rows for was in row.published)
    words = [f"{measure.caption}{UNITS[measure.unit]}"]
    words += [statistic(measure, parts.shown)] if parts.shown else []
    words += ["in parentheses as published (!: see below)"] if has_published else []
    words += [settings(parts.shown)] if parts.shown else []
    return f"{', '.join(filter(None, words))}."


def _remarks(rows: Sequence[_Row], solvers: Sequence[str]) -> Iterator[str]:
    """Yield the remarks on published figures, each with its datasets."""
    titles: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, was in zip(solvers, row.published, strict=True):
            if was and was.flag:
                titles.setdefault((name, was.flag), []).append(row.title)
    for (name, flag), several in titles.items():
        yield f"{', '.join(several)}; {name}: {flag}."


def _size(one: Summary, measure: Measure, most: int | None) -> Size:
    """Return the largest size with values up to ``most``, else the smallest."""
    entries = one.entries(measure)
    sizes = [s for s in one.sizes if any(entries[name, s].values for name in one.solvers)]
    return next((s for s in reversed(sizes) if most is None or s.n <= most), sizes[0])


def _with_published(measure: Measure, cell: Cell, was: PublishedFigure | None) -> Cell:
    """Return a cell with the published figure in its note."""
    if was is None:
        return cell
    value = f"{percents(measure, was.value):.{was.decimals}f}"
    note = f"({value}{'!' if was.flag else ''})"
    return Cell(cell.text, f"{cell.note} {note}".strip(), cell.best, cell.value, mark=cell.mark)


def _complexities(paper: Figures, shown: Complexities, evidence: Evidence, look: Look) -> Table:
    """Return the table of stated orders and measured exponents."""
    every = [case_of(paper, panel, evidence, look) for panel in shown.panels]
    cases = [case for case in every if case]
    rows, frame = [], []
    for stated in _published_rows("complexities.csv"):
        if stated["paper"] != paper.key:
            continue
        growths = shown.measured.get(stated["method"])
        points = [(growth, _growth(growth, cases, evidence)) for growth in growths or ()]
        rows.append(_orders(stated, None if growths is None else points))
        frame += [
            _exponent_data(stated, growth, point) for growth, several in points for point in several
        ]
    text = (
        "Orders as stated beside measured exponents: the slope of the median on log scales, with "
        "its 95% interval, or the range over several datasets."
    )
    header = ["Algorithm", "Time", "measured", "Memory", "measured"]
    layout = Layout(_caption(paper, shown, text), header, rows, shown.notes)
    return Table(file_name(shown), [layout], pd.DataFrame(frame, columns=EXPONENT_COLUMNS))


def _orders(
    stated: Mapping[str, str], points: Sequence[tuple[Growth, Sequence[Point]]] | None
) -> list[Cell]:
    """Return a method's row: its stated orders, and measured exponents if any."""
    cells = [Cell(stated["method"])]
    for what, order in (("time", "time"), ("memory", "space")):
        pairs = [pair for pair in points or () if pair[0].of == what]
        measured = NO_ALGORITHM if points is None else _exponents(pairs)
        cells += [Cell(stated[order] or NO_VALUE), Cell(measured)]
    return cells


def _exponent_data(stated: Mapping[str, str], growth: Growth, point: Point) -> dict[str, object]:
    """Return a measured exponent as tidy data."""
    return {
        "method": stated["method"],
        "stated": stated["time" if growth.of == "time" else "space"],
        "of": growth.of,
        "grows": growth.symbol,
        "where": point.where,
        "exponent": point.estimate,
        "low": point.low,
        "high": point.high,
        "lengths": point.note,
    }


def _growth(growth: Growth, cases: Sequence[Case], evidence: Evidence) -> list[Point]:
    """Return the slopes with enough results."""
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
    points = grows(test, [Fits(case.name, case.run) for case in cases])
    return [point for point in points if point.estimate is not None]


def _exponents(measured: Sequence[tuple[Growth, Sequence[Point]]]) -> str:
    """Return measured exponents as text."""
    texts = [_exponent(growth, points) for growth, points in measured if points]
    return ", ".join(texts) or NOT_MEASURED


def _exponent(growth: Growth, points: Sequence[Point]) -> str:
    slopes = np.array([point.estimate for point in points])
    if len(points) == 1:
        (point,) = points
        return f"{growth.symbol}^{point.estimate:.1f} [{point.low:.1f}, {point.high:.1f}]"
    least, most = f"{slopes.min():.1f}", f"{slopes.max():.1f}"
    span = least if least == most else f"({least} to {most})"
    return f"{growth.symbol}^{span} ({counted(len(points), 'dataset')})"


def _datasets(paper: Figures, shown: DatasetTable) -> Table:
    """Return the table of published and actual sizes of datasets."""
    rows, frame = [], []
    for one in _published_rows(shown.published):
        info = DATASETS[one["dataset"]]
        title = one.get("printed") or info.title
        numbers = [one["rows"], info.n_rows, one["features"], info.n_features, one.get("classes")]
        rows.append([Cell(title, link=info.homepage), *map(_count, numbers)])
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
    layout = Layout(_caption(paper, shown), DATASET_HEADER, rows, shown.notes)
    filled = [True, *layout.numeric_columns[1:]]
    return Table(file_name(shown), [layout.with_columns(filled)], pd.DataFrame(frame))


def _published_rows(name: str) -> list[dict[str, str]]:
    with files("dsgkit.published").joinpath(name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _count(value: str | int | None) -> Cell:
    return Cell(f"{int(value):,}", value=int(value)) if value else Cell(NO_VALUE)


def _stated(paper: Figures, shown: Stated) -> Table:
    """Return a paper's table of definitions.

    Raises
    ------
    ResultsError
        For an illustration, which has no table.
    """
    if not shown.rows:
        raise NothingToShowError(paper, shown, " ".join(shown.notes).rstrip("."))
    rows = [[Cell(text) for text in row] for row in shown.rows]
    layout = Layout(_caption(paper, shown), shown.header, rows, shown.notes)
    return Table(file_name(shown), [layout], pd.DataFrame(shown.rows, columns=shown.header))

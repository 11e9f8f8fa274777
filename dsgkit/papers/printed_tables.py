"""The tables of the papers: published values with measured ones, or with those of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from dsgkit.data.catalogue import DATASETS
from dsgkit.papers.cases import Case
from dsgkit.papers.figures import Growth, Printed, at_most
from dsgkit.papers.schema import criterion
from dsgkit.papers.tests import WIDEST_INTERVAL, grows
from dsgkit.published import rows_of
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.frame import entries, settings, sizes_with
from dsgkit.report.measure_tables import best_means, column_title, entry_cells, notes, statistic
from dsgkit.report.numbers import NO_VALUE, counted, percents, short_count

Slope = tuple[str, float, float, float, str]  # where, with its interval, and by which sizes
MEASURED = ["dataset", "solver", "size", "value", "std", "trials", "status", "published", "remark"]
EXPONENTS = ["method", "stated", "of", "grows", "where", "exponent", "low", "high", "lengths"]


def measure_table(of: Printed) -> Table:
    """Return the table of datasets by methods, each at one size, with published values."""
    measure, names = of.measure(), of.names
    rows, found, data = [], [], []
    flags: dict[str, list[str]] = {}
    for panel in of.shown.panels:
        if (run := of.runs.get(panel.title)) is None:
            rows.append([Cell(panel.title), *[Cell(NO_VALUE)] * len(names)])
            continue
        size = at_most(sorted(sizes_with(run, measure)) or [0], of.shown.size)
        title = run.title + (f", {short_count(size)}" if of.shown.size and run.axis else "")
        row = {one.solver: one for one in entries(run, measure) if one.size == size}
        found.append((run, [*row.values()]))
        known = run.task.published.figures if run.task.published else ()
        values = {one.solver: one for one in known if one.measure == measure.name}
        cells = entry_cells(measure, [row.get(key) for key in names])
        for i, (key, name) in enumerate(names.items()):
            printed: tuple[float | None, str] = (None, "")
            if value := values.get(key):
                printed = value.value, value.flag
                text = (
                    f"{percents(measure, value.value):.{value.decimals}f}{'!' * bool(value.flag)}"
                )
                cells[i] = replace(cells[i], note=f"{cells[i].note} ({text})".strip())
                if value.flag:
                    flags.setdefault(f"{name}: {value.flag}", []).append(title)
            if one := row.get(key):
                numbers = one.size, one.centre, one.std, len(one.values), one.ending
                data.append((title, name, *numbers, *printed))
        rows.append([Cell(title), *cells])
    runs = [*of.runs.values()]
    setting = settings(runs)
    words = [f"{column_title(measure)}: {statistic(measure, runs)}"]
    if any(published is not None for *_, published, _ in data):
        words.append("in parentheses as published (!: see below)")
    lacking = [panel.title for panel in of.shown.panels if panel.title not in of.runs]
    notes_ = [f"{', '.join(titles)}; {text}." for text, titles in flags.items()]
    notes_ += [f"Without results: {', '.join(lacking)}."] if lacking else []
    layout = Layout(
        of.caption(f"{', '.join(words)}."),
        ["Dataset", *names.values()],
        rows,
        [*notes(found), *notes_, *of.shown.notes],
        best_means(measure),
        about=f"{setting}." if setting else "",
    )
    return Table(of.shown.file_name, [layout], pd.DataFrame(data, columns=MEASURED))


def complexity_table(of: Printed) -> Table:
    """Return the table of stated orders and measured exponents."""
    rows, data = [], []
    for stated in rows_of("complexities.csv"):
        if stated["paper"] != of.paper.key:
            continue
        method, orders = stated["method"], {"time": stated["time"], "memory": stated["space"]}
        cells = [Cell(method)]
        for what, order in orders.items():
            growths = [one for one in of.shown.measured.get(method, ()) if one.of == what]
            several = [(one.symbol, slopes) for one in growths if (slopes := _growth(of, one))]
            none = "not measured" if method in of.shown.measured else "not here"
            measured = ", ".join(_exponent(*pair) for pair in several) or none
            cells += [Cell(order or NO_VALUE), Cell(measured)]
            for symbol, slopes in several:
                data += [(method, order, what, symbol, *slope) for slope in slopes]
        rows.append(cells)
    text = (
        "Orders as stated, and measured exponents: slopes of medians on log scales, with a 95% "
        f"interval, or the range over datasets. Intervals wider than {WIDEST_INTERVAL:g} are left "
        "out."
    )
    header = ["Algorithm", "Time", "measured", "Memory", "measured"]
    layout = Layout(of.caption(text), header, rows, of.shown.notes)
    return Table(of.shown.file_name, [layout], pd.DataFrame(data, columns=EXPONENTS))


def _growth(of: Printed, growth: Growth) -> list[Slope]:
    """Return the slope on each dataset where its interval is narrow enough."""
    runs = {run.title: run for run in of.runs.values()}
    if growth.config:
        special = of.kept.find(growth.config, ["full", ""])
        runs = {growth.config: special} if special else {}
    test = criterion(
        {
            **{"test": "grows", "a": growth.a, "axis": growth.axis},
            "measure": "fit" if growth.of == "time" else "peak_memory",
            **{"sizes": {"min": growth.least}, "interval": [0.0, None], "lengths": 2, "trials": 2},
            **{"leave_out": growth.without, "minus": growth.minus},
        }
    )
    return [
        (point.where, point.estimate, point.low, point.high, point.note)
        for point in grows(test, [Case(name, run) for name, run in runs.items()])
        if point.estimate is not None and point.low is not None and point.high is not None
        if point.high - point.low <= WIDEST_INTERVAL
    ]


def _exponent(symbol: str, slopes: Sequence[Slope]) -> str:
    texts = [f"{slope:.1f}" for slope in sorted(slope for _, slope, *_ in slopes)]
    if len(slopes) == 1:
        return f"{symbol}^{texts[0]} [{slopes[0][2]:.1f}, {slopes[0][3]:.1f}]"
    span = texts[0] if texts[0] == texts[-1] else f"({texts[0]} to {texts[-1]})"
    return f"{symbol}^{span} ({counted(len(slopes), 'dataset')})"


def dataset_table(of: Printed) -> Table:
    """Return the table of published sizes of datasets, and of those that ran."""
    pairs = [(panel, of.runs[panel.title]) for panel in of.shown.panels if panel.title in of.runs]
    ran = {name: run for panel, run in pairs for name in (panel.dataset, run.dataset)}
    rows, data = [], []
    for row in rows_of(of.shown.published):
        info, run = DATASETS[row["dataset"]], ran.get(row["dataset"])
        title = row.get("printed") or info.title
        title += f" (here {run.dataset})" if run and run.dataset != info.name else ""
        sizes = {
            "rows_published": row["rows"],
            "rows": run.data.get("n_rows") if run else None,
            "features_published": row["features"],
            "features": run.data.get("n_features") if run else None,
            "classes_published": row.get("classes"),
        }
        counts = (int(n) if n else None for n in sizes.values())
        cells = (Cell(NO_VALUE if n is None else f"{n:,}", value=n) for n in counts)
        rows.append([Cell(title, link=info.homepage), *cells])
        data.append({"dataset": info.name, "title": title, **sizes, "address": info.homepage})
    header = ["Dataset", "Rows published", "Rows here", "Features published", "Features here"]
    layout = Layout(of.caption(), [*header, "Classes published"], rows, of.shown.notes)
    layout = layout.with_columns([True, *layout.numeric_columns[1:]])
    return Table(of.shown.file_name, [layout], pd.DataFrame(data))


def stated_table(of: Printed) -> Table:
    """Return the paper's table of definitions; an illustration has none."""
    shown = of.shown
    if not shown.rows:
        raise of.error(" ".join(shown.notes).rstrip("."))
    layout = Layout(
        of.caption(), shown.header, [[*map(Cell, row)] for row in shown.rows], shown.notes
    )
    return Table(shown.file_name, [layout], pd.DataFrame(shown.rows, columns=shown.header))

"""Tables of a measure: solvers by sizes, or datasets by solvers at their largest size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from dsgkit.report.entries import (
    UNITS,
    best_means,
    entry_cells,
    footnotes,
    statistic,
)
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.summary import Entry, Summary, all_axes, all_solvers, lowered, settings
from dsgkit.tasks.measures import Measure


def size_table(shown: Sequence[Summary], name: str, measures: Sequence[Measure]) -> Table:
    """Return the table of solvers by sizes or, for several results, of datasets by solvers."""
    several = len(shown) > 1
    by_one = [(one, [m for m in measures if one.shows(m)]) for one in shown]
    layouts = [
        _by_dataset([one for one, own in by_one if measure in own], measure)
        if several
        else _by_size(shown[0], measure)
        for measure in measures
    ]
    parts = [
        (one, own, (one.largest(own[0]) if several else one.entries(own[0])).values())
        for one, own in by_one
        if own
    ]
    return Table(name, layouts, _tidy(parts))


def _by_size(summary: Summary, measure: Measure) -> Layout:
    """Return the table of solvers by sizes; with one column without a sweep."""
    entries, axis = summary.entries(measure), summary.axis
    solvers = list(summary.solvers)
    columns = [
        entry_cells(measure, [entries[solver, size] for solver in solvers])
        for size in summary.sizes
    ]
    caption = [f"{measure.caption}{UNITS[measure.unit]}", statistic(measure, [summary])]
    caption += [] if axis is None else [f"at each number of {lowered(axis.title)}"]
    about = ", ".join(filter(None, [summary.heading, settings([summary])]))
    detail = [statistic(measure, [summary]), _sizes_text(summary)]
    header = [measure.title] if axis is None else [size.text for size in summary.sizes]
    return Layout(
        f"{', '.join(caption)}; {about}.",
        ["Solver", *header],
        list(zip(map(Cell, solvers), *columns, strict=True)),
        footnotes([(summary, entries.values())], titled=False),
        best_means(measure),
        corner="" if axis is None else axis.title,
        head=_head(measure),
        detail=", ".join(filter(None, detail)),
        about=f"{about}.",
    )


def _head(measure: Measure) -> str:
    """Return a short title of the numbers."""
    title = measure.title if measure.unit == "bytes" else measure.axis_label
    return f"{title}{f' on the {measure.where}' if measure.where else ''}"


def _sizes_text(summary: Summary) -> str:
    """Return the only size, or the axis of several; empty without a sweep."""
    if summary.axis is None:
        return ""
    axis = lowered(summary.axis.title)
    return f"by {axis}" if len(summary.sizes) > 1 else f"at {summary.sizes[0].text} {axis}"


def _by_dataset(shown: Sequence[Summary], measure: Measure) -> Layout:
    """Return the table of datasets by solvers, each at its largest finished size."""
    solvers = list(all_solvers(shown))
    rows = []
    parts = [(one, one.largest(measure)) for one in shown]
    for one, largest in parts:
        entries, swept = [largest.get(solver) for solver in solvers], one.axis is not None
        cells = entry_cells(measure, entries, note_size=swept, contest=not one.to_come)
        rows.append([Cell(one.heading), *cells])
    setting, axes = settings(shown), lowered(all_axes(shown))
    at = f"at the largest number of {axes} at which the solver finished (in parentheses)"
    value, where = statistic(measure, shown), at if axes else ""
    caption = [f"{measure.caption}{UNITS[measure.unit]}", value, setting, where]
    return Layout(
        f"{', '.join(filter(None, caption))}.",
        ["Dataset", *solvers],
        rows,
        footnotes([(one, largest.values()) for one, largest in parts], titled=True),
        best_means(measure),
        corner="Solver",
        head=_head(measure),
        detail=", ".join(filter(None, [value, where])),
        about=setting and f"{setting}.",
    )


def _tidy(parts: Sequence[tuple[Summary, Sequence[Measure], Iterable[Entry]]]) -> pd.DataFrame:
    """Return entries of the first measure as tidy data, with a column per further measure."""
    frame = pd.DataFrame(
        [
            _row(summary, entry, measures[1:])
            for summary, measures, entries in parts
            for entry in entries
        ]
    )
    axes = {summary.axis.name for summary, _, _ in parts if summary.axis}
    frame = frame.drop(columns=[name for name in ("remarks", "level") if not frame[name].any()])
    # Integers, with missing values.
    whole = [name for name in frame if name.endswith("_bytes") or name in axes]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _row(summary: Summary, entry: Entry, further: Sequence[Measure]) -> dict[str, Any]:
    row = {
        "dataset": summary.title,
        "solver": entry.solver,
        **({summary.axis.name: entry.size.n} if summary.axis else {}),
        **_statistics(entry),
        "trials": len(entry.values),
        "status": entry.status,
        "needed_bytes": entry.needed,
        "remarks": "; ".join(f"{n}: {text}" for text, n in entry.remarks.items()),
        "level": entry.level,
    }
    for measure in further:
        other = summary.entries(measure)[entry.solver, entry.size]
        if measure.unit == "bytes":
            row[f"{measure.name}_bytes"] = max(other.values, default=None)
        else:
            row[measure.name] = other.centre
    return row


def _statistics(entry: Entry) -> dict[str, Any]:
    if not entry.timed:
        return {"mean": entry.mean, "std": entry.std}
    lowest, highest = entry.spread or (None, None)
    return {
        "median": entry.centre,
        "lowest": lowest,
        "highest": highest,
        "disturbed": entry.disturbed,
    }

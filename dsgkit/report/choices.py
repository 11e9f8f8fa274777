"""The table of chosen hyper-parameters and of their scores on held-out folds."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.experiment.results import Results
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import grid_edges, grid_text, percents, value_text
from dsgkit.report.output import EVERY_REPORT, TableOutput
from dsgkit.report.summary import Summary, lowered
from dsgkit.tasks.measures import PARAMS_TABLE, Measure

SHORTEST_WITH_INSIDE = 3
"""Least length of a grid with values between its ends."""

_COLUMNS = ("dataset", "solver", "parameter", "value", "count", "grid", "at_edge")


def params_tables(shown: Sequence[Summary]) -> Iterator[TableOutput]:
    """Yield the table of chosen hyper-parameters of one results folder."""
    yield TableOutput(
        name=PARAMS_TABLE,
        output=EVERY_REPORT,
        shown=shown,
        has=lambda _: True,
        make=lambda: params_table(*shown) if len(shown) == 1 else None,
    )


def params_table(summary: Summary) -> Table:
    """Return the table of chosen hyper-parameters, the most frequent value first.

    Only parameters with several values in their grid are shown. Choices at the edge of a grid are
    counted, because they suggest a wider grid.
    """
    groups = [group for group in _choices(summary) if group]
    frame = pd.DataFrame(itertools.chain(*groups), columns=list(_COLUMNS))
    rows = []
    for group in groups:
        chosen = ", ".join(f"{row['value']} ({row['count']})" for row in group)
        total = sum(row["count"] for row in group)
        at_edge = sum(row["count"] for row in group if row["at_edge"])
        texts = (group[0]["solver"], group[0]["parameter"], chosen, group[0]["grid"])
        rows.append([*map(Cell, texts), Cell(f"{at_edge}/{total}", value=at_edge / total)])
    by = f", {selection}" if (selection := summary.results.task.selection) else ""
    axis = summary.axis
    unit, each = (
        ("searches", f" (one per trial and number of {lowered(axis.title)})")
        if (axis and axis.drawn)
        else ("trials", "")
    )
    layout = Layout(
        f"Chosen hyper-parameters and how many {unit} chose each{each}; {summary.heading}{by}.",
        ["Solver", "Parameter", f"Chosen ({unit})", "Grid", "At its edge"],
        rows,
    )
    task = summary.results.task
    held_out = [_held_out_layout(summary, one) for one in task.measures if one.name == task.chooses]
    return Table(PARAMS_TABLE, [layout, *(one for one in held_out if one.rows)], frame)


def _held_out_layout(summary: Summary, measure: Measure) -> Layout:
    """Return the held-out scores of the choices, a row per solver with a search."""
    results, rows = summary.results, []
    for key in results.experiment.solvers:
        if scores := list(_held_out(results, key)):
            means = [percents(measure, float(mean)) for mean in np.mean(scores, axis=0)]
            cells = (Cell(f"{mean:.{measure.digits}f}", value=mean) for mean in means)
            rows.append([Cell(summary.names[key]), *cells])
    return Layout(
        f"{measure.axis_label} of the chosen on held-out folds, and its standard error over the "
        f"folds of a trial: means over trials; {summary.heading}.",
        ["Solver", "Held-out score", "Standard error"],
        rows,
    )


def _held_out(results: Results, solver: str) -> Iterator[tuple[float, float]]:
    """Yield, for each trial, the choice's mean score over folds and its standard error."""
    for _, chosen, point, values in _scored(results, solver):
        if point.items() <= chosen.items() and len(values) > 1:
            yield float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _tied(results: Results, solver: str, name: str) -> Iterator[Any]:
    """Yield searches in which another value of a parameter scored as well as the chosen one."""
    best: dict[Any, tuple[float, int]] = {}
    others = defaultdict(list)
    for search, chosen, point, values in _scored(results, solver):
        if name in point and name in chosen and values:
            if point.items() <= chosen.items():
                best[search] = float(np.mean(values)), len(values)
            elif point[name] != chosen[name]:
                others[search].append((float(np.mean(values)), len(values)))
    for search, (score, folds) in best.items():
        # the tolerance of the search
        if any(n == folds and abs(other - score) < 1e-9 for other, n in others[search]):
            yield search


def _scored(
    results: Results, solver: str
) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any], list[float]]]:
    """Yield the choice of each search, and each grid point with its fold scores."""
    chosen = {
        search: params
        for search, params in _by_search(results, solver, results.cells, "params")
        if params
    }
    shares = _by_search(results, solver, results.search, "points", "fold_scores")
    for search, points, folds in shares:
        for point, scores in zip(points, folds, strict=False):
            values = [value for value in scores if value is not None]
            yield search, chosen.get(search, {}), point, values


def _by_search(
    results: Results, solver: str, frame: pd.DataFrame, *columns: str
) -> Iterator[tuple[Any, ...]]:
    """Yield for each row its search, as (trial, size), and some columns."""
    rows = frame[frame["solver"] == solver]
    axis = results.task.axis
    sizes = rows["size"] if axis and axis.drawn else itertools.repeat(0)
    searches = zip(rows["trial"], sizes, strict=False)
    return zip(searches, *(rows[name] for name in columns), strict=True)


@dataclass(frozen=True)
class EdgeChoice:
    """The number of a solver's searches that chose an end of a parameter's grid.

    The ``side`` is ``lower`` or ``upper``. Searches in which another value of the parameter scored
    as well are not counted: a wider grid would not help there.
    """

    solver: str
    parameter: str
    value: float
    side: str
    count: int
    searches: int


def edge_choices(summary: Summary) -> Iterator[EdgeChoice]:
    """Yield choices at the ends of grids that can be widened.

    Grids of two values are left out: they have no inner value.
    """
    for key, name, searched in _searched(summary):
        grid = searched[-1]
        edges = grid_edges(grid)
        if len(grid) < SHORTEST_WITH_INSIDE or not edges:
            continue
        every = _chosen(summary.results, key, name)
        tied = set(_tied(summary.results, key, name))
        facts = summary.results.task.solvers.get(key)
        bounds = facts.ends.get(name, (None, None)) if facts else (None, None)
        for side, edge, bound in zip(("lower", "upper"), edges, bounds, strict=True):
            at_edge = {search for search, value in every if edge in _parts(value)}
            if (count := len(at_edge - tied)) and edge != bound:
                yield EdgeChoice(summary.names[key], name, edge, side, count, len(every))


def _choices(summary: Summary) -> Iterator[list[dict[str, Any]]]:
    """Yield the chosen values of each parameter that any stage searched, with their counts."""
    for key, name, searched in _searched(summary):
        edges = grid_edges(searched[-1])
        yield [
            {
                "dataset": summary.title,
                "solver": summary.names[key],
                "parameter": name,
                "value": value_text(value),
                "count": count,
                "grid": "; then ".join(map(grid_text, searched)),
                # of the last stage, which makes the final choice
                "at_edge": any(n in edges for n in _parts(value)),
            }
            for value, count in _counted(summary.results, key, name)
        ]


def _searched(summary: Summary) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield a solver's key, a parameter with several values, and its grid in each stage."""
    for key, spec in summary.results.experiment.solvers.items():
        grids: dict[str, list[Any]] = {}
        for stage in spec.search:
            for name, grid in stage.choices.items():
                grids.setdefault(name, []).append(grid)
        for name, searched in grids.items():
            if max(map(len, searched)) > 1:
                yield key, name, searched


def _parts(value: Any) -> Sequence[Any]:
    """Return the numbers of a value, which may be a tuple."""
    return value if isinstance(value, tuple) else [value]


def _counted(results: Results, solver: str, name: str) -> list[tuple[Any, int]]:
    """Return how many searches chose each value, the most frequent first."""
    counts = Counter(value for _, value in _chosen(results, solver, name))
    return sorted(counts.items(), key=lambda item: (-item[1], value_text(item[0])))


def _chosen(results: Results, solver: str, name: str) -> set[tuple[Any, Any]]:
    """Return (search, chosen value) pairs of a parameter."""
    return {
        (search, _hashable(params[name]))
        for search, params in _by_search(results, solver, results.cells, "params")
        if name in params
    }


def _hashable(value: Any) -> Any:
    """Return a value of a record with tuples in place of (nested) lists."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value

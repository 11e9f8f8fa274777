"""The chosen hyper-parameters of a run: how often each value, and at which ends of grids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import Run
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.frame import lowered
from dsgkit.report.numbers import grid_edges, grid_text, value_text
from dsgkit.tasks.measures import PARAMS_TABLE

SHORTEST_WITH_INSIDE = 3  # values of a grid with values between its ends

_SEARCH = ["solver", "trial", "search"]
_SAME_SCORE = 1e-9  # the tolerance of the search


def params_table(run: Run) -> Table:
    """Return the table of chosen hyper-parameters, the most frequent value first.

    Only parameters with several values in their grid are shown. Choices at the edge of a grid are
    counted, because they suggest a wider grid.
    """
    rows, data = [], []
    for key, name, grids, values in _choices(run):
        grid, edges = "; then ".join(map(grid_text, grids)), grid_edges(grids[-1])
        counts = Counter(map(value_text, values.values()))
        at_edge = [value_text(value) for value in values.values() if _is_at(value, edges)]
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        about = run.title, run.names[key], name
        data += [(*about, text, n, grid, text in at_edge) for text, n in ordered]
        texts = ", ".join(f"{text} ({n})" for text, n in ordered)
        share = Cell(f"{len(at_edge)}/{len(values)}", value=len(at_edge) / len(values))
        rows.append([*map(Cell, (run.names[key], name, texts, grid)), share])
    unit, each, by = "trials", "", run.task.selection
    if run.axis and run.axis.drawn:
        unit, each = "searches", f" (one per trial and number of {lowered(run.axis.title)})"
    layout = Layout(
        f"Chosen hyper-parameters and how many {unit} chose each{each}{by and f': {by}'}.",
        ["Solver", "Parameter", f"Chosen ({unit})", "Grid", "At its edge"],
        rows,
        about=f"{run.heading}.",
        aside=True,
    )
    columns = ["dataset", "solver", "parameter", "value", "count", "grid", "at_edge"]
    return Table(PARAMS_TABLE, [layout], pd.DataFrame(data, columns=columns))


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


def edge_choices(run: Run) -> Iterator[EdgeChoice]:
    """Yield choices at the ends of grids that can be widened.

    Grids of two values are left out: they have no inner value.
    """
    tied = _tied(run)
    for key, name, grids, values in _choices(run):
        edges = grid_edges(grids[-1])
        if len(grids[-1]) < SHORTEST_WITH_INSIDE or not edges:
            continue
        clear = [value for at, value in values.items() if (key, *at, name) not in tied]
        facts = run.task.solvers.get(key)
        bounds = facts.ends.get(name, (None, None)) if facts else (None, None)
        for side, edge, bound in zip(("lower", "upper"), edges, bounds, strict=True):
            count = sum(_is_at(value, [edge]) for value in clear)
            if count and edge != bound:
                yield EdgeChoice(key, name, edge, side, count, len(values))


def _choices(run: Run) -> Iterator[tuple[str, str, list[Any], dict[Any, Any]]]:
    """Yield a solver, a parameter, its grid in each stage, and the value that each search chose."""
    chosen = _chosen(run)
    for key, spec in run.solvers.items():
        grids: dict[str, list[Any]] = {}
        for stage in spec.search if spec else ():
            for name, grid in stage.choices.items():
                grids.setdefault(name, []).append(grid)
        params = chosen[chosen["solver"] == key].set_index(["trial", "search"])["params"]
        for name, searched in grids.items():
            values = {search: one[name] for search, one in params.items() if name in one}
            if max(map(len, searched)) > 1 and values:
                yield key, name, searched, values


def _chosen(run: Run) -> pd.DataFrame:
    """Return the chosen parameters of each search."""
    fits = _by_search(run, run.sized)
    return fits[fits["params"].map(bool)].drop_duplicates(_SEARCH, keep="last")


def _by_search(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    """Return cells with the search of each: its size if every size has its own, else 0."""
    return table.assign(search=table["size"] if run.axis and run.axis.drawn else 0)


def _tied(run: Run) -> set[tuple[Any, ...]]:
    """Return the (solver, trial, search, parameter) in which another value scored as well."""
    shares = _by_search(run, run.searches)[[*_SEARCH, "points", "fold_scores"]]
    shares = shares[shares["points"].map(bool) & shares["fold_scores"].map(bool)]
    points = shares.explode(["points", "fold_scores"])
    points = points.merge(_chosen(run)[[*_SEARCH, "params"]], on=_SEARCH)
    scores = [[one for one in folds if one is not None] for folds in points["fold_scores"]]
    points["mean"] = [np.mean(one) if one else np.nan for one in scores]
    points["like"] = [(*p, len(s)) for p, s in zip(points["points"], scores, strict=True)]
    both = zip(points["points"], points["params"], strict=True)
    chosen = points.loc[[point.items() <= params.items() for point, params in both]]
    pairs = points.merge(chosen[[*_SEARCH, "like", "mean"]], on=[*_SEARCH, "like"])
    equal = pairs[(pairs["mean_x"] - pairs["mean_y"]).abs() < _SAME_SCORE]
    return {
        (one.solver, one.trial, one.search, name)
        for one in equal.itertuples()
        for name, value in one.points.items()
        if name in one.params and value != one.params[name]
    }


def _is_at(value: Any, edges: Any) -> bool:
    """Return whether a number, or one of several, is at an edge."""
    return any(part in edges for part in (value if isinstance(value, list) else [value]))

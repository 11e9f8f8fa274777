"""The chosen hyper-parameters of a run: how often each value, and at which ends of grids."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import Run
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import grid_edges, grid_text, value_text
from dsgkit.tasks.measures import PARAMS_TABLE

SHORTEST_WITH_INSIDE = 3  # values of a grid with values between its ends

_SAME_SCORE = 1e-9  # the tolerance of the search


def params_table(run: Run) -> Table:
    """Return the table of chosen hyper-parameters, with counts of those at the edge of a grid."""
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
    by = run.task.selection and f": {run.task.selection}"
    layout = Layout(
        f"Chosen hyper-parameters and how many searches chose each{by}.",
        ["Solver", "Parameter", "Chosen (searches)", "Grid", "At its edge"],
        rows,
        about=f"{run.heading}.",
        aside=True,
    )
    columns = ["dataset", "solver", "parameter", "value", "count", "grid", "at_edge"]
    return Table(PARAMS_TABLE, [layout], pd.DataFrame(data, columns=columns))


@dataclass(frozen=True)
class EdgeChoice:
    """The number of a solver's searches that chose an end of a parameter's grid."""

    solver: str
    parameter: str
    value: float
    side: str  # "lower" or "upper"
    count: int  # without those in which another value scored as well: a wider grid would not help
    searches: int
    wider: str = ""  # a grid with one more value, as a config spells it, if one suggests itself


def edge_choices(run: Run) -> Iterator[EdgeChoice]:
    """Yield choices at the ends of grids that can be widened, if there are values between them."""
    tied = _tied(run)
    for key, name, grids, values in _choices(run):
        edges = grid_edges(grids[-1])
        if len(grids[-1]) < SHORTEST_WITH_INSIDE or not edges:
            continue
        clear = [value for search, value in values.items() if (search, name) not in tied]
        facts = run.task.solvers.get(key)
        bounds = facts.ends.get(name, (None, None)) if facts else (None, None)
        for side, edge, bound in zip(("lower", "upper"), edges, bounds, strict=True):
            count = sum(_is_at(value, [edge]) for value in clear)
            if count and edge != bound:
                wider = _wider(grids[-1], side, bound)
                yield EdgeChoice(key, name, edge, side, count, len(values), wider)


def _wider(grid: Sequence[Any], side: str, bound: float | None) -> str:
    """Return a grid of powers with one more at an end, as a config spells it; else nothing."""
    values = sorted(grid)
    if isinstance(values[0], float) and values[0] > 0:
        for base in (2, 10):
            powers = [round(math.log(value, base)) for value in values]
            step = powers[1] - powers[0]
            if [float(base) ** n for n in range(powers[0], powers[-1] + 1, step or 1)] != values:
                continue
            first = powers[0] - step * (side == "lower")
            last = powers[-1] + step * (side == "upper")
            if side == "lower" or bound is None or float(base) ** last <= bound:
                return f"{base}^{first}..{base}^{last}" + f" step {step}" * (step > 1)
    return ""


Search = tuple[str, int, int]  # solver, trial, and the size if every size has its own search


def _choices(run: Run) -> Iterator[tuple[str, str, list[Any], dict[Search, Any]]]:
    """Yield a solver, a parameter, its grid in each stage, and the value that each search chose."""
    chosen = _chosen(run)
    for key, spec in run.solvers.items():
        stages = [stage.choices for stage in spec.search] if spec else []
        for name in dict.fromkeys(name for grids in stages for name in grids):
            grids = [stage[name] for stage in stages if name in stage]
            own = ((at, params) for at, params in chosen.items() if at[0] == key)
            values = {at: params[name] for at, params in own if name in params}
            if max(map(len, grids)) > 1 and values:
                yield key, name, grids, values


def _searches(run: Run, table: pd.DataFrame) -> list[Search]:
    sizes = table["size"] if run.axis and run.axis.drawn else [0] * len(table)
    return list(zip(table["solver"], table["trial"], sizes, strict=True))


def _chosen(run: Run) -> dict[Search, dict[str, Any]]:
    found = zip(_searches(run, run.sized), run.sized["params"], strict=True)
    return {search: params for search, params in found if params}


def _tied(run: Run) -> set[tuple[Search, str]]:
    """Return the searches and parameters in which another value scored as well."""
    chosen, tied = _chosen(run), set()
    scored: dict[Any, list[tuple[float, dict[str, Any]]]] = defaultdict(list)
    columns = (run.searches[name] for name in ("points", "fold_scores"))
    for search, points, scores in zip(_searches(run, run.searches), *columns, strict=True):
        for point, folds in zip(points or (), scores or (), strict=False):
            known = [score for score in folds if score is not None]
            if known and search in chosen:
                scored[search, (*point, len(known))].append((float(np.mean(known)), point))
    for (search, _), alike in scored.items():
        params = chosen[search]
        best = [score for score, point in alike if point.items() <= params.items()]
        for score, point in alike:
            if any(abs(score - one) < _SAME_SCORE for one in best):
                others = (name for name, value in point.items() if value != params.get(name, value))
                tied |= {(search, name) for name in others}
    return tied


def _is_at(value: Any, edges: Any) -> bool:
    """Return whether a number, or one of several, is at an edge."""
    return any(part in edges for part in (value if isinstance(value, list) else [value]))

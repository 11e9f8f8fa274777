"""The table of chosen hyper-parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dsgkit.experiment.results import Results
from dsgkit.report.layout import Cell, Layout, Table
from dsgkit.report.numbers import value_text

PARAMS_TABLE = "params_table"
COLUMNS = ("dataset", "solver", "parameter", "value", "count", "grid", "at_edge")


def params_table(results: Results, title: str) -> Table:
    """Return the table of chosen hyper-parameters, the most frequent value first.

    Only searched parameters are shown: the others are in the stored config. A choice at the edge
    of its grid suggests a wider one, so those are counted.
    """
    frame = pd.DataFrame(_choices(results, title), columns=list(COLUMNS))
    rows = []
    for (solver, name), group in frame.groupby(["solver", "parameter"], sort=False):
        chosen = ", ".join(
            f"{value} ({count})"
            for value, count in zip(group["value"], group["count"], strict=True)
        )
        at_edge = group.loc[group["at_edge"], "count"].sum()
        total = group["count"].sum()
        texts = (solver, name, chosen, group["grid"].iloc[0])
        rows.append([*map(Cell, texts), Cell(f"{at_edge}/{total}", value=at_edge / total)])
    layout = Layout(
        f"Chosen hyper-parameters and how many trials chose each; {title}.",
        ["Solver", "Parameter", "Chosen (trials)", "Grid", "At its edge"],
        rows,
    )
    return Table(PARAMS_TABLE, [layout], frame)


def _choices(results: Results, title: str) -> list[dict[str, Any]]:
    """Return the chosen values of each searched parameter with their counts."""
    rows = []
    for solver in results.solvers:
        spec = results.experiment.solvers.get(solver)
        for name, values in ({**spec.grid, **spec.then} if spec else {}).items():
            edges = _edges(values)
            rows += [
                {
                    "dataset": title,
                    "solver": results.label(solver),
                    "parameter": name,
                    "value": value_text(value),
                    "count": count,
                    "grid": grid_text(values),
                    "at_edge": value in edges,
                }
                for value, count in _counted(results, solver, name)
            ]
    return rows


def _counted(results: Results, solver: str, name: str) -> list[tuple[Any, int]]:
    """Return how many trials chose each value, the most frequent first."""
    fits = results.cells[results.cells["solver"] == solver]
    chosen = {
        (trial, params[name])
        for trial, params in zip(fits["trial"], fits["params"], strict=True)
        if name in params
    }
    counts = Counter(value for _, value in chosen)
    return sorted(counts.items(), key=lambda item: (-item[1], value_text(item[0])))


def grid_text(values: Sequence[Any]) -> str:
    """Return the values of a grid in short: numbers as their range and how many there are."""
    edges = _edges(values)
    if not edges:
        return ", ".join(map(value_text, values))
    return f"{value_text(edges[0])}..{value_text(edges[1])} ({len(values)})"


def _edges(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the smallest and the largest of numbers; nothing for other values."""
    if not all(isinstance(value, int | float) for value in values):
        return ()
    return min(values), max(values)

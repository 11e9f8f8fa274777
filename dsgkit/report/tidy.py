"""Tables as tidy data: one row per solver and size, numbers unrounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dsgkit.experiment.results import Results
from dsgkit.report.measures import MEMORY, Measure
from dsgkit.report.summary import Entry, largest_finished, summarise


def tidy_frame(
    results: Sequence[tuple[Results, str]], measures: Sequence[Measure], *, largest: bool = False
) -> pd.DataFrame:
    """Return mean, standard deviation and status of each solver at each size.

    Parameters
    ----------
    results : sequence of (Results, str)
        Each with the name of its dataset.
    measures : sequence of Measure
        The first is what the numbers are; peak memory, if it is among them, is a further column.
    largest : bool
        Only the largest finished size of each solver.
    """
    rows = [row for one, title in results for row in _rows(one, title, measures, largest)]
    # Whole numbers, also where some are missing.
    sizes = ["needed_bytes", *(["peak_memory_bytes"] if MEMORY in measures else [])]
    return pd.DataFrame(rows).astype(dict.fromkeys(sizes, "Int64"))


def _rows(
    results: Results, title: str, measures: Sequence[Measure], largest: bool
) -> list[dict[str, Any]]:
    """Return the rows of one results folder."""
    summary = summarise(results, measures[0].column)
    entries = largest_finished(summary).values() if largest else summary.values()
    rows = [_row(entry, title, results.label(entry.solver)) for entry in entries]
    if MEMORY in measures:
        memory = summarise(results, MEMORY.column)
        for row, entry in zip(rows, entries, strict=True):
            row["peak_memory_bytes"] = max(memory[entry.solver, entry.size].values, default=None)
    return rows


def _row(entry: Entry, title: str, label: str) -> dict[str, Any]:
    """Return one entry."""
    return {
        "dataset": title,
        "solver": label,
        "n_unlabeled": entry.size.n,
        "mean": entry.mean,
        "std": entry.std,
        "trials": len(entry.values),
        "status": entry.status,
        "needed_bytes": entry.needed,
    }

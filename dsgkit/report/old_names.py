"""Names that reports and papers still use of rooms that are gone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from dsgkit.experiment.folder import cell_of
from dsgkit.experiment.frames import fits_of
from dsgkit.experiment.runs import Run, new_run
from dsgkit.report.summary import Summary

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key; keys are in the order of their first items."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def run_of(summary: Summary) -> Run:
    """Return the run that a summary is of."""
    results = summary.results
    planned = [*map(cell_of, results.records)] if results.plan is None else results.plan.cells
    stored = {(record["key"], record["kind"]): record for record in results.records}
    cells = [(cell, stored.get((cell.key, cell.kind))) for cell in planned]
    fits = fits_of(cells, results.plan.left_out if results.plan else ())
    about = (results.folder, results.experiment, results.task, results.data)
    return new_run(*about, fits, cells).named(summary.names, summary.title)

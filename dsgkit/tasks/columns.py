"""Columns of result tables in addition to a task's measures."""

from __future__ import annotations

from collections.abc import Iterable

from dsgkit.errors import spelled
from dsgkit.tasks.measures import Measure

FIT_COLUMNS = (
    "key",
    "solver",
    "label",
    "trial",
    "size",
    "full",
    "level",
    "status",
    "message",
    "needed",
    "params",
    "remark",
    "diagnostics",
    "timing",
)
"""Columns of `Results.cells`."""

_TIDY_COLUMNS = (
    "dataset",
    "mean",
    "std",
    "median",
    "lowest",
    "highest",
    "disturbed",
    "trials",
    "needed_bytes",
    "remarks",
)
"""Further columns of a table's CSV file."""


def why_no_columns(measures: Iterable[Measure], axes: Iterable[str]) -> str:
    """Return why measures cannot be columns under their names; empty if they can.

    Parameters
    ----------
    measures : iterable of Measure
        All measures of a task, including the standard ones.
    axes : iterable of str
        Names of swept sizes, which are columns too.
    """
    taken = {*FIT_COLUMNS, *_TIDY_COLUMNS, *axes}
    for measure in measures:
        if measure.name in taken:
            return f"no measure can be called {spelled(measure.name)}: another column is"
        taken.add(measure.name)
    return ""

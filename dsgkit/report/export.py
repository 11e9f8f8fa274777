"""Export of results: a table with a row per fit, for other tools."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.experiment import results as stored
from dsgkit.experiment.results import Results

FIRST_COLUMNS = ("config", "dataset", "task", "solver", "label", "axis", "size", "trial")
LAST_COLUMNS = ("cell_seconds", "status", "message", "remark", "key")
"""Parameters and measures come between `FIRST_COLUMNS` and these."""

PARAMETER_PREFIX = "param_"
"""Prefix of parameter columns."""


def load_results(*folders: Path | str) -> pd.DataFrame:
    """Return every fit of some results folders, including running ones, as rows of one table.

    Parameters
    ----------
    *folders : path
        Results folders, such as ``results/codrna_s2auc-quick``.

    Returns
    -------
    DataFrame
        The columns are

        - ``config``, ``dataset`` (its name, or that of its file), ``task``, ``solver`` (its key in
          the config), ``label``;
        - ``axis``, the swept axis, and ``size`` on it (0 without a sweep); ``trial``, from 0;
        - ``param_<name>``, fixed and chosen parameters;
        - a column per measure of the tasks, such as ``fit_seconds`` and ``peak_memory``;
        - ``cell_seconds``, the time of the whole cell, not only of training;
        - ``status`` (``ok``, or why there is no result), ``message``, ``remark``, and ``key``.

        A fit that does not depend on the size has one row, at the largest size. Values that a fit
        does not have are missing.

    Raises
    ------
    ResultsError
        If a folder is not a results folder, or cannot be read.

    Examples
    --------
    >>> from dsgkit import load_results
    >>> fits = load_results("results/quickstart")  # doctest: +SKIP
    >>> fits[fits.status == "ok"].groupby(["solver", "size"]).fit_seconds.median()  # doctest: +SKIP
    """
    return fits([stored.load_results(folder) for folder in folders])


def fits(results: Sequence[Results]) -> pd.DataFrame:
    """Return the table of `load_results` for loaded results."""
    parts = [_fits(one) for one in results]
    every = dict.fromkeys(name for part in parts for name in part)
    parameters = sorted(name for name in every if name.startswith(PARAMETER_PREFIX))
    measures = [name for one in results for name in _measures(one)]
    names = dict.fromkeys([*FIRST_COLUMNS, *parameters, *measures, *LAST_COLUMNS])
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for part in parts:
        for name, column in columns.items():
            column += part.get(name, [math.nan] * len(part["key"]))
    return pd.DataFrame(columns)


def _measures(results: Results) -> list[str]:
    return [measure.name for measure in results.task.measures]


def _fits(results: Results) -> dict[str, list[Any]]:
    """Return the columns of one results folder."""
    experiment, axis = results.experiment, results.task.axis
    data = experiment.dataset
    # the row of the fit itself comes before its copies at further sizes
    cells = results.cells.drop_duplicates(["solver", "trial", "key"])
    fits = [record for record in results.records if record["kind"] == "fit"]
    times = [sum((record.get("times") or {}).values()) for record in fits]
    fixed = {key: solver.params for key, solver in experiment.solvers.items()}
    params = [
        {**fixed.get(solver, {}), **chosen}
        for solver, chosen in zip(cells["solver"], cells["params"], strict=True)
    ]
    same = {
        "config": experiment.name,
        "dataset": data.name or Path(data.path or "").name,
        "task": results.task.kind,
        "axis": axis.name if axis else "",
    }
    names = [*(name for name in FIRST_COLUMNS if name not in same), *_measures(results)]
    names += ["status", "message", "remark", "key"]
    return {
        **{name: [value] * len(cells) for name, value in same.items()},
        **{name: cells[name].tolist() for name in names},
        **{f"{PARAMETER_PREFIX}{name}": [p.get(name) for p in params] for name in _names(params)},
        "cell_seconds": times,
    }


def _names(params: Iterable[dict[str, Any]]) -> Iterable[str]:
    return dict.fromkeys(name for point in params for name in point)

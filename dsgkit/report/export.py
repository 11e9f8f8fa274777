"""Every fit of some results as a row of one table, for other tools."""

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
"""Between them are the parameters, then the measures."""

PARAMETER_PREFIX = "param_"
"""Prefix of the names of parameter columns."""


def load_results(*folders: Path | str) -> pd.DataFrame:
    """Return every fit of some results folders, also of runs that go on, as rows of one table.

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
        - ``axis``, what is swept, and ``size`` on it (0 without a sweep); ``trial``, from 0;
        - ``param_<name>``, parameters that the config fixes or that were chosen, by name;
        - one for each measure of the tasks, such as ``fit_seconds`` and ``peak_memory``;
        - ``cell_seconds``, in which all that is not training is, too;
        - ``status`` (``ok``, or why there is no result), ``message``, ``remark``, and ``key``.

        A fit that stands at several sizes, as it does not depend on them, has one row, at the
        largest. What a fit does not have is missing.

    Raises
    ------
    ResultsError
        If a folder is not one of results, or cannot be read.

    Examples
    --------
    >>> from dsgkit import load_results
    >>> fits = load_results("results/quickstart")  # doctest: +SKIP
    >>> fits[fits.status == "ok"].groupby(["solver", "size"]).fit_seconds.median()  # doctest: +SKIP
    """
    return fits([stored.load_results(folder) for folder in folders])


def fits(results: Sequence[Results]) -> pd.DataFrame:
    """Return the table of `load_results` of results that are read already."""
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
    """Return the columns of one of the results."""
    experiment, axis = results.experiment, results.task.axis
    data = experiment.dataset
    # the row of a fit itself comes before those at further sizes at which it stands
    cells = results.cells.drop_duplicates(["solver", "trial", "key"])
    records = results.records.where(lambda entry: entry.kind == "fit")
    times = [sum((phases or {}).values()) for phases in records.entries("times")]
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

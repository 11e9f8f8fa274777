"""Export of results: a table with a row per fit, for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dsgkit.experiment.runs import Run, load
from dsgkit.report.frame import check_named
from dsgkit.tasks.measures import FIRST_COLUMNS, LAST_COLUMNS


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
        If no folder is named, or one is not a results folder, or cannot be read.

    Examples
    --------
    >>> from dsgkit import load_results
    >>> fits = load_results("results/quickstart")  # doctest: +SKIP
    >>> fits[fits.status == "ok"].groupby(["solver", "size"]).fit_seconds.median()  # doctest: +SKIP
    """
    check_named(folders)
    return fits(load(*folders))


def fits(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the table of `load_results` for loaded runs."""
    parts = [_fits(run) for run in runs]
    every = dict.fromkeys(str(name) for part in parts for name in part)
    parameters = sorted(name for name in every if name.startswith("param_"))
    measures = [measure.name for run in runs for measure in run.task.measures]
    names = dict.fromkeys([*FIRST_COLUMNS, *parameters, *measures, *LAST_COLUMNS])
    return pd.concat(parts, ignore_index=True).reindex(columns=list(names))


def _fits(run: Run) -> pd.DataFrame:
    recorded, data = run.fits[run.fits["status"] != ""], run.experiment.dataset
    fixed = {key: spec.params if spec else {} for key, spec in run.solvers.items()}
    params = [
        {f"param_{name}": value for name, value in (fixed[key] | (own or {})).items()}
        for key, own in zip(recorded["solver"], recorded["params"], strict=True)
    ]
    missing = pd.Series(float("nan"), recorded.index)
    values = {m.name: recorded.get(run.column(m), missing) for m in run.task.measures}
    return recorded.assign(
        config=run.experiment.name,
        dataset=data.name or Path(data.path or "").name,
        task=run.task.kind,
        axis=run.axis.name if run.axis else "",
        status=recorded["ending"].str.replace(" ", "_"),
        cell_seconds=recorded.filter(like="times.").sum(axis=1).round(6),
        **values,
    ).join(pd.DataFrame(params, recorded.index))

"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from dsgkit.config import Experiment, load_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment.environment import ENVIRONMENT, ENVIRONMENTS
from dsgkit.experiment.store import CELLS, Record, holds, read_records
from dsgkit.tasks.base import Description

CONFIG = "config.yaml"
DATASET = "dataset.json"
TASK = "task.json"
PLAN = "plan.json"
"""Files of a results folder beside the store's."""

FIT_COLUMNS = (
    "key",
    "solver",
    "label",
    "trial",
    "size",
    "full",
    "status",
    "message",
    "needed",
    "params",
    "remark",
)
SEARCH_COLUMNS = (
    "solver",
    "label",
    "trial",
    "size",
    "status",
    "message",
    "search_seconds",
    "peak_memory",
    "points",
    "fold_scores",
)


@dataclass(frozen=True)
class Results:
    """What one results folder holds.

    Attributes
    ----------
    folder : Path
        The folder that it was read from.
    experiment : Experiment
        The resolved configuration.
    task : Description
        What is swept and measured.
    data : dict
        What is known of the dataset.
    environment : dict
        Versions, processor and threads of the last run; empty if none was stored.
    environments : dict
        The same of all that the cells come from, under the names that records call them by.
    cells : DataFrame
        One row per fit, with the columns `FIT_COLUMNS` and one of every measure, by its name.
        ``size`` is that on the swept axis, 0 without one.
    search : DataFrame
        One row per share of a hyper-parameter search, with the columns `SEARCH_COLUMNS`.
    records : list of dict
        The records themselves, of fits and of searches.
    planned : int or None
        How many cells the plan has; None without a stored plan.
    """

    folder: Path
    experiment: Experiment
    task: Description
    data: dict[str, Any]
    environment: dict[str, Any]
    environments: dict[str, dict[str, Any]]
    cells: pd.DataFrame
    search: pd.DataFrame
    records: list[dict[str, Any]]
    planned: int | None

    @property
    def dataset(self) -> str:
        """Name of the dataset; of the experiment, where a config names a file only."""
        return self.experiment.dataset.name or self.experiment.name

    @property
    def trials(self) -> int:
        """How many trials the experiment has."""
        return self.experiment.protocol.trials

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers, in the order of the config, then those known from cells only."""
        return list(dict.fromkeys([*self.experiment.solvers, *self.cells["solver"]]))

    def at(self, n: int) -> Results:
        """Return the same with the fits at one size only: the largest up to ``n``.

        Datasets of which some are smaller have different largest sizes. Without a swept axis
        nothing is left out.

        Raises
        ------
        ResultsError
            If every size is larger.
        """
        if self.task.axis is None:
            return self
        sizes = sorted(set(self.cells["size"]))
        largest = max((size for size in sizes if size <= n), default=None)
        if largest is None:
            raise ResultsError(
                f"{self.folder}: no fit at {n:,} {self.task.axis.noun} or below; there are "
                f"{', '.join(f'{size:,}' for size in sizes) or 'none'}"
            )
        name = self.task.axis.name
        return replace(
            self,
            cells=self.cells[self.cells["size"] == largest],
            records=[r for r in self.records if r["kind"] != "fit" or r["at"][name] == largest],
        )

    def label(self, solver: str) -> str:
        """Return the name of a solver that tables and figures print."""
        # The config's comes first: a new label there needs no new fits.
        if solver in self.experiment.solvers:
            return self.experiment.solvers[solver].label
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver


def load_results(folder: Path | str) -> Results:
    """Read a results folder.

    Only the cells of the last plan count (``plan.json``; every cell without one). Of records with
    the same key the last one counts. A last line that was cut off is left out.

    Parameters
    ----------
    folder : path
        ``results/<experiment name>``.

    Raises
    ------
    ResultsError
        If the folder is not one of results, or holds a file that cannot be read.
    """
    folder = Path(folder)
    config = folder / CONFIG
    if not config.is_file():
        raise ResultsError(
            f"{folder}: not a results folder (it has no {CONFIG}); name a folder that a run made"
        )
    task = read_task(folder)  # first: a folder of an earlier release has none
    experiment = load_experiment(config, stored=True)
    plan = read_plan(folder)
    stored, _ = read_records(folder / CELLS)
    records = [_labelled(record, experiment) for record in _planned(stored, plan)]
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=_read_json(folder / DATASET, {}),
        environment=_read_json(folder / ENVIRONMENT, {}),
        environments=_read_environments(folder, records),
        **frames(records, task),
        records=records,
        planned=None if plan is None else len(plan),
    )


def _read_json(path: Path, default: Any) -> Any:
    """Return the content of a JSON file; ``default`` if there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}); run the experiment again") from error


def _read_environments(folder: Path, records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the environments that records refer to; one whose file is gone is empty."""
    names = dict.fromkeys(record.get("environment") for record in records)
    folder = folder / ENVIRONMENTS
    return {name: _read_json(folder / f"{name}.json", {}) for name in names if name}


def read_task(folder: Path) -> Description:
    """Return what a results folder keeps of its task.

    Raises
    ------
    ResultsError
        If it is not there, or cannot be read.
    """
    path = folder / TASK
    stored = _read_json(path, None)
    try:
        return Description.model_validate(stored)
    except ValidationError as error:
        why = "not there" if stored is None else "of another form"
        raise ResultsError(
            f"{path}: {why}; these results are not of this release: run the experiment again"
        ) from error


def read_plan(folder: Path) -> list[dict[str, Any]] | None:
    """Return the entries of the plan of a results folder; None if there is none.

    Raises
    ------
    ResultsError
        If it cannot be read.
    """
    path = folder / PLAN
    plan = _read_json(path, None)
    if plan is None:
        return None
    if isinstance(plan, list) and all(holds(e, {"key": str}) for e in plan):
        return plan
    raise ResultsError(f"{path}: not a plan of this release; run the experiment again")


def _planned(
    records: dict[str, dict[str, Any]], plan: list[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    """Return the records of the plan in its order; all of them if there is no plan.

    What a record is of is for the plan to say: the same cell may stand for two of its entries.
    """
    if plan is None:
        return list(records.values())
    return [records[entry["key"]] | entry for entry in plan if entry["key"] in records]


def _labelled(record: dict[str, Any], experiment: Experiment) -> dict[str, Any]:
    """Return a record with the config's label of its solver; with its own for one not in it."""
    spec = experiment.solvers.get(record["solver"])
    return record if spec is None else record | {"label": spec.label}


def frames(records: list[Record], task: Description) -> dict[str, pd.DataFrame]:
    """Return the two tables of `Results`."""
    columns = [*FIT_COLUMNS, *(measure.name for measure in task.measures)]
    fits = [_fit_row(record, task) for record in records if record["kind"] == "fit"]
    searches = [_search_row(record, task) for record in records if record["kind"] == "search"]
    return {
        "cells": pd.DataFrame(fits, columns=columns),
        "search": pd.DataFrame(searches, columns=list(SEARCH_COLUMNS)),
    }


def _common(record: Record, task: Description) -> dict[str, Any]:
    """Return what records of both kinds hold."""
    return {
        "solver": record["solver"],
        "label": record.get("label") or "",
        "trial": record["trial"],
        "size": record["at"][task.axis.name] if task.axis else 0,
        "status": record["status"],
        "message": record.get("message") or "",
    }


def _fit_row(record: Record, task: Description) -> dict[str, Any]:
    """Return a row of `Results.cells`."""
    scores, times = record.get("scores") or {}, record.get("times") or {}
    recorded = {"peak_memory": record.get("peak_memory"), **scores}
    recorded |= {m.name: times.get(m.clock) for m in task.measures if m.clock}
    return _common(record, task) | {
        "key": record["key"],
        "full": bool(record.get("full", False)),
        "needed": _number(record.get("needed")),
        "params": record.get("params") or {},
        "remark": record.get("remark") or "",
        **{m.name: _number(recorded.get(m.name)) for m in task.measures},
    }


def _search_row(record: Record, task: Description) -> dict[str, Any]:
    """Return a row of `Results.search`."""
    return _common(record, task) | {
        "search_seconds": _number((record.get("times") or {}).get("search")),
        "peak_memory": _number(record.get("peak_memory")),
        "points": record.get("points") or [],
        "fold_scores": record.get("fold_scores") or [],
    }


def _number(value: float | None) -> float:
    """Return a stored number, NaN for one that is missing."""
    return math.nan if value is None else float(value)

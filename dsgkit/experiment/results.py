"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.load import load_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment.environment import ENVIRONMENT, ENVIRONMENTS
from dsgkit.experiment.store import CELLS, holds, read_records
from dsgkit.tasks.base import Description

CONFIG = "config.yaml"
DATASET = "dataset.json"
TASK = "task.json"
PLAN = "plan.json"
"""Files of a results folder beside the store's."""


@dataclass(frozen=True)
class Results:
    """What one results folder holds.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
    task : Description
    data, environment : dict
    environments : dict of dict
    cells, search : DataFrame
        A row per fit, and per share of a search.
    records : list of dict
    planned : int or None
    """

    folder: Path
    experiment: Any
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
        return str(self.experiment.dataset.name or self.experiment.name)

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers, in the order of the config, then those known from cells only."""
        return list(dict.fromkeys([*self.experiment.solvers, *self.cells["solver"]]))

    @property
    def trials(self) -> int:
        """Trials that the experiment has."""
        return int(self.experiment.protocol.trials)

    def label(self, solver: str) -> str:
        """Return the name of a solver that tables and figures print."""
        if solver in self.experiment.solvers:
            return str(self.experiment.solvers[solver].label)
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver


def load_results(folder: Path | str) -> Results:
    """Read a results folder."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise ResultsError(f"{folder}: not a results folder (it has no {CONFIG})")
    return results_of(folder, load_experiment(folder / CONFIG, stored=True))


def results_of(folder: Path, experiment: Any) -> Results:
    """Read what a folder holds of an experiment."""
    task = Description.model_validate(_read_json(folder / TASK, {}))
    plan = read_plan(folder)
    stored, _ = read_records(folder / CELLS)
    records = list(stored.values())
    if plan is not None:
        records = [stored[entry["key"]] | entry for entry in plan if entry["key"] in stored]
    names = dict.fromkeys(record.get("environment") for record in records)
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=_read_json(folder / DATASET, {}),
        environment=_read_json(folder / ENVIRONMENT, {}),
        environments={
            name: _read_json(folder / ENVIRONMENTS / f"{name}.json", {}) for name in names if name
        },
        **frames(records, task),
        records=records,
        planned=None if plan is None else len(plan),
    )


def read_plan(folder: Path) -> list[dict[str, Any]] | None:
    """Return the entries of the plan of a results folder; None if there is none."""
    plan = _read_json(folder / PLAN, None)
    if plan is None or (isinstance(plan, list) and all(holds(e, {"key": str}) for e in plan)):
        return plan
    raise ResultsError(f"{folder / PLAN}: not a plan of this release; run the experiment again")


def frames(records: list[dict[str, Any]], task: Description) -> dict[str, pd.DataFrame]:
    """Return the two tables of `Results`."""
    fits = [_fit_row(record, task) for record in records if record["kind"] == "fit"]
    searches = [_search_row(record, task) for record in records if record["kind"] == "search"]
    names = [measure.name for measure in task.measures]
    common = ["solver", "label", "trial", "size", "status", "message"]
    fit_columns = ["key", *common, "full", *names, "needed", "params"]
    search_columns = [*common, "search_seconds", "peak_memory", "points", "fold_scores"]
    return {
        "cells": pd.DataFrame(fits, columns=fit_columns),
        "search": pd.DataFrame(searches, columns=search_columns),
    }


def _common(record: dict[str, Any], task: Description) -> dict[str, Any]:
    axis = task.axis
    return {
        "solver": record["solver"],
        "label": record.get("label") or "",
        "trial": record["trial"],
        "size": 0 if axis is None else record["at"][axis.name],
        "status": record["status"],
        "message": record.get("message") or "",
        "peak_memory": _number(record.get("peak_memory")),
    }


def _fit_row(record: dict[str, Any], task: Description) -> dict[str, Any]:
    scores, times = record.get("scores") or {}, record.get("times") or {}
    return {
        **{
            one.name: _number(times.get(one.clock) if one.clock else scores.get(one.name))
            for one in task.measures
        },
        **_common(record, task),
        "key": record["key"],
        "full": bool(record.get("full", False)),
        "needed": _number(record.get("needed")),
        "params": record.get("params") or {},
    }


def _search_row(record: dict[str, Any], task: Description) -> dict[str, Any]:
    return _common(record, task) | {
        "search_seconds": _number((record.get("times") or {}).get("search")),
        "points": record.get("points") or [],
        "fold_scores": record.get("fold_scores") or [],
    }


def _read_json(path: Path, default: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}); run the experiment again") from error


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)

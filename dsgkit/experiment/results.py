"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.schema import Experiment, SolverSpec, load_stored
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import (
    CONFIG,
    DATASET,
    ENVIRONMENT,
    cell_of,
    read_environments,
    read_json,
    read_plan,
    read_task,
)
from dsgkit.experiment.plan import Cell, Plan
from dsgkit.experiment.status import ending
from dsgkit.experiment.store import Record, read_records
from dsgkit.tasks.measures import FIT_COLUMNS, MEMORY, Description

SEARCH_COLUMNS = (
    *("solver", "label", "trial", "size", "status", "message"),
    *("search_seconds", "peak_memory", "points", "fold_scores"),
)


@dataclass(frozen=True)
class Results:
    """Contents of one results folder.

    Attributes
    ----------
    data : dict
        Facts about the dataset.
    environment, environments : dict
        Versions, processor and threads of the last run, empty if none was stored; and those of all
        cells, by their names in records.
    cells : DataFrame
        One row per fit, with `FIT_COLUMNS` and a column per measure. ``size`` is that on the swept
        axis, 0 without one. A fit that does not depend on it is ``level``, and has a row at every
        size at which it holds.
    search : DataFrame
        One row per share of a hyper-parameter search, with `SEARCH_COLUMNS`.
    records : list of Record
        The records of the plan's cells, in its order. The plan says which cell a record is: two
        entries of a plan may share one.
    plan : Plan or None
        None without a stored plan.
    bad : sequence of int
        Numbers of unreadable lines of the store.
    every_solver : dict
        After `of`, specs of all solvers of the config by key, in its order.
    """

    folder: Path
    experiment: Experiment
    task: Description
    data: dict[str, Any]
    environment: dict[str, Any]
    environments: dict[str, dict[str, Any]]
    cells: pd.DataFrame
    search: pd.DataFrame
    records: list[Record]
    plan: Plan | None
    bad: Sequence[int] = ()
    every_solver: Mapping[str, SolverSpec] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        """Name of the dataset; if the config names only a file, that of the experiment."""
        return self.experiment.dataset.name or self.experiment.name

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers, in the order of the config, then those known from cells only."""
        return list(dict.fromkeys([*self.experiment.solvers, *self.cells["solver"].unique()]))

    @property
    def fits_at(self) -> Counter[tuple[str, int]]:
        """Number of planned fits by solver and size, 0 where the config leaves the solver out.

        A fit that holds at several sizes counts at each. Empty without a stored plan.
        """
        axis, planned = self.task.axis, Counter[tuple[str, int]]()
        if self.plan is not None:
            for out in self.plan.left_out:
                planned[out.solver, out.at[axis.name] if axis else 0] = 0
            for cell in self.plan.cells:
                if cell.kind == "fit":
                    planned.update((cell.solver, size) for size in cell.sizes(axis))
        return planned

    def label(self, solver: str) -> str:
        """Return the name of a solver in tables and figures."""
        # the config's comes first: a new label there needs no new fits
        if solver in self.experiment.solvers:
            return self.experiment.solvers[solver].label
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver

    def at(self, n: int) -> Results:
        """Return the results with the fits at one size only: the largest up to ``n``.

        Datasets of different sizes have different largest ones. Without a swept axis all remain.

        Raises
        ------
        ResultsError
            If every size is larger.
        """
        if (axis := self.task.axis) is None:
            return self
        sizes = sorted(set(self.cells["size"]))
        largest = max((size for size in sizes if size <= n), default=None)
        if largest is None:
            known = ", ".join(f"{size:,}" for size in sizes) or "none"
            text = f"no fit at {n:,} {axis.noun} or below; there are {known}"
            raise ResultsError(f"{self.folder}: {text}")
        plan = self.plan and Plan(
            [
                replace(cell, at={**cell.at, axis.name: largest}, also_at=())
                for cell in self.plan.cells
                if cell.kind == "search" or largest in cell.sizes(axis)
            ],
            [out for out in self.plan.left_out if out.at[axis.name] == largest],
            self.plan.too_large,
        )
        records = [
            record
            for record in self.records
            if record["kind"] == "search" or largest in cell_of(record).sizes(axis)
        ]
        cells = self.cells[self.cells["size"] == largest]
        return replace(self, cells=cells, records=records, plan=plan)

    def of(self, solvers: Collection[str]) -> Results:
        """Return the results of some solvers; unknown keys are ignored.

        A solver whose rival (``against``) is left out is compared with none.
        """
        specs = {key: spec for key, spec in self.experiment.solvers.items() if key in solvers}
        for key, spec in specs.items():
            if spec.against not in specs:
                specs[key] = spec.model_copy(update={"against": None})
        return replace(
            self,
            experiment=self.experiment.model_copy(update={"solvers": specs}),
            cells=self.cells[self.cells["solver"].isin(list(solvers))],
            search=self.search[self.search["solver"].isin(list(solvers))],
            records=[record for record in self.records if record["solver"] in solvers],
            plan=self.plan
            and self.plan._replace(
                cells=[cell for cell in self.plan.cells if cell.solver in solvers],
                left_out=[out for out in self.plan.left_out if out.solver in solvers],
            ),
            every_solver=self.every_solver or self.experiment.solvers,
        )


def load_results(folder: Path | str) -> Results:
    """Read a results folder, also during a run.

    Only cells of the last plan (``plan.json``) count, or all cells without one. Of records with the
    same key the last one counts.

    Raises
    ------
    ResultsError
        If the folder is not one of results, or holds a file that cannot be read.
    """
    folder = Path(folder)
    task = read_task(folder)
    experiment = load_stored(folder / CONFIG)
    plan, (stored, bad) = read_plan(folder), read_records(folder)
    cells = map(cell_of, stored.values()) if plan is None else plan.cells
    labels = {key: spec.label for key, spec in experiment.solvers.items()}
    records = [_as_planned(cell, stored[cell.key], labels) for cell in cells if cell.key in stored]
    fits, searches = frames(records, task)
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=read_json(folder / DATASET) or {},
        environment=read_json(folder / ENVIRONMENT) or {},
        environments=read_environments(folder, records),
        cells=fits,
        search=searches,
        records=records,
        plan=plan,
        bad=bad,
    )


def _as_planned(cell: Cell, record: Record, labels: Mapping[str, str]) -> Record:
    """Return a record as that of an entry of the plan, with the config's label."""
    label = labels.get(cell.solver) or record.get("label") or cell.solver
    names = ("kind", "solver", "trial", "at", "also_at")
    return record | {name: getattr(cell, name) for name in names} | {"label": label}


def frames(records: Iterable[Record], task: Description) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of fits, with a row for each size at which one holds, and of searches."""
    fits, searches = [], []
    for record in records:
        times, scores = record.get("times") or {}, record.get("scores") or {}
        size, *further = cell_of(record).sizes(task.axis)
        row = {name: record.get(name) or "" for name in ("label", "message", "remark")}
        row |= {name: record.get(name) or {} for name in ("params", "diagnostics", "timing")}
        row |= {name: record[name] for name in ("key", "solver", "trial")}
        row |= {name: record.get(name) or [] for name in ("points", "fold_scores")}
        row |= {name: record.get(name) for name in ("needed", MEMORY.name)}
        row |= {"size": size, "status": ending(record), "search_seconds": times.get("search")}
        row |= {"full": bool(record.get("full")), "level": bool(further)}
        if record["kind"] == "search":
            searches.append(row)
            continue
        for measure in task.measures:
            if measure.name != MEMORY.name:
                value = times.get(measure.clock) if measure.clock else scores.get(measure.name)
                row[measure.name] = value
        fits += [row, *(row | {"size": other, "full": False} for other in further)]
    measures = [measure.name for measure in task.measures]
    return (
        _frame(fits, [*FIT_COLUMNS, *measures], ["needed", *measures]),
        _frame(searches, SEARCH_COLUMNS, ["search_seconds", MEMORY.name]),
    )


def _frame(rows: Sequence[Record], columns: Iterable[str], numbers: Iterable[str]) -> pd.DataFrame:
    """Return a table whose columns do not depend on its rows; numbers that lack are NaN."""
    table = pd.DataFrame({name: [row[name] for row in rows] for name in columns})
    return table.astype(dict.fromkeys(numbers, float))

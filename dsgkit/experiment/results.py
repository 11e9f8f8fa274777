"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.schema import Experiment, SolverSpec, load_stored
from dsgkit.errors import ResultsError
from dsgkit.experiment import folder as folders
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
    """Contents of one results folder."""

    folder: Path
    experiment: Experiment
    task: Description
    data: dict[str, Any]  # facts about the dataset
    environment: dict[str, Any]  # versions, processor and threads of the last run
    environments: dict[str, dict[str, Any]]  # those of all cells, by their names in records
    # of the plan's cells, in its order; the plan says which cell a record is: two of its entries
    # may share one
    records: list[Record]
    plan: Plan | None
    bad: Sequence[int] = ()  # numbers of unreadable lines of the store
    size: int | None = None  # the only one whose fits are shown (`at`)
    # specs of all solvers of the config (`of`)
    every_solver: Mapping[str, SolverSpec] = field(default_factory=dict)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per fit, with `FIT_COLUMNS` and a column per measure.

        ``size`` is that on the swept axis, 0 without one. A fit that does not depend on it is
        ``level``, and has a row at every size at which it holds.
        """
        rows = []
        for record in self.records:
            if record["kind"] == "fit":
                times, scores = record.get("times") or {}, record.get("scores") or {}
                row = self._row(record)
                for one in self.task.measures:
                    if one != MEMORY:
                        row[one.name] = times.get(one.clock) if one.clock else scores.get(one.name)
                further = folders.cell_of(record).also_at if self.task.axis else ()
                row["level"] = bool(further)
                rows += [row, *(row | {"size": size, "full": False} for size in further)]
        measures = [measure.name for measure in self.task.measures]
        fits = _frame(rows, [*FIT_COLUMNS, *measures], ["needed", *measures])
        return fits if self.size is None else fits[fits["size"] == self.size]

    @cached_property
    def search(self) -> pd.DataFrame:
        """One row per share of a hyper-parameter search, with `SEARCH_COLUMNS`."""
        rows = [self._row(record) for record in self.records if record["kind"] == "search"]
        return _frame(rows, SEARCH_COLUMNS, ["search_seconds", MEMORY.name])

    def _row(self, record: Record) -> dict[str, Any]:
        axis, times = self.task.axis, record.get("times") or {}
        row = {name: record.get(name) or "" for name in ("label", "message", "remark")}
        row |= {name: record.get(name) or {} for name in ("params", "diagnostics", "timing")}
        row |= {name: record.get(name) or [] for name in ("points", "fold_scores")}
        row |= {name: record.get(name) for name in ("key", "solver", "trial", "needed")}
        row |= {"status": ending(record), "full": bool(record.get("full"))}
        row |= {"search_seconds": times.get("search"), MEMORY.name: record.get(MEMORY.name)}
        return row | {"size": record["at"][axis.name] if axis else 0}

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
        """Number of planned fits by solver and size, 0 where the config leaves the solver out."""
        axis, planned = self.task.axis, Counter[tuple[str, int]]()
        if self.plan is not None:
            for out in self.plan.left_out:
                planned[out.solver, out.at[axis.name] if axis else 0] = 0
            for cell in self.plan.cells:
                if cell.kind == "fit":
                    planned.update((cell.solver, size) for size in cell.sizes(axis))
        return Counter({at: n for at, n in planned.items() if self.size in (None, at[1])})

    def label(self, solver: str) -> str:
        """Return the name of a solver in tables and figures."""
        # the config's comes first: a new label there needs no new fits
        if solver in self.experiment.solvers:
            return self.experiment.solvers[solver].label
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver

    def at(self, n: int) -> Results:
        """Return the results with the fits at one size only: the largest up to ``n``."""
        if (axis := self.task.axis) is None:
            return self
        sizes = sorted(set(self.cells["size"]))
        size = max((size for size in sizes if size <= n), default=None)
        if size is None:
            text = f"no fit at {n:,} {axis.noun} or below; the least is {min(sizes, default=0):,}"
            raise ResultsError(f"{self.folder}: {text}")
        return replace(
            self._where(lambda cell: cell.kind == "search" or size in cell.sizes(axis)), size=size
        )

    def of(self, solvers: Collection[str]) -> Results:
        """Return the results of some solvers; unknown keys are ignored.

        A solver whose rival (``against``) is left out is compared with none.
        """
        known = self.experiment.solvers
        specs = {key: spec for key, spec in known.items() if key in solvers}
        for key, spec in specs.items():
            if spec.against not in specs:
                specs[key] = spec.model_copy(update={"against": None})
        return replace(
            self._where(lambda cell: cell.solver in solvers),
            experiment=self.experiment.model_copy(update={"solvers": specs}),
            every_solver=self.every_solver or known,
        )

    def _where(self, wanted: Callable[[Cell], bool]) -> Results:
        plan = self.plan and self.plan._replace(cells=[*filter(wanted, self.plan.cells)])
        records = [record for record in self.records if wanted(folders.cell_of(record))]
        return replace(self, records=records, plan=plan)


def load_results(folder: Path | str) -> Results:
    """Read a results folder, also during a run.

    Only cells of the last plan (``plan.json``) count, or all cells without one. A file that is none
    of results, or cannot be read, is a `ResultsError`.
    """
    folder = Path(folder)
    task, data = folders.read_task(folder)
    experiment = load_stored(folder / folders.CONFIG)
    plan, (stored, bad) = folders.read_plan(folder), read_records(folder)
    records = []
    for cell in map(folders.cell_of, stored.values()) if plan is None else plan.cells:
        if (record := stored.get(cell.key)) is not None:
            names = ("kind", "solver", "trial", "at", "also_at")
            planned = {name: getattr(cell, name) for name in names}
            spec = experiment.solvers.get(cell.solver)
            label = spec.label if spec else record.get("label") or cell.solver
            records.append(record | planned | {"label": label})
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=data,
        environment=folders.read_json(folder / folders.ENVIRONMENT) or {},
        environments=folders.read_environments(folder, [r.get("environment") for r in records]),
        records=records,
        plan=plan,
        bad=bad,
    )


def _frame(rows: Sequence[Record], columns: Iterable[str], numbers: Iterable[str]) -> pd.DataFrame:
    """Return a table whose columns do not depend on its rows; numbers that lack are NaN."""
    table = pd.DataFrame({name: [row[name] for row in rows] for name in columns})
    return table.astype(dict.fromkeys(numbers, float))

"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dsgkit.config.schema import Experiment, load_stored
from dsgkit.config.solvers import SolverSpec
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import (
    CONFIG,
    DATASET,
    ENVIRONMENT,
    other_source,
    planned_cells,
    read_environments,
    read_json,
    read_plan,
    read_task,
)
from dsgkit.experiment.plan import Cell, LeftOut
from dsgkit.experiment.status import ending
from dsgkit.experiment.store import Record, read_records
from dsgkit.tasks.measures import FIT_COLUMNS, MEMORY, Axis, Description, Measure

if TYPE_CHECKING:
    from dsgkit.experiment.run import Outcome

_COMMON = ("solver", "label", "trial", "size", "status", "message")
SEARCH_COLUMNS = (*_COMMON, "search_seconds", "peak_memory", "points", "fold_scores")


@dataclass(frozen=True)
class Results:
    """Contents of one results folder.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
        The resolved configuration.
    task : Description
        The task: its axis, measures and descriptions.
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
    plan : sequence of Cell or None
        The planned cells; None without a stored plan.
    left_out_at : sequence of LeftOut
        Points of the sweep that the config leaves out.
    bad : sequence of int
        Numbers of unreadable lines of the store.
    left_out, order : dict, tuple of str
        Specs of the config's solvers that are not shown, by their keys; and the keys of all in the
        config's order, empty if all are shown.
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
    plan: Sequence[Cell] | None
    left_out_at: Sequence[LeftOut] = ()
    bad: Sequence[int] = ()
    left_out: Mapping[str, SolverSpec] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        """Name of the dataset; if the config names only a file, that of the experiment."""
        return self.experiment.dataset.name or self.experiment.name

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.experiment.protocol.trials

    @property
    def planned(self) -> int | None:
        """Number of planned cells; None without a stored plan."""
        return None if self.plan is None else len(self.plan)

    @property
    def planned_fits(self) -> int | None:
        """Number of planned fits; None without a stored plan."""
        return None if self.plan is None else sum(cell.kind == "fit" for cell in self.plan)

    @property
    def fits_at(self) -> Counter[tuple[str, int]]:
        """Number of planned fits by solver and size, 0 where the config leaves the solver out.

        A fit that holds at several sizes counts at each. Empty without a stored plan.
        """
        axis = self.task.axis
        points = ((out.solver, out.at[axis.name] if axis else 0) for out in self.left_out_at)
        planned = Counter(dict.fromkeys(points, 0))
        for cell in self.plan or ():
            if cell.kind == "fit":
                planned.update((cell.solver, size) for size in cell.sizes(axis))
        return planned

    @property
    def fits(self) -> list[Record]:
        """The records of fits."""
        return [record for record in self.records if record["kind"] == "fit"]

    @property
    def other_source(self) -> list[str]:
        """Lines on results that were computed by other code than the running one."""
        return other_source(self.records, self.environments)

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers, in the order of the config, then those known from cells only."""
        return list(dict.fromkeys([*self.experiment.solvers, *self.cells["solver"].unique()]))

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
            raise ResultsError(
                f"{self.folder}: no fit at {n:,} {axis.noun} or below; there are "
                f"{', '.join(f'{size:,}' for size in sizes) or 'none'}"
            )

        def holds(cell: Cell) -> bool:
            return cell.kind != "fit" or largest in cell.sizes(axis)

        def at_it(cell: Cell) -> Cell:
            at = {**cell.at, axis.name: largest}
            return replace(cell, at=at, also_at=()) if cell.kind == "fit" else cell

        cells = planned_cells(self.records)
        return replace(
            self,
            cells=self.cells[self.cells["size"] == largest],
            records=[one for one, cell in zip(self.records, cells, strict=True) if holds(cell)],
            plan=self.plan and [at_it(cell) for cell in self.plan if holds(cell)],
            left_out_at=[out for out in self.left_out_at if out.at[axis.name] == largest],
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
            self,
            experiment=self.experiment.model_copy(update={"solvers": specs}),
            cells=self.cells[self.cells["solver"].isin(list(solvers))],
            search=self.search[self.search["solver"].isin(list(solvers))],
            records=[record for record in self.records if record["solver"] in solvers],
            plan=self.plan and [cell for cell in self.plan if cell.solver in solvers],
            left_out_at=[out for out in self.left_out_at if out.solver in solvers],
            left_out={**self.left_out, **{k: s for k, s in known.items() if k not in specs}},
            order=self.order or tuple(known),
        )

    def label(self, solver: str) -> str:
        """Return the name of a solver in tables and figures."""
        # the config's comes first: a new label there needs no new fits
        if solver in self.experiment.solvers:
            return self.experiment.solvers[solver].label
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver


def load_results(folder: Path | str, outcome: Outcome | None = None) -> Results:
    """Read a results folder, also during a run.

    Only cells of the last plan (``plan.json``) count, or all cells without one. Of records with the
    same key the last one counts. ``outcome`` is that of a run that has just written the folder:
    plan and records are not read again.

    Raises
    ------
    ResultsError
        If the folder is not one of results, or holds a file that cannot be read.
    """
    folder = Path(folder)
    task = read_task(folder)
    experiment = load_stored(folder / CONFIG)
    plan, (stored, bad) = (
        (read_plan(folder), read_records(folder))
        if outcome is None
        else (outcome.plan, (outcome.records, []))
    )
    cells = planned_cells(stored.values()) if plan is None else plan.cells
    labels = {key: spec.label for key, spec in experiment.solvers.items()}
    records = [_as_planned(cell, stored[cell.key], labels) for cell in cells if cell.key in stored]
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=read_json(folder / DATASET) or {},
        environment=read_json(folder / ENVIRONMENT) or {},
        environments=read_environments(folder, records),
        cells=fit_frame(records, task),
        search=search_frame(records, task),
        records=records,
        plan=None if plan is None else plan.cells,
        left_out_at=() if plan is None else plan.left_out,
        bad=bad,
    )


def _as_planned(cell: Cell, record: Record, labels: Mapping[str, str]) -> Record:
    """Return a record as that of an entry of the plan, with the config's label."""
    label = labels.get(cell.solver) or record.get("label") or cell.solver
    names = ("kind", "solver", "trial", "at", "also_at")
    return record | {name: getattr(cell, name) for name in names} | {"label": label}


def _frame(rows: list[dict[str, Any]], columns: Iterable[str]) -> pd.DataFrame:
    """Return a table whose columns do not depend on whether it has rows."""
    return pd.DataFrame({name: [row[name] for row in rows] for name in columns})


def fit_frame(records: Iterable[Record], task: Description) -> pd.DataFrame:
    """Return the table of fits: a row for each size at which one holds."""
    rows = []
    for record in records:
        if record["kind"] == "fit":
            row = _common(record, task.axis) | {
                "key": record["key"],
                "full": bool(record.get("full", False)),
                "level": bool(record.get("also_at")),
                "needed": _number(record.get("needed")),
                "params": record.get("params") or {},
                "remark": record.get("remark") or "",
                "diagnostics": record.get("diagnostics") or {},
                "timing": record.get("timing") or {},
            }
            row |= {measure.name: _number(_value(record, measure)) for measure in task.measures}
            rows.append(row)
            if task.axis is not None:
                sizes = record.get("also_at") or ()
                rows += [row | {"size": size, "full": False} for size in sizes]
    return _frame(rows, [*FIT_COLUMNS, *(measure.name for measure in task.measures)])


def search_frame(records: Iterable[Record], task: Description) -> pd.DataFrame:
    """Return the table of shares of searches."""
    rows = [
        _common(record, task.axis)
        | {
            "search_seconds": _number((record.get("times") or {}).get("search")),
            "peak_memory": _number(record.get("peak_memory")),
            "points": record.get("points") or [],
            "fold_scores": record.get("fold_scores") or [],
        }
        for record in records
        if record["kind"] == "search"
    ]
    return _frame(rows, SEARCH_COLUMNS)


def _common(record: Record, axis: Axis | None) -> dict[str, Any]:
    """Return the columns that fits and searches share."""
    return {
        "solver": record["solver"],
        "label": record.get("label") or "",
        "trial": record["trial"],
        "size": record["at"][axis.name] if axis else 0,
        "status": ending(record),
        "message": record.get("message") or "",
    }


def _value(record: Record, measure: Measure) -> float | None:
    """Return the value of a measure for a fit; None if it has none."""
    if measure.clock:
        return (record.get("times") or {}).get(measure.clock)
    if measure.name == MEMORY.name:
        return record.get(MEMORY.name)
    return (record.get("scores") or {}).get(measure.name)


def _number(value: float | None) -> float:
    """Return a stored number, NaN if it is missing."""
    return math.nan if value is None else float(value)

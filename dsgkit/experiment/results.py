"""Stored results of one experiment, read back for tables and figures."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from dsgkit.config.schema import Experiment, load_stored
from dsgkit.config.solvers import SolverSpec
from dsgkit.config.spec import LONGEST_LABEL
from dsgkit.errors import ResultsError, in_a_line
from dsgkit.experiment.codes import OtherCode, by_other_code
from dsgkit.experiment.environment import ENVIRONMENT, ENVIRONMENTS
from dsgkit.experiment.folder import (
    CONFIG,
    LeftOutEntry,
    PlanEntry,
    as_plan,
    read_dataset,
    read_environment,
    read_plan,
    read_task,
)
from dsgkit.experiment.records import Bad, Record, Records, read_records
from dsgkit.experiment.status import ending
from dsgkit.experiment.store import CELLS
from dsgkit.tasks.measures import FIT_COLUMNS, MEMORY, Axis, Description, Measure

if TYPE_CHECKING:
    from dsgkit.experiment.plan import Cell, LeftOut
    from dsgkit.experiment.runner import Outcome

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


class PlannedRecords(Sequence[Record]):
    """The records of a plan's cells in its order, each built when it is accessed.

    The plan, not the record, says which cell it is: several entries may share a record.

    Parameters
    ----------
    records : Records
    plan : sequence of Cell or PlanEntry
        Cells that have a record.
    labels : dict
        Labels by solver.
    """

    def __init__(
        self, records: Records, plan: Sequence[Cell | PlanEntry], labels: dict[str, str]
    ) -> None:
        self._records, self._plan, self._labels = records, plan, labels

    def entries(self, name: str) -> Iterator[Any]:
        """Yield one entry of every record, or None, without building the records."""
        return (self._records.entry(planned.key, name) for planned in self._plan)

    def where(self, wanted: Callable[[Cell | PlanEntry], object]) -> PlannedRecords:
        """Return the records of those entries of the plan for which ``wanted`` is true."""
        return PlannedRecords(self._records, [e for e in self._plan if wanted(e)], self._labels)

    def having(self, name: str) -> PlannedRecords:
        """Return the records in which an entry is there and not empty."""
        return self.where(lambda planned: self._records.entry(planned.key, name))

    def _record(self, planned: Cell | PlanEntry) -> Record:
        record = self._records[planned.key]
        record["kind"], record["solver"] = planned.kind, planned.solver
        record["trial"], record["at"] = planned.trial, planned.at
        record["label"] = self._labels[planned.solver]
        record["also_at"] = planned.also_at
        return record

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return PlannedRecords(self._records, self._plan[index], self._labels)
        return self._record(self._plan[index])

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, self._plan)

    def __len__(self) -> int:
        return len(self._plan)


class PlannedFits(NamedTuple):
    """Number of fits in a plan.

    Attributes
    ----------
    numbers : dict
        By solver.
    at : dict
        By solver and size, 0 where the config leaves the solver out. A fit that holds at several
        sizes counts at each.
    """

    numbers: Mapping[str, int]
    at: Mapping[tuple[str, int], int]

    @property
    def number(self) -> int:
        """Total number of fits."""
        return sum(self.numbers.values())

    def of(self, solvers: Collection[str]) -> PlannedFits:
        """Return the numbers for some solvers."""
        numbers = {key: count for key, count in self.numbers.items() if key in solvers}
        return PlannedFits(numbers, {at: n for at, n in self.at.items() if at[0] in solvers})


_BLOCK_RECORDS = 1000
"""Records that are converted to table rows at a time, to bound the memory of dictionaries."""


@dataclass(frozen=True)
class Results:
    """Contents of one results folder.

    Attributes
    ----------
    folder : Path
        The results folder.
    experiment : Experiment
        The resolved configuration.
    task : Description
        The task: its axis, measures and descriptions.
    data : dict
        Facts about the dataset.
    environment : dict
        Versions, processor and threads of the last run; empty if none was stored.
    environments : dict
        The environments of all cells, by their names in records.
    cells : DataFrame
        One row per fit, with the columns `FIT_COLUMNS` and a column per measure.
        ``size`` is that on the swept axis, 0 without one. A fit that does not depend on it is
        ``level``, and has a row at every size at which it holds.
    search : DataFrame
        One row per share of a hyper-parameter search, with the columns `SEARCH_COLUMNS`.
    records : PlannedRecords
        The records themselves, of fits and of searches.
    planned_by_solver : dict or None
        Number of planned cells by solver; None without a stored plan.
    bad : Bad or None
        Unreadable lines of the store, if any.
    other_code : OtherCode
        Cells that were computed by other code than that of the last plan.
    fits : PlannedFits or None
        None without a stored plan.
    left_out : dict
        Specs of the config's solvers that are not shown, by their keys.
    order : tuple of str
        The keys of all solvers in the config's order; empty if all are shown.
    """

    folder: Path
    experiment: Experiment
    task: Description
    data: dict[str, Any]
    environment: dict[str, Any]
    environments: dict[str, dict[str, Any]]
    cells: pd.DataFrame
    search: pd.DataFrame
    records: PlannedRecords
    planned_by_solver: Mapping[str, int] | None
    bad: Bad | None = None
    other_code: OtherCode = field(default_factory=lambda: OtherCode({}, {}))
    fits: PlannedFits | None = None
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
        return None if self.planned_by_solver is None else sum(self.planned_by_solver.values())

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers, in the order of the config, then those known from cells only."""
        return list(dict.fromkeys([*self.experiment.solvers, *self.cells["solver"].unique()]))

    def at(self, n: int) -> Results:
        """Return the results with the fits at one size only: the largest up to ``n``.

        Datasets of different sizes have different largest ones. Without a swept axis all fits
        remain.

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
        name, fits = self.task.axis.name, self.fits
        if fits is not None:
            there = {key: count for key, count in fits.at.items() if key[1] == largest}
            fits = PlannedFits({solver: count for (solver, _), count in there.items()}, there)
        return replace(
            self,
            cells=self.cells[self.cells["size"] == largest],
            records=self.records.where(
                lambda e: e.kind != "fit" or largest in (e.at[name], *e.also_at)
            ),
            fits=fits,
        )

    def of(self, solvers: Collection[str]) -> Results:
        """Return the results of some solvers; unknown keys are ignored.

        A solver whose rival (``against``) is left out is compared with none.
        """
        known = self.experiment.solvers
        specs = {key: spec for key, spec in known.items() if key in solvers}
        left_out = {key: spec for key, spec in known.items() if key not in solvers}
        for key, spec in specs.items():
            if spec.against not in specs:
                specs[key] = spec.model_copy(update={"against": None})
        planned, fits = self.planned_by_solver, self.fits
        return replace(
            self,
            experiment=self.experiment.model_copy(update={"solvers": specs}),
            cells=self.cells[self.cells["solver"].isin(list(solvers))],
            search=self.search[self.search["solver"].isin(list(solvers))],
            records=self.records.where(lambda entry: entry.solver in solvers),
            planned_by_solver=planned and {k: n for k, n in planned.items() if k in solvers},
            other_code=self.other_code.of(solvers),
            fits=fits and fits.of(solvers),
            left_out={**self.left_out, **left_out},
            order=self.order or tuple(known),
        )

    def label(self, solver: str) -> str:
        """Return the name of a solver in tables and figures."""
        # The config's comes first: a new label there needs no new fits.
        if solver in self.experiment.solvers:
            return self.experiment.solvers[solver].label
        recorded = self.cells.loc[self.cells["solver"] == solver, "label"]
        return str(recorded.iloc[-1]) or solver


def load_results(folder: Path | str, outcome: Outcome | None = None) -> Results:
    """Read a results folder.

    Only cells of the last plan (``plan.json``) count, or all cells without one. Of records with the
    same key the last one counts. A truncated last line is ignored.

    Parameters
    ----------
    folder : path
        ``results/<experiment name>``.
    outcome : Outcome, optional
        Outcome of the run that has just written it: plan and records are not read again.

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
    experiment = load_stored(config)
    plan: Sequence[Cell | PlanEntry] | None
    left_out: Sequence[LeftOut | LeftOutEntry]
    if outcome is None:
        plan, left_out, _ = read_plan(folder, task.axis) or (None, [], [])
        stored, bad = read_records(folder / CELLS, task.axis)
    else:
        plan, left_out, stored, bad = outcome.plan, outcome.left_out, outcome.records, None
    entries = as_plan(stored) if plan is None else [e for e in plan if e.key in stored]
    records = PlannedRecords(stored, entries, _labels(stored, entries, experiment))
    return Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=read_dataset(folder),
        environment=read_environment(folder / ENVIRONMENT),
        environments=_read_environments(folder, records),
        **frames(records, task),
        records=records,
        planned_by_solver=None if plan is None else Counter(entry.solver for entry in plan),
        bad=bad,
        other_code=by_other_code(entries, stored),
        fits=None if plan is None else _planned_fits(plan, left_out, task.axis),
    )


def _planned_fits(
    plan: Iterable[Cell | PlanEntry], left_out: Iterable[LeftOut | LeftOutEntry], axis: Axis | None
) -> PlannedFits:
    """Return the number of planned fits by solver, and by solver and size."""
    points = ((point.solver, point.at[axis.name] if axis else 0) for point in left_out)
    planned = Counter(dict.fromkeys(points, 0))
    fits = [cell for cell in plan if cell.kind == "fit"]
    for cell in fits:
        sizes = (cell.at[axis.name] if axis else 0, *cell.also_at)
        planned.update((cell.solver, size) for size in sizes)
    return PlannedFits(Counter(cell.solver for cell in fits), planned)


def _labels(
    records: Records, entries: Iterable[Cell | PlanEntry], experiment: Experiment
) -> dict[str, str]:
    """Return labels by solver: the config's, or for other solvers the recorded one."""
    labels = {key: spec.label for key, spec in experiment.solvers.items()}
    for entry in entries:
        if entry.solver not in labels:
            label = records.entry(entry.key, "label") or entry.solver
            labels[entry.solver] = in_a_line(label, LONGEST_LABEL).replace("$", r"\$")
    return labels


def _read_environments(folder: Path, records: PlannedRecords) -> dict[str, dict[str, Any]]:
    """Return the environments that records refer to; empty ones for missing files."""
    names = dict.fromkeys(records.entries("environment"))
    folder = folder / ENVIRONMENTS
    return {name: read_environment(folder / f"{name}.json") for name in names if name}


def frames(records: Iterable[Record], task: Description) -> dict[str, pd.DataFrame]:
    """Return the two tables of `Results`."""
    cells, search = _fit_columns([], task), _search_columns([], task)
    left = iter(records)
    while block := list(itertools.islice(left, _BLOCK_RECORDS)):
        fits = [at_size for record in block for at_size in _at_every_size(record, task.axis)]
        searches = [record for record in block if record["kind"] == "search"]
        _extend(cells, _fit_columns(fits, task))
        _extend(search, _search_columns(searches, task))
    return {"cells": pd.DataFrame(cells), "search": pd.DataFrame(search)}


def _at_every_size(record: Record, axis: Axis | None) -> Iterator[Record]:
    """Yield a fit once for each size at which it holds; nothing for a search."""
    if record["kind"] != "fit":
        return
    yield record
    if axis is None:
        return
    for size in record.get("also_at", ()):
        yield record | {"at": record["at"] | {axis.name: size}, "full": False}


def _extend(columns: dict[str, list[Any]], further: dict[str, list[Any]]) -> None:
    for name, values in further.items():
        columns[name] += values


def _common(records: list[Record], task: Description) -> dict[str, list[Any]]:
    """Return the columns that fits and searches share."""
    axis = task.axis
    return {
        "solver": [record["solver"] for record in records],
        "label": [record.get("label") or "" for record in records],
        "trial": [record["trial"] for record in records],
        "size": [record["at"][axis.name] if axis else 0 for record in records],
        "status": [ending(record) for record in records],
        "message": [record.get("message") or "" for record in records],
    }


def _fit_columns(records: list[Record], task: Description) -> dict[str, list[Any]]:
    """Return the columns of `Results.cells`: those of `FIT_COLUMNS`, then of the measures."""
    columns = _common(records, task) | {
        "key": [record["key"] for record in records],
        "full": [bool(record.get("full", False)) for record in records],
        "level": [bool(record.get("also_at")) for record in records],
        "needed": [_number(record.get("needed")) for record in records],
        "params": [record.get("params") or {} for record in records],
        "remark": [record.get("remark") or "" for record in records],
        "diagnostics": [record.get("diagnostics") or {} for record in records],
        "timing": [record.get("timing") or {} for record in records],
    }
    ordered = {name: columns[name] for name in FIT_COLUMNS}
    return ordered | {
        measure.name: [_number(value) for value in _recorded(records, measure)]
        for measure in task.measures
    }


def _recorded(records: list[Record], measure: Measure) -> Iterator[float | None]:
    """Yield the value of a measure for every fit."""
    if measure.clock:
        return ((record.get("times") or {}).get(measure.clock) for record in records)
    own_entry = measure.name if measure.name == MEMORY.name else ""
    return (
        (record.get("scores") or {}).get(measure.name, record.get(own_entry)) for record in records
    )


def _search_columns(records: list[Record], task: Description) -> dict[str, list[Any]]:
    """Return the columns of `Results.search`."""
    columns = _common(records, task) | {
        "search_seconds": [_number((r.get("times") or {}).get("search")) for r in records],
        "peak_memory": [_number(record.get("peak_memory")) for record in records],
        "points": [record.get("points") or [] for record in records],
        "fold_scores": [record.get("fold_scores") or [] for record in records],
    }
    return {name: columns[name] for name in SEARCH_COLUMNS}


def _number(value: float | None) -> float:
    """Return a stored number, NaN if it is missing."""
    return math.nan if value is None else float(value)

"""Forecast of a run: the time and memory of its cells, before it is started."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dsgkit.config.schema import Experiment
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.dataset import Dataset, check_present, load_dataset, resolve
from dsgkit.errors import DataError, MissingDataError
from dsgkit.experiment.plan import Plan, TooLarge, make_plan
from dsgkit.experiment.status import cells, describe_too_large, duration, from_to
from dsgkit.experiment.store import Record, finished_elsewhere, read_records
from dsgkit.experiment.timing import Paces
from dsgkit.system.machine import available_threads, memory_limit
from dsgkit.text.terminal import NO_BREAK, Column, table, wrapped

if TYPE_CHECKING:
    from dsgkit.experiment.run import Options

RUN_SECONDS = 5.0
"""Seconds to start processes, load data and draw figures."""

DAY = 86400.0
"""Seconds above which a run on a terminal asks first."""


@dataclass(frozen=True)
class Forecast:
    """What a run would do.

    ``cells`` has a row per cell, with its ``solver``, ``kind`` and ``size`` on the swept axis, the
    predicted ``seconds`` of processor time and ``gib`` of memory, and its ``state``: "finished",
    "to run", or "refused" if it or a search that it needs takes more memory than there is.
    ``missing`` says which data are not here: the plan is then that of the catalogue's sizes.
    """

    experiment: Experiment
    cells: pd.DataFrame
    too_large: list[TooLarge]
    jobs: int
    threads: int
    missing: str

    @property
    def n_done(self) -> int:
        """Number of cells that are finished already."""
        return len(self._in("finished"))

    def _in(self, state: str) -> pd.DataFrame:
        return self.cells[self.cells["state"] == state]

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds of processor time, and seconds until the run ends."""
        by_kind = self._in("to run").groupby("kind")["seconds"].sum()
        searches, fits = by_kind.get("search", 0.0), by_kind.get("fit", 0.0)
        fits_at_once = self.jobs if self.threads == 1 else 1
        wall = searches / self.jobs + fits / fits_at_once
        return RUN_SECONDS + searches + fits, RUN_SECONDS + wall

    @property
    def too_long(self) -> str:
        """What the run takes, and the solver that takes most of it; empty up to `DAY`."""
        if self.seconds[1] <= DAY:
            return ""
        by_solver = self._in("to run").groupby("solver")["seconds"].sum()
        label, time = self._label(by_solver.idxmax()), duration(by_solver.max())
        return f"{totals([self])}; {label} takes {time} of it"

    def _label(self, solver: object) -> str:
        return self.experiment.solvers[str(solver)].label

    def text(self, width: int) -> str:
        """Return the forecast for a terminal: a row per solver and kind of cell, and the total."""
        axis, notes = self.experiment.axis, [self.missing]
        rows: list[tuple[str, ...]] = []
        for (solver, kind), group in self._in("to run").groupby(["solver", "kind"], sort=False):
            label, time = self._label(solver), duration(group["seconds"].sum())
            label = "" if label in (row[0] for row in rows) else label
            size = from_to(set(group["size"])) if axis else ""
            rows.append((label, kind, f"{len(group):,}", size, time, _gib(group["gib"].max())))
        for solver, group in self._in("refused").groupby("solver", sort=False):
            needs = f"up to {_gib(group['gib'].max())} GiB"
            notes.append(f"{self._label(solver)}: {cells(len(group))} refused, need {needs}")
        heads = ("Solver", "For", "Cells", axis.noun.capitalize() if axis else "", "Time", "GiB")
        columns = [
            Column(head, entries, [place > 1] * len(rows))
            for place, (head, *entries) in enumerate(zip(heads, *rows, strict=True))
            if any(entries)
        ]
        notes += describe_too_large(self.too_large, axis)
        notes.append(f"in all: {self.too_long or totals([self])}")
        done = f", {self.n_done:,} more finished already" if self.n_done else ""
        lines = [f"{self.experiment.name}: {cells(len(self.cells) - self.n_done)}{done}"]
        lines += [f"\n{table(columns, width)}\n"] if rows else []
        return "\n".join([*lines, *(wrapped(f"  {note}", width) for note in notes if note)])


def _gib(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}" if number >= 0.01 else "<0.01"


def totals(forecasts: Sequence[Forecast]) -> str:
    """Return the total time of runs that follow each other."""
    processor, wall = (duration(sum(s)) for s in zip(*(f.seconds for f in forecasts), strict=True))
    options = f"--jobs{NO_BREAK}{forecasts[0].jobs} --threads{NO_BREAK}{forecasts[0].threads}"
    return f"about {processor} of processor time, {wall} on the clock with {options}"


def forecast_run(
    experiment: Experiment, folder: Path, options: Options, plan: Plan | None = None
) -> Forecast:
    """Forecast a run into a results folder, which need not exist; ``plan`` is made if not given.

    Raises
    ------
    MissingDataError
        If the data are missing and the catalogue does not describe them.
    """
    missing = ""
    if plan is None:
        plan, missing = _planned(experiment)
    chosen = {cell.key: cell for cell in options.chosen(plan.cells)}
    records: dict[str, Record] = {}
    if not options.fresh:
        stored, _ = read_records(folder)
        records = {key: stored[key] for key in chosen if key in stored}
        others = finished_elsewhere(folder, chosen.keys() - records.keys())
        records |= {record["key"]: record for _, record in others}
    paces = Paces(((chosen[key], record) for key, record in records.items()), options.timeout)
    axis, refused, rows = experiment.axis, set[str](), []
    for cell in chosen.values():
        own = experiment.solvers[cell.solver].params.get("max_memory")
        share = memory_limit() / (options.jobs if cell.kind == "search" else 1)
        most = min(share if own is None else own * 2**30, options.memory or math.inf)
        state = "to run"
        if options.settled(records.get(cell.key)):
            state = "finished"
        elif cell.memory > most or not refused.isdisjoint(cell.needs):
            state = "refused"
            refused.add(cell.key)
        size, seconds = cell.sizes(axis)[0], paces.seconds(cell, once=options.once)
        rows.append((cell.solver, cell.kind, size, seconds, cell.memory / 2**30, state))
    frame = pd.DataFrame(rows, columns=["solver", "kind", "size", "seconds", "gib", "state"])
    threads = options.threads or experiment.threads or available_threads()
    return Forecast(experiment, frame, plan.too_large, options.jobs, threads, missing)


def _planned(experiment: Experiment) -> tuple[Plan, str]:
    """Return the plan, and which data are missing: then it is made by the catalogue."""
    try:
        check_present(experiment.dataset)
    except MissingDataError as error:
        dataset = _stand_in(resolve(experiment.dataset))
        if dataset is None:
            raise
        assumed = "numbers of rows are the catalogue's, and shares of classes are assumed"
        try:
            return make_plan(experiment, dataset), f"{error}; {assumed}"
        except DataError:  # of the assumed labels
            raise error from None
    return make_plan(experiment, load_dataset(experiment.dataset)), ""


def _stand_in(info: DatasetInfo) -> Dataset | None:
    """Return a dataset of zeros with the catalogue's numbers of rows; None if it lacks them."""
    if info.local or info.n_rows is None or info.n_features is None:
        return None
    # classes of different sizes, as similar pairs have no prior of 1/2
    classes = [*range(1, (info.target.bins or 5) + 1)]
    values = {"binary": [1, 1, 1, -1, -1], "numeric": [0, 1]}.get(info.target.kind, classes)
    n_rows = min(info.n_rows, info.rows or info.n_rows) * (1 if info.double is None else 2)
    n_test = sum(file.n_rows or 0 for file in info.files if file.part == "test")
    X, X_test = (np.broadcast_to(np.float32(0), (n, info.n_features)) for n in (n_rows, n_test))
    y, y_test = np.resize(values, n_rows), np.resize(values, n_test) if n_test else None
    rows = X, X_test if n_test else None, y, y_test
    zeros = np.zeros(info.n_features)
    dataset = Dataset(info.name, info.title, *rows, info.target, zeros, zeros, content_hash="")
    vars(dataset).update(y=y, y_test=y_test)  # else the target makes them of the labels
    return dataset

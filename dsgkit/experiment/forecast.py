"""Forecast of a run: the time and memory of its cells, before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.data.files import obtain
from dsgkit.data.spec import resolve
from dsgkit.errors import MissingDataError
from dsgkit.experiment.plan import Plan, TooLarge, make_plan
from dsgkit.experiment.run import Options
from dsgkit.experiment.status import cells, duration
from dsgkit.experiment.store import Record, finished_elsewhere, read_records
from dsgkit.experiment.timing import Paces
from dsgkit.system.machine import available_threads, memory_limit
from dsgkit.text import Column, table, wrapped

DAY = 86400.0  # seconds above which a run on a terminal asks first


@dataclass(frozen=True)
class Forecast:
    """What a run would do."""

    experiment: Experiment
    # a row per cell: the label of its solver, its kind, predicted seconds of processor time and GiB
    # of memory; and its state: "finished", "to run", or "refused" if it or a search that it needs
    # takes more memory than there is
    cells: pd.DataFrame
    too_large: list[TooLarge]
    jobs: int
    threads: int
    # how the data were read, and which are not here: the plan is then that of the catalogue's sizes
    data: str
    missing: str

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds of processor time, and seconds until the run ends."""
        by_kind = self._in("to run").groupby("kind")["seconds"].sum()
        searches, fits = by_kind.get("search", 0.0), by_kind.get("fit", 0.0)
        fits_at_once = self.jobs if self.threads == 1 else 1
        return searches + fits, searches / self.jobs + fits / fits_at_once

    @property
    def too_long(self) -> str:
        """What the run takes, and the solver that takes most of it; empty up to `DAY`."""
        if self.seconds[1] <= DAY:
            return ""
        by_solver = self._in("to run").groupby("label")["seconds"].sum()
        return f"{totals([self])}; {by_solver.idxmax()} takes {duration(by_solver.max())} of it"

    def _in(self, state: str) -> pd.DataFrame:
        return self.cells[self.cells["state"] == state]

    def text(self, width: int) -> str:
        """Return the forecast for a terminal: a row per solver and kind of cell, and the total."""
        rows = [("Solver", "Step", "Cells", "Time", "Memory")]
        for (label, kind), group in self._in("to run").groupby(["label", "kind"], sort=False):
            time, memory = duration(group["seconds"].sum()), f"{group['gib'].max():,.2f} GiB"
            rows.append((label, kind, f"{len(group):,}", time, memory))
        columns = [
            Column(head, entries, [head not in ("Solver", "Step")] * len(entries))
            for head, *entries in zip(*rows, strict=True)
        ]
        too_large = [sizes.text(self.experiment.axis) for sizes in self.too_large]
        notes = [self.data, self.missing, *too_large]
        for label, group in self._in("refused").groupby("label", sort=False):
            needs = f"they need up to {group['gib'].max():,.2f} GiB"
            notes.append(f"{label}: {cells(len(group))} will not run: {needs}")
        notes.append(f"in total: {self.too_long or totals([self])}")
        n_done = len(self._in("finished"))
        what = f"{cells(len(self.cells))}, each a search or a fit; {n_done:,} of them finished"
        lines = [wrapped(f"{self.experiment.name}: {what}", width)]
        lines += [f"\n{table(columns, width)}\n"] if len(rows) > 1 else []
        return "\n".join([*lines, *(wrapped(f"  {note}", width) for note in notes if note)])


def totals(forecasts: Sequence[Forecast]) -> str:
    processor, wall = (duration(sum(s)) for s in zip(*(f.seconds for f in forecasts), strict=True))
    options = f"--jobs {forecasts[0].jobs} --threads {forecasts[0].threads}"
    return f"about {processor} of processor time, {wall} on the clock with {options}"


def forecast_run(
    experiment: Experiment, folder: Path, options: Options, plan: Plan | None = None
) -> Forecast:
    """Forecast a run into a results folder, which need not exist; ``plan`` is made if not given."""
    data = missing = ""
    if plan is None:
        try:
            obtain(resolve(experiment.dataset), download=False)
            dataset = load_dataset(experiment.dataset)
            data = dataset.summary
        except MissingDataError as error:
            dataset = _stand_in(experiment, error)
            missing = f"{error}; numbers of rows are the catalogue's, shares of classes are assumed"
        plan = make_plan(experiment, dataset)
    wanted = experiment.solvers if options.solvers is None else options.solvers
    chosen = {cell.key: cell for cell in plan.cells if cell.solver in wanted}
    records: dict[str, Record] = {}
    if not options.fresh:
        stored, _ = read_records(folder)
        records = {key: stored[key] for key in chosen if key in stored}
        others = finished_elsewhere(folder, chosen.keys() - records.keys())
        records |= {record["key"]: record for _, record in others}
    paces = Paces(options.timeout)
    for key, record in records.items():
        paces.note(chosen[key], record)
    refused, late, rows = set[str](), set[Any](), []
    for cell in chosen.values():
        share = memory_limit() / (options.jobs if cell.kind == "search" else 1)
        state, label = "to run", experiment.solvers[cell.solver].label
        if cell.key in records and options.settled(records[cell.key]):
            state = "finished"
        elif cell.memory > min(share, options.memory or share) or not refused.isdisjoint(
            cell.needs
        ):
            state = "refused"
            refused.add(cell.key)
        seconds = paces.seconds(cell, once=options.once)
        fits = cell.kind, cell.solver, cell.trial, cell.needs
        if fits in late:  # on more rows it is not begun
            seconds = 0.0
        elif cell.kind == "fit" and seconds == paces.timeout:
            late.add(fits)
        rows.append((label, cell.kind, seconds, cell.memory / 2**30, state))
    frame = pd.DataFrame(rows, columns=["label", "kind", "seconds", "gib", "state"])
    threads = options.threads or experiment.threads or available_threads()
    return Forecast(experiment, frame, plan.too_large, options.jobs, threads, data, missing)


def _stand_in(experiment: Experiment, missing: MissingDataError) -> Dataset:
    """Return a dataset of zeros with the catalogue's numbers of rows and assumed labels."""
    info = resolve(experiment.dataset)
    if info.local or info.n_rows is None or info.n_features is None:
        raise missing
    # classes of different sizes, as similar pairs have no prior of 1/2
    classes = [*range(1, (info.target.bins or 5) + 1)]
    values = {"binary": [1, 1, 1, -1, -1], "numeric": [0, 1]}.get(info.target.kind, classes)
    n_rows = min(info.n_rows, info.rows or info.n_rows) * (1 if info.double is None else 2)
    X, y = np.broadcast_to(np.float32(0), (n_rows, info.n_features)), np.resize(values, n_rows)
    dataset = Dataset(info.name, info.title, X, None, y, None, info.target, X[0], X[0], "")
    vars(dataset)["y"] = y  # else the target makes it of the labels
    return dataset

"""A results folder, read back: its experiment, and its cells as frames."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.schema import Experiment, SolverSpec, load_experiment, load_stored
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import MemoryLimitError, ResultsError
from dsgkit.experiment import folder as folders
from dsgkit.experiment import frames
from dsgkit.experiment.plan import Cell, make_plan, make_trial
from dsgkit.experiment.store import Record, read_records
from dsgkit.tasks.measures import Axis, Description, Measure

SPLITS_HEADER = "config,trial,part,size,fold,row\n"
NOT_RUN, TO_COME, LEFT_OUT = "not run", "not yet run", "left out"
"""Endings of fits: without a value for no known reason; planned without a record; by the config."""


@dataclass(frozen=True)
class Run:
    """The contents of a results folder.

    Attributes
    ----------
    task : Description
        Measures, swept axis and texts of its task.
    data : dict
        Facts about its dataset.
    fits : DataFrame
        A row per planned fit, with the columns of `frames.Frames`, and ``name`` (of its solver),
        ``size`` (on the swept axis, 0 without one), ``level`` (the size does not matter),
        ``disturbed`` (by other processes; on one thread, times never are), and ``ending``: ``ok``,
        or in words why there is no result.
    names : dict of str to str
        The name of every shown solver by its key, distinct also from those of other runs.
    title : str
        Name in a report, distinct from those of other runs.
    bad : sequence of int
        Numbers of unreadable lines of the store.
    """

    folder: Path
    experiment: Experiment
    task: Description
    data: Mapping[str, Any]
    fits: pd.DataFrame
    names: Mapping[str, str]
    title: str
    bad: Sequence[int] = ()
    cells: frames.Cells = field(default=(), repr=False)  # with their records, unless they are kept

    @property
    def axis(self) -> Axis | None:
        return self.task.axis

    @property
    def dataset(self) -> str:
        """Name of the dataset; if the config names only a file, that of the experiment."""
        return self.experiment.dataset.name or self.experiment.name

    @property
    def heading(self) -> str:
        """The dataset's full title if ``title`` is the dataset's name, else ``title``."""
        full = self.data.get("title") if self.title == self.dataset else ""
        return full or self.title

    @property
    def solvers(self) -> dict[str, SolverSpec | None]:
        """The config's entry of every shown solver by its key; None if it is gone from there."""
        return {key: self.experiment.solvers.get(key) for key in self.names}

    @cached_property
    def sized(self) -> pd.DataFrame:
        """The fits, with a row for each further size at which a fit holds, too."""
        repeated = self.fits["also_at"].map(bool).astype(bool)  # also without fits
        further = self.fits[repeated].explode("also_at")
        further = further.assign(size=further["also_at"].astype(int), full=False)
        return pd.concat([self.fits, further]).sort_index(kind="stable").reset_index(drop=True)

    @cached_property
    def traces(self) -> pd.DataFrame:
        """A row per checkpoint of the fits, with their ``name`` and ``size``."""
        cells = self.cells
        table = frames.traces_of(cells) if cells else self._kept(frames.FILES.traces)
        about = self.fits[["key", "solver", "trial", "name", "size", "also_at"]]
        return about.merge(table, on=["key", "solver", "trial"])

    @cached_property
    def searches(self) -> pd.DataFrame:
        """A row per share of a search: its grid points, their scores by fold, and its seconds."""
        cells = self.cells
        table = frames.searches_of(cells) if cells else self._kept(frames.FILES.searches)
        table = table[table["solver"].isin([*self.names])]
        return table.assign(size=_sizes(table, self.axis), ending=_endings(table))

    def _kept(self, name: str) -> pd.DataFrame:
        return frames.read_frame(self.folder / name)

    @cached_property
    def environments(self) -> dict[str, dict[str, Any]]:
        return folders.read_environments(self.folder, self.fits["environment"].unique())

    @cached_property
    def recorded(self) -> list[tuple[Cell, Record]]:
        if self.cells:
            return [(cell, record) for cell, record in self.cells if record is not None]
        kept = frames.Frames(*map(self._kept, frames.FILES))
        return [(folders.cell_of(record), record) for record in frames.records_of(kept)]

    @property
    def unfinished(self) -> list[Record]:
        """The records of cells that ended without a result."""
        parts = [one[~one["status"].isin(["", "ok"])] for one in (self.fits, self.searches)]
        return list(frames.records_of(frames.Frames(parts[0], frames.traces_of(()), parts[1])))

    def column(self, measure: Measure) -> str:
        """Return the column of the fits with a measure's values."""
        if measure.clock:
            return f"times.{measure.clock}"
        return measure.name if measure.unit == "bytes" else f"scores.{measure.name}"

    def at(self, n: int) -> Run:
        """Return the run with the fits at one size only: the largest up to ``n``."""
        if self.axis is None:
            return self
        run = self.sized[self.sized["status"] != ""]
        size = run.loc[run["size"] <= n, "size"].max()
        if pd.isna(size):
            text = f"no fit at {n:,} {self.axis.noun} or below; the least is {run['size'].min():,}"
            raise ResultsError(f"{self.folder}: {text}")
        fits = self.sized[self.sized["size"] == size]
        return replace(self, fits=fits.assign(also_at=[()] * len(fits)))

    def of(self, solvers: Collection[str]) -> Run:
        """Return the run with some solvers only; unknown keys are ignored."""
        names = {key: name for key, name in self.names.items() if key in solvers}
        return replace(self, fits=self.fits[self.fits["solver"].isin([*names])], names=names)

    def named(self, names: Mapping[str, str], title: str) -> Run:
        """Return the run under another title, with the named solvers only, by their keys."""
        run = self.of(names)
        fits = run.fits.assign(name=run.fits["solver"].map(names))
        return replace(run, fits=fits, names=dict(names), title=title)


def load(*folders_: Path | str) -> list[Run]:
    """Read results folders, also during a run.

    Only cells of the last plan count, or all cells without one. Runs of one dataset are named by
    their configs; solvers of different kinds with one label, by label and kind.
    """
    runs = [_read(Path(folder)) for folder in folders_]
    datasets = Counter(run.dataset for run in runs)
    titles = [run.dataset if datasets[run.dataset] == 1 else run.experiment.name for run in runs]
    kinds: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for key, spec in run.solvers.items():
            kinds[run.names[key]] |= {spec.kind} if spec else set()
    named = []
    for run, title in zip(runs, distinct(titles), strict=True):
        labels = zip(run.names.values(), run.solvers.values(), strict=True)
        names = [f"{a} ({one.kind})" if one and len(kinds[a]) > 1 else a for a, one in labels]
        named.append(run.named(dict(zip(run.names, distinct(names), strict=True)), title))
    return named


def dataset_of(run: Run) -> Dataset:
    """Open the dataset of a run; `ResultsError` if its rows have changed."""
    dataset = load_dataset(run.experiment.dataset)
    if dataset.content_hash != run.data.get("content_hash"):
        raise ResultsError(f"dataset {dataset.name}: its rows are not those of the run")
    return dataset


def splits_text(run: Run) -> Iterator[str]:
    """Open a run, and return its lines below `SPLITS_HEADER`, a piece for each part of a trial."""
    experiment, dataset = load_experiment(run.folder / folders.CONFIG), dataset_of(run)
    cells = [cell for cell in make_plan(experiment, dataset).cells if cell.solver in run.names]
    searched = {cell.sizes(experiment.axis)[0]: cell.at for cell in cells if cell.kind == "search"}
    if not make_trial(experiment, dataset, 0).drawn_rows():
        raise ResultsError(f"{run.folder}: its task, {run.task.kind}, does not tell its rows")

    def pieces() -> Iterator[str]:
        for number in range(experiment.protocol.trials):
            trial = make_trial(experiment, dataset, number)
            drawn: list[tuple[Any, ...]]
            drawn = [(part, "", "", rows) for part, rows in trial.drawn_rows().items()]
            drawn += [
                (f"{part}_fold", size, fold, rows)
                for size, at in sorted(searched.items())
                for part, folds in trial.fold_rows(at).items()
                for fold, rows in enumerate(folds)
            ]
            for part, size, fold, rows in drawn:
                numbers = rows if dataset.file_rows is None else dataset.file_rows[rows]
                columns = (experiment.name, number, part, size, fold, numbers)
                table = pd.DataFrame(dict(enumerate(columns)))
                yield table.to_csv(header=False, index=False, lineterminator="\n")

    return pieces()


def distinct(names: Iterable[str]) -> list[str]:
    """Return distinct names: a repeated one gets the first free suffix of ``-2``, ``-3``, .."""
    result: list[str] = []
    for name in names:
        choices = itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2)))
        result.append(next(choice for choice in choices if choice not in result))
    return result


def _read(folder: Path) -> Run:
    task, data = folders.read_task(folder)
    experiment = load_stored(folder / folders.CONFIG)
    if (folder / frames.FILES.fits).exists():
        fits = frames.read_frame(folder / frames.FILES.fits)
        return new_run(folder, experiment, task, data, fits)
    plan, (stored, bad) = folders.read_plan(folder), read_records(folder)
    planned = [*map(folders.cell_of, stored.values())] if plan is None else plan.cells
    cells = [(cell, stored.get(cell.key)) for cell in planned]
    fits = frames.fits_of(cells, plan.left_out if plan else ())
    return new_run(folder, experiment, task, data, fits, cells, bad)


def new_run(
    folder: Path,
    experiment: Experiment,
    task: Description,
    data: Mapping[str, Any],
    fits: pd.DataFrame,
    cells: frames.Cells = (),
    bad: Sequence[int] = (),
) -> Run:
    """Return a run whose solvers are named by their labels: the config's, else as recorded."""
    recorded = dict(zip(fits["solver"], fits["label"], strict=True))
    written = {key: spec.label for key, spec in experiment.solvers.items()}
    labels = {key: written.get(key) or recorded[key] or key for key in {**written, **recorded}}
    fits = fits.assign(
        label=fits["solver"].map(labels),
        size=_sizes(fits, task.axis),
        level=fits["also_at"].map(bool),
        disturbed=fits["timing.disturbed"] & (fits["timing.threads"] > 1),
        ending=_endings(fits),
    )
    return Run(folder, experiment, task, data, fits, labels, "", bad, cells)


def _sizes(table: pd.DataFrame, axis: Axis | None) -> Any:
    return table[f"at.{axis.name}"].astype(int) if axis and len(table) else 0


def _endings(table: pd.DataFrame) -> pd.Series:
    """Return in words how each cell ended: ``refused`` if its predicted memory was too much."""
    words = table["status"].str.replace("_", " ")
    refused = (table["status"] == MemoryLimitError.status) & table["needed"].notna()
    left_out = table["trial"] < 0
    return words.mask(refused, "refused").mask(words == "", TO_COME).mask(left_out, LEFT_OUT)

"""Runs an experiment: remaining cells go to workers, their records to the store."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import psutil

from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import FitError
from dsgkit.experiment.artefacts import keep_artefact, name_artefact
from dsgkit.experiment.cells import failed_record, record_of
from dsgkit.experiment.codes import OtherCode, by_other_code, to_renew
from dsgkit.experiment.environment import Environments
from dsgkit.experiment.folder import CONFIG, DATASET, PLAN, TASK
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.outlasted import STOPPED_STATUSES, Outlasted
from dsgkit.experiment.plan import (
    Cell,
    LeftOut,
    Plan,
    Point,
    TooLarge,
    described,
    solver_info,
    whole_plan,
)
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.records import Record, Records, UnreadableError, sealed
from dsgkit.experiment.reuse import copy_records
from dsgkit.experiment.schedule import Schedule
from dsgkit.experiment.selection import choose, choosing_measure
from dsgkit.experiment.series import Series
from dsgkit.experiment.status import FAILURES, LEFT_OUT, TOO_LARGE
from dsgkit.experiment.store import Store, check_writable, write_file, write_whole
from dsgkit.experiment.workers import Listener, LocalWorkers
from dsgkit.system.memory import memory_limit
from dsgkit.system.signals import stop_if_asked
from dsgkit.system.threads import available_threads

FitsEnded = Callable[[int, Sequence[tuple[Cell, Record]]], None]
Planned = Callable[[Plan], None]

_MEMORY_OF_A_SEARCH = 2 * 2**30


def default_jobs() -> int:
    """Return the number of concurrent searches: one per core, as far as memory allows."""
    fitting = psutil.virtual_memory().available // _MEMORY_OF_A_SEARCH
    return max(1, min(available_threads(), fitting))


class Executor(AbstractContextManager["Executor"], Protocol):
    """Interface of `workers.LocalWorkers` and `cluster.Cluster`, which run jobs."""

    @property
    def busy(self) -> int:
        """Number of running jobs."""

    def accepts(self, job: Job) -> bool:
        """Return whether a job can start now."""

    def submit(self, job: Job) -> None:
        """Start an accepted job."""

    def wait(self) -> list[tuple[Job, Record]]:
        """Return the jobs that have ended, at least one, with their records."""


@dataclass(frozen=True)
class Options:
    """Options of a run; none of them is part of a cell's identity.

    Attributes
    ----------
    jobs : int
        Number of concurrent searches. Fits are timed alone, except on one thread.
    threads : int or None
        Threads of a fit, shared by the searches; None for the experiment's setting, or all.
    limits : Limits
        Limits of each cell.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the cells; None for this machine.
    fresh : bool
        Set earlier results aside and compute everything.
    renew : bool
        Recompute results of other code. Each stays until the new one replaces it.
    retry_failed : bool
        Rerun cells that failed before.
    fail_fast : bool
        Stop at the first failure.
    once : bool
        Time every fit once, for runs whose times do not matter.
    solvers : collection of str, optional
        Run the cells of these solvers only, by key.
    progress : bool
        Show progress: a line on a terminal, else one per minute.
    series : Series, optional
        The series of experiments that this one is part of, for the progress.
    planned : callable or None
        Called with the plan before any cell runs.
    size_ended : callable or None
        Called after the last fit of a size in the first trial, with the size (0 without a sweep)
        and the fits, each a cell with its record.
    trial_ended : callable or None
        Called after the last cell of a trial, with its number and its fits.
    """

    jobs: int = 1
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    scheduler: str | None = None
    fresh: bool = False
    renew: bool = False
    retry_failed: bool = True
    fail_fast: bool = False
    once: bool = False
    solvers: Collection[str] | None = None
    progress: bool = True
    series: Series | None = None
    planned: Planned | None = None
    size_ended: FitsEnded | None = None
    trial_ended: FitsEnded | None = None

    def settled(self, records: Records, key: str) -> bool:
        """Return whether a cell need not run: it has a result, or would end as before.

        Parameters
        ----------
        records : Records
        key : str
            Key of the cell, with or without a record.
        """
        status = records.entry(key, "status")
        if status in (None, "ok"):
            return status == "ok"
        if status in FAILURES:
            return not self.retry_failed
        return self.limits.settle(records[key])

    def chosen(self, plan: Sequence[Cell]) -> Sequence[Cell]:
        """Return the cells of a plan that the options select."""
        solvers = self.solvers
        return plan if solvers is None else [cell for cell in plan if cell.solver in solvers]

    def executor(self, on_progress: Listener) -> Executor:
        """Return the executor of the jobs."""
        if self.scheduler is None:
            return LocalWorkers(self.jobs, on_progress)
        from dsgkit.experiment.cluster import Cluster

        return Cluster(self.scheduler)


@dataclass
class Outcome:
    """Outcome of a run.

    Attributes
    ----------
    chosen : sequence of Cell
        Selected cells of the plan (`Options.solvers`).
    records : Records
        Records in the store, including those of other plans.
    computed, left : int
        Cells run now, and cells not run (`Options.fail_fast`).
    set_aside : Path or None
        Where unreadable records of earlier runs were moved to.
    other_code : OtherCode
        Reused cells that were computed by other code.
    left_out : list of LeftOut
        Points of the sweep that the config leaves out.
    too_large : list of TooLarge
        Sizes of the sweep that exceed the data.
    """

    plan: list[Cell]
    chosen: Sequence[Cell]
    records: Records
    computed: int
    left: int
    set_aside: Path | None
    other_code: OtherCode
    left_out: list[LeftOut] = field(default_factory=list)
    too_large: list[TooLarge] = field(default_factory=list)

    @property
    def reused(self) -> int:
        """Number of distinct cells that were not run because they had ended before."""
        return len({cell.key for cell in self.chosen}) - self.computed - self.left

    @property
    def not_chosen(self) -> int:
        """Number of cells without a record that were not selected."""
        chosen = {cell.key for cell in self.chosen}
        return len({cell.key for cell in self.plan} - chosen - self.records.keys())

    @cached_property
    def ended(self) -> list[Record]:
        """The last records of selected cells that have ended without a result, now or before."""
        keys, records = dict.fromkeys(cell.key for cell in self.chosen), self.records
        return [records[k] for k in keys if records.entry(k, "status") not in (None, "ok")]

    @property
    def failures(self) -> list[Record]:
        """Those of `ended` that failed; the others met a limit or have no solution."""
        return [record for record in self.ended if record["status"] in FAILURES]


def run_experiment(
    experiment: Experiment,
    folder: Path,
    options: Options | None = None,
) -> Outcome:
    """Run every cell of an experiment that has no result yet.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Results folder; made if missing.
    options : Options, optional

    Returns
    -------
    Outcome

    Raises
    ------
    DsgError
        If data or the results folder cannot be used.
    """
    options = options or Options()
    check_writable(folder)  # before hours of downloading or parsing
    dataset = load_dataset(experiment.dataset)
    whole, task = whole_plan(experiment, dataset), described(experiment)
    plan = options.chosen(whole.cells)
    if options.planned is not None:
        options.planned(whole)
    with Store(folder, fresh=options.fresh) as store:
        write_file(folder / CONFIG, experiment.to_yaml())
        write_file(folder / DATASET, json.dumps(dataset.describe(), indent=2) + "\n")
        write_file(folder / TASK, task.model_dump_json(indent=2) + "\n")
        _write_plan(folder / PLAN, whole)
        if not options.fresh:
            copy_records(store, {cell.key for cell in plan})
        again = to_renew(plan, store.records) if options.renew else set()
        reused = [c for c in plan if c.key not in again and options.settled(store.records, c.key)]
        other_code = by_other_code(reused, store.records)
        settled = {cell.key for cell in reused}
        schedule = Schedule(plan, settled.__contains__)
        run = _Run(experiment, dataset, store, plan, schedule, options)
        for cell in reused:
            if store.records.entry(cell.key, "status") in STOPPED_STATUSES:
                run.outlasted.note(cell, store.records[cell.key])
        if schedule.cells:
            run.run()
        return Outcome(
            whole.cells,
            plan,
            store.records,
            computed=run.computed,
            left=len(schedule.cells) - run.computed,
            set_aside=store.set_aside,
            other_code=other_code,
            left_out=whole.left_out,
            too_large=whole.too_large,
        )


def _write_plan(path: Path, plan: Plan) -> None:
    """Write the plan as JSON, one entry per line."""
    entries = itertools.chain(
        _cell_entries(plan.cells),
        _left_out_entries(plan.left_out),
        (json.dumps({"kind": TOO_LARGE, **one._asdict()}) for one in plan.too_large),
    )
    write_whole(path, lambda file: file.writelines(_lines(entries)))


def _lines(entries: Iterable[str]) -> Iterator[bytes]:
    for number, entry in enumerate(entries):
        yield f"{',' if number else '['}\n{entry}".encode()
    yield b"\n]\n"


def _left_out_entries(left_out: Iterable[LeftOut]) -> Iterator[str]:
    for solver, at in left_out:
        yield json.dumps({"kind": LEFT_OUT, "solver": solver, "at": dict(at)})


def _cell_entries(plan: Sequence[Cell]) -> Iterator[str]:
    known: dict[tuple[str, str, int, float], tuple[str, str]] = {}
    for cell in plan:
        alike = cell.kind, cell.solver, id(cell.at), cell.flops
        if alike not in known:  # the same text for all trials
            first = {"kind": cell.kind, "solver": cell.solver}
            last = {"at": dict(cell.at), "flops": cell.flops, "code": cell.code}
            last |= {"also_at": cell.also_at} if cell.also_at else {}
            known[alike] = json.dumps(first)[1:-1], json.dumps(last)[1:]
        first_text, last_text = known[alike]
        yield f'{{"key": "{cell.key}", {first_text}, "trial": {cell.trial}, {last_text}'


class _Run:
    """Hands out the jobs of a run and stores their records."""

    def __init__(
        self,
        experiment: Experiment,
        dataset: Dataset,
        store: Store,
        plan: Sequence[Cell],
        schedule: Schedule,
        options: Options,
    ) -> None:
        self.experiment = experiment
        self.dataset = dataset
        self.store = store
        self.plan = plan
        self.schedule = schedule
        self.left = Counter(cell.trial for cell in schedule.cells)
        self.left_at = Counter(
            size for c in schedule.cells if c.trial == 0 for size in self._sizes(c)
        )
        self.options = options
        self.environments = Environments(store.folder)
        self.better = choosing_measure(experiment).better
        self.computed = 0
        self.failed = False
        self.outlasted = Outlasted()

    @property
    def threads(self) -> int | None:
        """Threads of a timed fit."""
        return self.options.threads or self.experiment.threads

    def run(self) -> None:
        with (
            self._progress() as bar,
            self.options.executor(bar.advance) as executor,
        ):
            self.environments.start(self.threads)
            while True:
                stop_if_asked()
                while (job := self._next(executor, bar)) is not None:
                    bar.advance(job, 0.0)
                    executor.submit(job)
                if not executor.busy:
                    return
                for ended, sent in executor.wait():
                    self._finish(ended, record_of(ended, sent), bar)
                if self.failed and self.options.fail_fast:
                    return

    def _progress(self) -> RunProgress:
        left = {cell.key for cell in self.schedule.cells}
        return RunProgress(
            self.schedule.cells,
            ((c, self.store.records[c.key]) for c in self.plan if c.key not in left),
            searches=self.options.jobs,
            fits=self.options.jobs if self.threads == 1 else 1,
            series=self.options.series,
            timeout=self.options.limits.timeout,
            shown=self.options.progress,
        )

    def _next(self, executor: Executor, bar: RunProgress) -> Job | None:
        """Return the next job that can start; a fit that cannot start ends here."""

        def accepts(cell: Cell) -> bool:
            return executor.accepts(self._job(cell, {}))

        while (cell := self.schedule.pop(accepts)) is not None:
            searches = [self.store.records[key] for key in cell.needs]
            smoother = solver_info(self.experiment, cell.solver).smoother
            try:
                chosen = choose(cell, searches, better=self.better, smoother=smoother)
                self.outlasted.check(cell, self.options.limits)
            except FitError as error:
                job = self._job(cell, {})
                self._finish(job, failed_record(job, error), bar)
            else:
                return self._job(cell, chosen)
        return None

    def _job(self, cell: Cell, chosen: Point) -> Job:
        return Job(
            self.experiment,
            self.dataset.content_hash,
            solver_info(self.experiment, cell.solver).version,
            cell,
            chosen,
            self.options.limits,
            self.threads,
            self.options.jobs if self.options.scheduler is None else 1,
            self.dataset.n_bytes,
            self.options.once,
            self._alone(cell),
        )

    def _alone(self, cell: Cell) -> bool:
        """Return whether a cell must run alone.

        Fits are timed alone, except on one thread: then their time is the processor time, which
        another process changes by a few percent (`scripts/bench_equal_work.py`).
        """
        if cell.kind == "search":
            return False
        return self.threads != 1 or cell.work.memory > memory_limit() / self.options.jobs

    def _finish(self, job: Job, record: Record, bar: RunProgress) -> None:
        key, record = job.cell.key, _storable(job, record)
        self.store.append(self._with_files(record))
        self.schedule.finish(key)
        self.computed += 1
        self.failed = self.failed or record["status"] in FAILURES
        bar.finish(job, record)
        self._count(job.cell)
        self.outlasted.note(job.cell, record)

    def _sizes(self, cell: Cell) -> Sequence[int]:
        """Return the sizes at which a fit's result holds, ascending; empty for a search."""
        axis = self.experiment.axis
        if cell.kind != "fit":
            return ()
        return sorted((cell.at[axis.name] if axis else 0, *cell.also_at))

    def _count(self, cell: Cell) -> None:
        """Count a cell that has ended; report the end of its size or trial."""
        self.left[cell.trial] -= 1
        for size in self._sizes(cell) if cell.trial == 0 else ():
            self.left_at[size] -= 1
            if not self.left_at[size] and self.options.size_ended is not None:
                self.options.size_ended(size, self._fits(0, size))
        if not self.left[cell.trial] and self.options.trial_ended is not None:
            self.options.trial_ended(cell.trial, self._fits(cell.trial))

    def _fits(self, trial: int, size: int | None = None) -> list[tuple[Cell, Record]]:
        """Return the fits of a trial, or of one size of it, with their records."""
        fits = (cell for cell in self.plan if cell.trial == trial and cell.kind == "fit")
        return [
            (cell, self.store.records[cell.key])
            for cell in fits
            if size is None or size in self._sizes(cell)
        ]

    def _with_files(self, record: Record) -> Record:
        """Write the files that a record refers to, and return the record to store."""
        folder = self.store.folder
        if not folder.is_dir():  # the store reports it once it has rescued this record
            return {**name_artefact(record), "environment": None}
        made_in = self.environments.name(record.get("environment"))
        return {**keep_artefact(folder, record), "environment": made_in}


def _storable(job: Job, record: Record) -> Record:
    """Return a record, or that of a failure if it violates the schema."""
    in_files = ("artefact", "environment")  # stored in separate files
    try:
        sealed({name: value for name, value in record.items() if name not in in_files})
    except UnreadableError as error:
        return failed_record(job, FitError(f"its result cannot be stored: {error}"))
    return record

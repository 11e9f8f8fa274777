"""Runs an experiment: cells without a result go to workers, their records to the store."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import ConfigError, FitError, TimeLimitError
from dsgkit.experiment import folder as folders
from dsgkit.experiment.cell import Job, failed_record, new_record
from dsgkit.experiment.plan import Cell, Plan, choose, make_plan, solver_info
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.status import FAILURES
from dsgkit.experiment.store import Record, Store, check_writable, write_file
from dsgkit.experiment.workers import DaskExecutor, LocalExecutor, Result
from dsgkit.system.files import say_first_use
from dsgkit.system.machine import available_threads, memory_limit, stop_if_asked

_STOPPED = ("timeout", TimeLimitError.status)  # by the run's limit, or by the solver's own
_MEMORY_OF_A_SEARCH, _REHEARSAL_SECONDS = 2 * 2**30, 60.0


def default_jobs() -> int:
    """Return the number of concurrent searches: one per core, as far as memory allows."""
    fitting = psutil.virtual_memory().available // _MEMORY_OF_A_SEARCH
    return max(1, min(available_threads(), fitting))


@dataclass(frozen=True)
class Options:
    """Options of a run; none of them is part of a cell's identity."""

    jobs: int = 1  # searches at a time; fits are timed alone, except on one thread
    threads: int | None = None  # of a fit, shared by the searches; None for the experiment's
    timeout: float | None = None  # seconds from when data are loaded and code is compiled
    memory: int | None = None  # bytes of a cell
    scheduler: str | None = None  # address of a Dask scheduler whose workers run the cells
    fresh: bool = False  # set results aside; with `solvers`, compute theirs again by appending
    retry_failed: bool = True
    fail_fast: bool = False
    once: bool = False  # time every fit once
    solvers: Collection[str] | None = None  # keys of the only ones to run
    planned: Callable[[Plan, Dataset], object] | None = None  # called before any cell runs
    # called with the number of a trial, and its fits
    trial_ended: Callable[[int, list[tuple[Cell, Record]]], object] | None = None

    def settled(self, record: Record) -> bool:
        """Return whether a cell with a record need not run: it would end as before."""
        status, memory = record["status"], self.memory or math.inf
        if status in FAILURES:
            return not self.retry_failed
        if status == "timeout":
            return (self.timeout or math.inf) <= record.get("timeout", 0)
        if status == "out_of_memory" and (needed := record.get("needed")) is not None:
            return bool(needed > min(memory_limit(), memory))
        return status != "out_of_memory" or memory <= (record.get("limit") or 0)


@dataclass
class Outcome:
    """What has become of the selected cells of a run."""

    bad: list[int]  # numbers of unreadable lines
    ended: list[Record]  # of selected cells without a result
    computed: int
    reused: int
    left: int  # by `Options.fail_fast`

    @property
    def failures(self) -> list[Record]:
        """Those of `ended` that neither met a limit nor have no solution."""
        return [record for record in self.ended if record["status"] in FAILURES]


def run_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> Outcome:
    """Run every cell of an experiment that has no result yet; the folder is made if missing.

    `DsgError` is raised if data or the folder cannot be used, or a user-defined solver fails on a
    few rows.
    """
    options = options or Options()
    check_writable(folder)  # before hours of downloading or parsing
    dataset = load_dataset(experiment.dataset)
    append_again = options.fresh and options.solvers is not None
    if (append_again or not options.fresh) and (folder / folders.CONFIG).is_file():
        folders.check_settings(folder, experiment, dataset)
    plan = make_plan(experiment, dataset)
    if options.planned is not None:
        options.planned(plan, dataset)
    wanted = experiment.solvers if options.solvers is None else options.solvers
    cells = [cell for cell in plan.cells if cell.solver in wanted]
    keys = dict.fromkeys(cell.key for cell in cells)
    with Store(folder, fresh=options.fresh and not append_again) as store:
        folders.write_description(folder, experiment, dataset, plan, options.threads)
        if not options.fresh:
            folders.copy_records(store, keys)
        known = {} if append_again else store.records
        reused = {key: known[key] for key in keys if key in known and options.settled(known[key])}
        run = _Run(experiment, dataset.content_hash, options, store, cells, reused)
        if run.left:
            run.run()
        there = [store.records[key] for key in keys if key in store.records]
        return Outcome(
            store.bad,
            ended=[record for record in there if record["status"] != "ok"],
            computed=len(keys) - len(reused) - len(run.left),
            reused=len(reused),
            left=len(run.left),
        )


@dataclass
class _Run:
    """Starts the cells that are left, and stores their records.

    Trials run one after the other; within a trial solvers with the least work come first, and fits
    right after their search. So there are first results after seconds, and complete trials if the
    run is stopped.
    """

    experiment: Experiment
    content_hash: str
    options: Options
    store: Store
    cells: Sequence[Cell]
    reused: Mapping[str, Record]

    def __post_init__(self) -> None:
        options, cells, reused = self.options, self.cells, self.reused
        self.threads = options.threads or self.experiment.threads
        left = {cell.key: cell for cell in cells if cell.key not in reused}
        work: dict[tuple[int, str], float] = defaultdict(float)
        for cell in left.values():
            work[cell.trial, cell.solver] += cell.flops
        order = sorted(left.values(), key=lambda cell: (cell.trial, work[cell.trial, cell.solver]))
        self.left = {cell.key: cell for cell in order}
        # fits run alone; not on one thread, whose processor time other processes hardly change, and
        # a Dask worker runs one cell at a time anyway
        share = memory_limit() / options.jobs
        fits = [] if options.scheduler else [cell for cell in order if cell.kind == "fit"]
        self.alone = {fit.key for fit in fits if self.threads != 1 or fit.memory > share}
        self.running: dict[Future[Result], Job] = {}
        ended = [(cell, reused[cell.key]) for cell in cells if cell.key in reused]
        self.stopped = [one for one in ended if one[1]["status"] in _STOPPED]
        fits_at_once = options.jobs if self.threads == 1 else 1
        side_by_side = {"search": options.jobs, "fit": fits_at_once}
        self.bar = RunProgress(order, ended, side_by_side=side_by_side, timeout=options.timeout)

    def run(self) -> None:
        options = self.options
        if not options.scheduler:
            say_first_use()
        executor: LocalExecutor | DaskExecutor = (
            DaskExecutor(options.scheduler)
            if options.scheduler
            else LocalExecutor(options.jobs, self.bar.advance)
        )
        with executor:
            self._rehearse(executor)
            with self.bar:
                while self.left:
                    stop_if_asked()
                    while (cell := self._next(executor.slots)) is not None:
                        self._start(cell, executor)
                    for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                        job = self.running.pop(future)
                        record, picture = _result(future, job)
                        if picture:
                            write_file(self.store.folder / record["artefact"], picture)
                        self._finish(job, record)
                        if options.fail_fast and record["status"] in FAILURES:
                            return

    def _rehearse(self, executor: LocalExecutor | DaskExecutor) -> None:
        """Try each external solver on a few rows: what fails there would fail in every cell."""
        first: dict[tuple[str, str], Cell] = {}
        for cell in self.left.values():
            if self.experiment.solvers[cell.solver].external_class:
                first.setdefault((cell.solver, cell.kind), cell)
        jobs = [self._job(cell, rehearsal=True) for cell in first.values()]
        futures = {executor.submit(job): job for job in jobs}
        for future, job in futures.items():
            record, _ = _result(future, job)
            if record["status"] in FAILURES:
                raise ConfigError(
                    f"solvers.{job.cell.solver}: a {job.cell.kind} on a few rows fails: "
                    f"{record['message']}; nothing was run"
                )

    def _job(self, cell: Cell, *, rehearsal: bool = False) -> Job:
        options, timeout = self.options, self.options.timeout
        return Job(
            self.experiment,
            self.content_hash,
            solver_info(self.experiment, cell.solver).version,
            cell,
            threads=self.threads,
            processes=1 if options.scheduler or cell.key in self.alone else options.jobs,
            timeout=min(timeout or math.inf, _REHEARSAL_SECONDS) if rehearsal else timeout,
            memory=options.memory,
            once=options.once,
            rehearsal=rehearsal,
        )

    def _next(self, slots: int) -> Cell | None:
        """Return the first cell that waits for no other, if it may start now."""
        running = {job.cell.key for job in self.running.values()}
        for key, cell in self.left.items():
            if key not in running and self.left.keys().isdisjoint(cell.needs):
                may_start = not running or (
                    len(running) < slots and self.alone.isdisjoint([key, *running])
                )
                return cell if may_start else None
        return None

    def _start(self, cell: Cell, executor: LocalExecutor | DaskExecutor) -> None:
        """Start a cell, or store why it cannot run."""
        job, names = self._job(cell), ("kind", "solver", "trial", "needs")
        searches = [self.store.records[key] for key in cell.needs]
        try:
            job = replace(job, chosen=choose(self.experiment, cell, searches))
            # Fits that share search and trial have the same parameters: on more rows they take
            # longer. Without this an exact method spends the limit at every size.
            for smaller, record in self.stopped:
                alike = all(getattr(smaller, name) == getattr(cell, name) for name in names)
                no_fewer = alike and all(size >= smaller.at[axis] for axis, size in cell.at.items())
                limit = record.get("timeout", math.inf)  # without: one of the solver's own stays
                if no_fewer and (self.options.timeout or math.inf) <= limit:
                    error = FitError("not begun: a smaller fit met a time limit")
                    error.status = record["status"]
                    vars(error).update(timeout=record.get("timeout"))
                    raise error
        except FitError as error:
            self._finish(job, failed_record(job, error))
        else:
            self.bar.advance(job, 0.0)
            self.running[executor.submit(job)] = job

    def _finish(self, job: Job, record: Record) -> None:
        """Store a record, so that cells that wait for it can start, and tell of it."""
        cell, folder = job.cell, self.store.folder
        environment = record.get("environment")
        record["environment"] = environment and folders.keep_environment(folder, environment)
        self.store.append(record)
        del self.left[cell.key]
        self.bar.finish(job, record)
        if record["status"] in _STOPPED:
            self.stopped.append((cell, record))
        is_last = all(other.trial != cell.trial for other in self.left.values())
        if is_last and self.options.trial_ended is not None:
            fits = [c for c in self.cells if c.kind == "fit" and c.trial == cell.trial]
            records = [(fit, self.store.records[fit.key]) for fit in fits]
            self.options.trial_ended(cell.trial, records)


def _result(future: Future[Result], job: Job) -> Result:
    """Return a job's record and picture; a Dask worker may be lost, or the whole cluster."""
    try:
        return future.result()
    except CancelledError:
        raise ConfigError(
            "the Dask scheduler is gone; finished cells are kept, run again to continue"
        ) from None
    except Exception as error:
        return new_record(job, "crashed", f"{type(error).__name__}: {error}"), b""

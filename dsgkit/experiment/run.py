"""Runs an experiment: cells without a result go to workers, their records to the store."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import psutil

from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import ConfigError, FitError, TimeLimitError
from dsgkit.experiment.cell import Job, failed_record, new_record
from dsgkit.experiment.description import describe
from dsgkit.experiment.folder import (
    check_settings,
    copy_records,
    keep_environment,
    other_source,
    read_environments,
    write_description,
)
from dsgkit.experiment.plan import Cell, Plan, make_plan, solver_info
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.selection import NOT_BEGUN_PREFIX, choose, choosing_measure
from dsgkit.experiment.status import FAILURES
from dsgkit.experiment.store import Record, Store, check_writable, write_file
from dsgkit.experiment.workers import (
    ClusterError,
    DaskExecutor,
    Listener,
    LocalExecutor,
    Result,
)
from dsgkit.system.memory import memory_limit
from dsgkit.system.signals import stop_if_asked
from dsgkit.system.threads import available_threads

STOPPED = ("timeout", TimeLimitError.status)
"""Statuses of fits that a time limit ended: that of the run, or the solver's own."""

_MEMORY_OF_A_SEARCH = 2 * 2**30
_REHEARSAL_SECONDS = 60.0

FitsEnded = Callable[[int, Sequence[tuple[Cell, Record]]], None]


def default_jobs() -> int:
    """Return the number of concurrent searches: one per core, as far as memory allows."""
    fitting = psutil.virtual_memory().available // _MEMORY_OF_A_SEARCH
    return max(1, min(available_threads(), fitting))


@dataclass(frozen=True)
class Options:
    """Options of a run; none of them is part of a cell's identity.

    Attributes
    ----------
    jobs : int
        Number of concurrent searches. Fits are timed alone, except on one thread.
    threads : int or None
        Threads of a fit, shared by the searches; None for the experiment's setting, or all.
    timeout, memory : float, int, optional
        Limits of each cell: seconds, from when its data are loaded and its solver is compiled, and
        bytes of its process.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the cells; None for this machine.
    fresh : bool
        Set earlier results aside; with ``solvers``, only compute theirs again, by appending.
    retry_failed, fail_fast : bool
        Rerun cells that failed before; stop at the first failure.
    once : bool
        Time every fit once, for runs whose times do not matter.
    solvers : collection of str, optional
        Run the cells of these solvers only, by key.
    progress : bool
        Show progress: a line on a terminal, else one per minute.
    planned, size_ended, trial_ended : callable, optional
        Called with the plan before any cell runs; after the last fit of a size in the first trial,
        with the size (0 without a sweep) and the fits, each a cell with its record; and after the
        last cell of a trial, with its number and its fits.
    """

    jobs: int = 1
    threads: int | None = None
    timeout: float | None = None
    memory: int | None = None
    scheduler: str | None = None
    fresh: bool = False
    retry_failed: bool = True
    fail_fast: bool = False
    once: bool = False
    solvers: Collection[str] | None = None
    progress: bool = True
    planned: Callable[[Plan], None] | None = None
    size_ended: FitsEnded | None = None
    trial_ended: FitsEnded | None = None

    def settled(self, record: Record | None) -> bool:
        """Return whether a cell need not run: it has a result, or would end as before."""
        if record is None:
            return False
        status = record["status"]
        if status in FAILURES:
            return not self.retry_failed
        if status == "timeout":
            return (self.timeout or math.inf) <= record.get("timeout", 0)
        if status == "out_of_memory" and record.get("needed") is not None:
            return bool(record["needed"] > min(memory_limit(), self.memory or math.inf))
        if status == "out_of_memory":
            return (self.memory or math.inf) <= (record.get("limit") or 0)
        return True

    def chosen(self, plan: Sequence[Cell]) -> Sequence[Cell]:
        """Return the cells of a plan that the options select."""
        return [cell for cell in plan if self.solvers is None or cell.solver in self.solvers]

    def executor(self, listener: Listener) -> LocalExecutor | DaskExecutor:
        """Return what runs the jobs; the listener hears of their progress."""
        return (
            DaskExecutor(self.scheduler) if self.scheduler else LocalExecutor(self.jobs, listener)
        )


@dataclass
class Outcome:
    """Outcome of a run.

    Attributes
    ----------
    plan : Plan
    chosen : sequence of Cell
        Selected cells of the plan (`Options.solvers`).
    records : dict
        Records in the store by key, including those of other plans.
    bad : list of int
        Numbers of unreadable lines of the store.
    computed, left : int
        Cells run now, and cells not run (`Options.fail_fast`).
    other_source : list of str
        Lines on reused results that were computed by other code.
    """

    plan: Plan
    chosen: Sequence[Cell]
    records: dict[str, Record]
    bad: list[int]
    computed: int
    left: int
    other_source: list[str] = field(default_factory=list)

    @property
    def reused(self) -> int:
        """Number of distinct cells that were not run because they had ended before."""
        return len({cell.key for cell in self.chosen}) - self.computed - self.left

    @property
    def not_chosen(self) -> int:
        """Number of cells without a record that were not selected."""
        chosen = {cell.key for cell in self.chosen}
        return len({cell.key for cell in self.plan.cells} - chosen - self.records.keys())

    @cached_property
    def ended(self) -> list[Record]:
        """The last records of selected cells that have ended without a result, now or before."""
        keys = dict.fromkeys(cell.key for cell in self.chosen)
        there = (self.records[key] for key in keys if key in self.records)
        return [record for record in there if record["status"] != "ok"]

    @property
    def failures(self) -> list[Record]:
        """Those of `ended` that failed; the others met a limit or have no solution."""
        return [record for record in self.ended if record["status"] in FAILURES]


def run_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> Outcome:
    """Run every cell of an experiment that has no result yet.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Results folder; made if missing.
    options : Options, optional

    Raises
    ------
    DsgError
        If data or the results folder cannot be used, or a user-defined solver fails on a few rows.
    """
    options = options or Options()
    check_writable(folder)  # before hours of downloading or parsing
    dataset = load_dataset(experiment.dataset)
    if not options.fresh or options.solvers is not None:
        check_settings(folder, experiment, dataset)
    plan, task = make_plan(experiment, dataset), describe(experiment)
    chosen = options.chosen(plan.cells)
    if options.planned is not None:
        options.planned(plan)
    again = options.fresh and options.solvers is not None
    with Store(folder, fresh=options.fresh and not again) as store:
        threads = options.threads or experiment.threads
        write_description(folder, experiment, dataset, task, plan, threads)
        if not options.fresh:
            copy_records(store, dict.fromkeys(cell.key for cell in chosen))
        old = {} if again else dict(store.records)
        reused = {cell.key: cell for cell in chosen if options.settled(old.get(cell.key))}
        run = _Run(experiment, dataset.content_hash, store, chosen, reused, options)
        if run.left:
            run.run()
        of_reused = [old[key] for key in reused]
        return Outcome(
            plan,
            chosen,
            store.records,
            store.bad,
            computed=run.computed,
            left=len(run.left),
            other_source=other_source(of_reused, read_environments(folder, of_reused)),
        )


class _Run:
    """Starts the cells that are left, and stores their records.

    Trials run one after the other; within a trial solvers with the least work come first, and fits
    right after their search. So there are first results after seconds, and complete trials if the
    run is stopped.
    """

    def __init__(
        self,
        experiment: Experiment,
        content_hash: str,
        store: Store,
        plan: Sequence[Cell],
        reused: Mapping[str, Cell],
        options: Options,
    ) -> None:
        self.experiment, self.content_hash = experiment, content_hash
        self.store, self.plan, self.options = store, plan, options
        self.threads = options.threads or experiment.threads
        self.better = choosing_measure(experiment).better
        left = {cell.key: cell for cell in plan if cell.key not in reused}
        work: dict[tuple[int, str], float] = defaultdict(float)
        for cell in left.values():
            work[cell.trial, cell.solver] += cell.flops
        order = sorted(left.values(), key=lambda cell: (cell.trial, work[cell.trial, cell.solver]))
        self.left = {cell.key: cell for cell in order}
        self.places = {key: place for place, key in enumerate(self.left)}
        self.running: dict[Future[Result], Job] = {}
        self.computed = 0
        ended = [(cell, store.records[key]) for key, cell in reused.items()]
        self.stopped = [one for one in ended if one[1]["status"] in STOPPED]
        self.bar = RunProgress(
            order,
            ended,
            side_by_side={
                "search": options.jobs,
                "fit": options.jobs if self.threads == 1 else 1,
            },
            timeout=options.timeout,
            shown=options.progress,
        )

    def run(self) -> None:
        """Run all cells, or until the first failure."""
        needs = {key: [k for k in cell.needs if k in self.left] for key, cell in self.left.items()}
        self.order = TopologicalSorter(needs)
        self.order.prepare()
        with self.options.executor(self.bar.advance) as executor:
            self._rehearse(executor)
            with self.bar:
                self._run(executor)

    def _run(self, executor: LocalExecutor | DaskExecutor) -> None:
        ready: list[tuple[int, str]] = []
        while self.order.is_active():
            stop_if_asked()
            for key in self.order.get_ready():
                heapq.heappush(ready, (self.places[key], key))
            while ready and self._may_start(cell := self.left[ready[0][1]], executor.slots):
                heapq.heappop(ready)
                self._start(cell, executor)
            for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                job = self.running.pop(future)
                record, picture = _result(future, job, self.options.scheduler)
                if picture:
                    write_file(self.store.folder / record["artefact"], picture)
                self._finish(job, record)
                if self.options.fail_fast and record["status"] in FAILURES:
                    return

    def _rehearse(self, executor: LocalExecutor | DaskExecutor) -> None:
        """Try each user-defined or third-party solver on a few rows, before the first cell.

        Raises
        ------
        ConfigError
            If one fails there: it would fail in every cell.
        """
        first: dict[tuple[str, str], Cell] = {}
        for cell in self.left.values():
            first.setdefault((cell.solver, cell.kind), cell)
        jobs = [self._job(cell, rehearsal=True) for cell in first.values()]
        futures = {executor.submit(job): job for job in jobs if job.external_class}
        for future, job in futures.items():
            record, _ = _result(future, job, self.options.scheduler)
            if record["status"] in FAILURES:
                raise ConfigError(
                    f"solvers.{job.cell.solver}: a {job.cell.kind} on a few rows ends by "
                    f"{record['message']}; no cell was started"
                )

    def _may_start(self, cell: Cell, slots: int) -> bool:
        """Return whether a cell can start now: fits are timed alone, except on one thread."""
        if self._alone(cell) or any(self._alone(job.cell) for job in self.running.values()):
            return not self.running
        return len(self.running) < slots

    def _alone(self, cell: Cell) -> bool:
        """Return whether a cell must run alone on this machine.

        On one thread the time of a fit is the processor time, which another process changes by a
        few percent (`scripts/bench_equal_work.py`). A Dask worker runs one cell at a time anyway.
        """
        if cell.kind == "search" or self.options.scheduler:
            return False
        return self.threads != 1 or cell.memory > memory_limit() / self.options.jobs

    def _start(self, cell: Cell, executor: LocalExecutor | DaskExecutor) -> None:
        """Start a cell, or store why it cannot run."""
        searches = [self.store.records[key] for key in cell.needs]
        smoother = solver_info(self.experiment, cell.solver).smoother
        job = self._job(cell)
        try:
            job = replace(job, chosen=choose(cell, searches, self.better, smoother))
        except FitError as error:
            self._finish(job, failed_record(job, error))
            return
        if (record := self._not_begun(job)) is not None:
            self._finish(job, record)
            return
        self.bar.advance(job, 0.0)
        self.running[executor.submit(job)] = job

    def _not_begun(self, job: Job) -> Record | None:
        """Return the record of a fit that is not begun, as one on no more rows met a time limit.

        Fits of a solver that share their search and their trial have the same hyper-parameters: on
        more rows they take longer. Without this an exact method spends the limit at every size.
        """
        cell, timeout = job.cell, self.options.timeout or math.inf
        for smaller, record in self.stopped if cell.kind == "fit" else ():
            alike = all(
                getattr(smaller, n) == getattr(cell, n) for n in ("solver", "trial", "needs")
            )
            if not alike or any(size < smaller.at[axis] for axis, size in cell.at.items()):
                continue
            if record["status"] == TimeLimitError.status:
                text = f"{NOT_BEGUN_PREFIX}a smaller fit met the solver's own time limit"
                return new_record(job, TimeLimitError.status, text)
            if timeout <= (limit := record.get("timeout", 0.0)):
                text = f"{NOT_BEGUN_PREFIX}a smaller fit was stopped after {limit:g} s"
                return new_record(job, "timeout", text, timeout=limit)
        return None

    def _job(self, cell: Cell, *, rehearsal: bool = False) -> Job:
        options, timeout = self.options, self.options.timeout
        return Job(
            self.experiment,
            self.content_hash,
            solver_info(self.experiment, cell.solver).version,
            cell,
            threads=self.threads,
            processes=1 if options.scheduler or self._alone(cell) else options.jobs,
            timeout=min(timeout or math.inf, _REHEARSAL_SECONDS) if rehearsal else timeout,
            memory=options.memory,
            once=options.once,
            rehearsal=rehearsal,
        )

    def _finish(self, job: Job, record: Record) -> None:
        """Store a record, so that cells that wait for it can start, and tell of it."""
        cell, folder = job.cell, self.store.folder
        environment = record.get("environment")
        record["environment"] = environment and keep_environment(folder, environment)
        self.store.append(record)
        self.order.done(cell.key)
        del self.left[cell.key]
        self.computed += 1
        self.bar.finish(job, record)
        if cell.kind == "fit" and record["status"] in STOPPED:
            self.stopped.append((cell, record))
        if cell.trial == 0 and cell.kind == "fit" and self.options.size_ended is not None:
            sizes = sorted(cell.sizes(axis := self.experiment.axis))
            if all(sorted(fit.sizes(axis)) == sizes for fit in self._fits(self.plan, 0)):
                sizes = sizes[-1:]  # no result depends on the size
            for size in sizes:
                if not self._fits(self.left.values(), 0, size):
                    self.options.size_ended(size, self._ended(0, size))
        is_last = all(other.trial != cell.trial for other in self.left.values())
        if is_last and self.options.trial_ended is not None:
            self.options.trial_ended(cell.trial, self._ended(cell.trial))

    def _fits(self, cells: Iterable[Cell], trial: int, size: int | None = None) -> list[Cell]:
        """Return the fits of a trial among some cells, or those of one size of it."""
        fits = (cell for cell in cells if cell.trial == trial and cell.kind == "fit")
        axis = self.experiment.axis
        return [cell for cell in fits if size is None or size in cell.sizes(axis)]

    def _ended(self, trial: int, size: int | None = None) -> list[tuple[Cell, Record]]:
        fits = self._fits(self.plan, trial, size)
        return [(cell, self.store.records[cell.key]) for cell in fits]


def _result(future: Future[Result], job: Job, scheduler: str | None) -> Result:
    """Return a job's record and picture; a Dask worker may be lost, or the whole cluster."""
    try:
        return future.result()
    except CancelledError:
        raise ClusterError(
            f"{scheduler}: the scheduler is gone; finished cells are kept, run again to continue"
        ) from None
    except Exception as error:
        return new_record(job, "crashed", f"{type(error).__name__}: {error}"), b""

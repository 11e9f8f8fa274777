"""Running an experiment: the cells that are left go to workers, their records to the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import Dataset, load_dataset
from dsgkit.errors import FitError
from dsgkit.experiment.cells import MET, failed_record
from dsgkit.experiment.environment import Environments
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import FAILURES, Limits
from dsgkit.experiment.plan import Cell, Point, Task, make_plan, solver_info
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.results import CONFIG, DATASET, PLAN, read_plan
from dsgkit.experiment.reuse import copy_records
from dsgkit.experiment.schedule import Schedule
from dsgkit.experiment.selection import best_point
from dsgkit.experiment.store import (
    CELLS,
    Record,
    Store,
    check_writable,
    read_records,
    write_file,
)
from dsgkit.experiment.workers import Listener, LocalWorkers
from dsgkit.solvers.catalogue import is_import_path
from dsgkit.sources import sources_hash
from dsgkit.threads import available_threads

PLANNED_FROM = ".plan"
"""In a results folder: a hash of what its plan was made from."""

_MEMORY_OF_A_SEARCH = 2 * 2**30


def default_jobs() -> int:
    """Return how many searches to run at a time: one per core, as far as memory allows."""
    fitting = psutil.virtual_memory().available // _MEMORY_OF_A_SEARCH
    return max(1, min(available_threads(), fitting))


class Executor(AbstractContextManager["Executor"], Protocol):
    """Where jobs run: `workers.LocalWorkers`, or `cluster.Cluster`."""

    @property
    def busy(self) -> int:
        """Number of jobs that are running."""

    def accepts(self, job: Job) -> bool:
        """Whether a job can start now."""

    def submit(self, job: Job) -> None:
        """Start a job that is accepted."""

    def wait(self) -> list[tuple[Job, Record]]:
        """Return the jobs that have ended, at least one, with their records."""


@dataclass(frozen=True)
class Options:
    """How an experiment is run; nothing of it is part of a cell's identity.

    Attributes
    ----------
    jobs : int
        Searches that run at the same time. Fits are timed alone.
    threads : int or None
        Threads of a fit, shared by the searches; None for as many as there are.
    limits : Limits
        Of each cell.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the cells; None for this machine.
    fresh : bool
        Set earlier results aside and compute everything.
    retry_failed : bool
        Run cells again that failed before.
    fail_fast : bool
        Stop at the first failure.
    progress : bool
        Show progress where the output is a terminal.
    """

    jobs: int = 1
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    scheduler: str | None = None
    fresh: bool = False
    retry_failed: bool = True
    fail_fast: bool = False
    progress: bool = True

    def settled(self, ending: Record | None) -> bool:
        """Whether a cell needs no run: it has a result, or would end as it did before.

        Parameters
        ----------
        ending : dict or None
            Its record, or what `Store.ending` tells of it.
        """
        if ending is None:
            return False
        if ending["status"] in FAILURES:
            return not self.retry_failed
        return self.limits.settle(ending)

    def executor(self, on_progress: Listener) -> Executor:
        """Return where the jobs run."""
        if self.scheduler is None:
            return LocalWorkers(self.jobs, on_progress)
        from dsgkit.experiment.cluster import Cluster

        return Cluster(self.scheduler)


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    folder : Path
        The results folder.
    computed, reused, left : int
        Cells run now, cells that had a result already, and cells not run (`Options.fail_fast`).
    ended : list of Record
        Cells of the plan without a result, whenever they ended; the store has the last word.
    set_aside : Path or None
        Where unreadable records of earlier runs were moved to.
    """

    folder: Path
    computed: int = 0
    reused: int = 0
    left: int = 0
    ended: list[Record] = field(default_factory=list)
    set_aside: Path | None = None

    @property
    def failures(self) -> list[Record]:
        """The cells that went wrong; the others met a limit, or have no solution."""
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
    check_writable(folder)  # before hours of download, or of parsing
    dataset = load_dataset(experiment.dataset)
    planned_from = _planned_from(experiment, dataset)
    if not options.fresh and (
        outcome := _finished_before(experiment, planned_from, folder, options)
    ):
        return outcome
    plan = make_plan(experiment, dataset)
    with Store(folder, fresh=options.fresh) as store:
        write_file(folder / CONFIG, experiment.to_yaml())
        write_file(folder / DATASET, json.dumps(dataset.describe(), indent=2) + "\n")
        write_file(folder / PLAN, _plan_text(plan))
        write_file(folder / PLANNED_FROM, planned_from)
        if not options.fresh:
            copy_records(store, {task.key for task in plan})
        schedule = Schedule(plan, lambda key: options.settled(store.ending(key)))
        run = _Run(experiment, dataset, store, schedule, options)
        if schedule.tasks:
            run.run()
        endings = {task.key: store.ending(task.key) or {"status": "ok"} for task in plan}
        return Outcome(
            folder,
            computed=run.computed,
            reused=len(endings) - len(schedule.tasks),
            left=len(schedule.tasks) - run.computed,
            ended=[store.record(key) for key, end in endings.items() if end["status"] != "ok"],
            set_aside=store.set_aside,
        )


def _finished_before(
    experiment: Experiment, planned_from: str, folder: Path, options: Options
) -> Outcome | None:
    """Return the outcome if the stored plan is still the plan, and nothing of it is left.

    Making the plan imports the solvers, which takes a second.
    """
    try:
        current = (folder / PLANNED_FROM).read_text() == planned_from
    except OSError:
        return None
    plan = read_plan(folder) if current else None
    if plan is None or any(is_import_path(spec.kind) for spec in experiment.solvers.values()):
        return None  # classes of one's own may have changed
    records, unreadable = read_records(folder / CELLS)
    found = {entry["key"]: records.get(entry["key"]) for entry in plan}
    if unreadable or not all(map(options.settled, found.values())):
        return None
    ended = [record for record in found.values() if record and record["status"] != "ok"]
    return Outcome(folder, reused=len(found), ended=ended)


def _planned_from(experiment: Experiment, dataset: Dataset) -> str:
    """Return a hash of all that a plan is made from."""
    parts = experiment.to_yaml(), dataset.content_hash, sources_hash()
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() + "\n"


def _plan_text(plan: Sequence[Task]) -> str:
    """Return the plan as JSON, an entry per line: which cell stands for what."""
    entries = [
        {
            "key": task.key,
            "kind": task.cell.kind,
            "solver": task.cell.solver,
            "trial": task.cell.trial,
            "n_unlabeled": task.cell.n_unlabeled,
            "flops": task.flops,
        }
        for task in plan
    ]
    return "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n"


class _Run:
    """The one that gives out jobs and writes down what comes of them."""

    def __init__(
        self,
        experiment: Experiment,
        dataset: Dataset,
        store: Store,
        schedule: Schedule,
        options: Options,
    ) -> None:
        self.experiment = experiment
        self.dataset = dataset
        self.store = store
        self.schedule = schedule
        self.options = options
        self.environments = Environments(store.folder)
        self.smallest = experiment.protocol.metric == "error"
        self.computed = 0
        self.failed = False

    def run(self) -> None:
        work = sum(task.flops for task in self.schedule.tasks)
        shown = self.options.progress
        with (
            RunProgress(work, len(self.schedule.tasks), shown=shown) as bar,
            self.options.executor(bar.advance) as executor,
        ):
            self.environments.start(self.options.threads)
            job = self._next(bar)
            while job is not None or executor.busy:
                while job is not None and executor.accepts(job):
                    bar.advance(job, 0.0)
                    executor.submit(job)
                    job = self._next(bar)
                for ended, record in executor.wait():
                    self._finish(ended, record, bar)
                if self.failed and self.options.fail_fast:
                    return
                job = job or self._next(bar)

    def _next(self, bar: RunProgress) -> Job | None:
        """Return the next job that can start; a fit that cannot be made ends here."""
        while (task := self.schedule.pop()) is not None:
            searches = [self.store.record(key) for key in task.needs]
            try:
                chosen = choose(task.cell, searches, smallest=self.smallest)
            except FitError as error:
                job = self._job(task, {})
                self._finish(job, failed_record(job, error), bar)
            else:
                return self._job(task, chosen)
        return None

    def _job(self, task: Task, chosen: Point) -> Job:
        return Job(
            self.experiment,
            self.dataset.content_hash,
            solver_info(self.experiment, task.cell.solver).version,
            task,
            chosen,
            self.options.limits,
            self.options.threads,
            self.options.jobs if self.options.scheduler is None else 1,
        )

    def _finish(self, job: Job, record: Record, bar: RunProgress) -> None:
        made_in = record.get("environment")
        self.store.append({**record, "environment": self.environments.name(made_in)})
        self.schedule.finish(job.task.key)
        self.computed += 1
        self.failed = self.failed or record["status"] in FAILURES
        bar.finish(job)


class SearchError(FitError):
    """A fit that cannot be made because a share of its search has no result."""

    def __init__(self, record: Record) -> None:
        super().__init__(f"while searching: {record['message']}")
        self.status = record["status"]
        for name in MET:
            setattr(self, name, record.get(name))


def choose(cell: Cell, searches: Sequence[Record], *, smallest: bool = False) -> Point:
    """Return the grid point that a cell is run with: the best of the searches that it needs.

    Parameters
    ----------
    cell : Cell
    searches : sequence of Record
        Shares of a search; none for a first search, and for a fit if there is only one point.
    smallest : bool
        Whether the smallest score is the best.

    Raises
    ------
    FitError
        With the status of a share that has no result, or if no point has a solution.
    """
    if not searches:
        return {} if cell.kind == "search" else cell.points[0]
    for record in searches:
        if record["status"] != "ok":
            raise SearchError(record)
    points = [point for record in searches for point in record["points"]]
    scores = [score for record in searches for score in record["fold_scores"]]
    best = best_point(points, scores, smallest=smallest)
    if best is None:
        raise FitError("no point of the grid has a solution on every fold")
    # what an even earlier search chose is set in all shares alike
    return {**(searches[0].get("params") or {}), **best[0]}

"""Running an experiment: which cells are left, in what order, in which process."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from pebble import ProcessPool

from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import load_dataset
from dsgkit.errors import FitError
from dsgkit.experiment.cells import Bench, failed_record, run_cell
from dsgkit.experiment.environment import describe_environment
from dsgkit.experiment.plan import Cell, Point, Task, make_plan
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.results import CONFIG, ENVIRONMENT, ENVIRONMENTS, PLAN
from dsgkit.experiment.selection import best_point
from dsgkit.experiment.store import Record, Store, check_writable, write_file
from dsgkit.memory import share_memory
from dsgkit.threads import set_threads


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    folder : Path
        The results folder.
    computed, reused : int
        Cells run now, and cells that had a result already.
    failures : list of Record
        Cells that ended with an error; they run again next time.
    """

    folder: Path
    computed: int = 0
    reused: int = 0
    failures: list[Record] = field(default_factory=list)


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    jobs: int = 1,
    fresh: bool = False,
    progress: bool = True,
) -> Outcome:
    """Run every cell of an experiment that has no result yet.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Results folder; made if missing.
    jobs : int
        Worker processes for searches. Fits are timed alone, in this process.
    fresh : bool
        Set earlier results aside and compute everything.
    progress : bool
        Show progress where the output is a terminal.

    Returns
    -------
    Outcome

    Raises
    ------
    DsgError
        If data or the results folder cannot be used.
    """
    check_writable(folder)  # before hours of download, or of parsing
    bench = Bench(experiment, load_dataset(experiment.dataset))
    plan = make_plan(experiment, bench.dataset)
    with Store(folder, fresh=fresh) as store:
        distinct = {task.key: task for task in plan}
        left = [task for key, task in distinct.items() if not store.finished(key)]
        write_file(folder / CONFIG, experiment.to_yaml())
        write_file(folder / PLAN, _plan_text(plan))
        if left:
            store.environment = _write_environment(folder)
        with (
            RunProgress(sum(task.flops for task in left), shown=progress) as bar,
            _searcher(bench, jobs, bar) as search,
        ):
            failures = _Run(bench, store, plan, search, bar).run()
    return Outcome(folder, len(left), len(distinct) - len(left), failures)


Search = Callable[[list[Task]], Iterator[tuple[Task, Record]]]


def _plan_text(plan: Sequence[Task]) -> str:
    """Return the plan as JSON, an entry per line: which cell stands for what."""
    entries = [
        {
            "key": task.key,
            "kind": task.cell.kind,
            "solver": task.cell.solver,
            "trial": task.cell.trial,
            "n_unlabeled": task.cell.n_unlabeled,
        }
        for task in plan
    ]
    return "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n"


def _write_environment(folder: Path) -> str:
    """Store the environment, also under a name that records can refer to; return that name."""
    text = json.dumps(describe_environment(), indent=2) + "\n"
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    (folder / ENVIRONMENTS).mkdir(exist_ok=True)
    write_file(folder / ENVIRONMENTS / f"{name}.json", text)
    write_file(folder / ENVIRONMENT, text)
    return name


class _Run:
    """The cells of one run, trial by trial: searches in any order, then fits one at a time."""

    def __init__(
        self, bench: Bench, store: Store, plan: Sequence[Task], search: Search, bar: RunProgress
    ) -> None:
        self.bench = bench
        self.store = store
        self.plan = plan
        self.search = search
        self.bar = bar
        self.failures: list[Record] = []

    def run(self) -> list[Record]:
        for _, trial in itertools.groupby(self.plan, key=lambda task: task.cell.trial):
            tasks = list(trial)
            searches = [task for task in tasks if task.cell.kind == "search"]
            for task, record in self.search(self._left(searches)):
                self._finish(task, record)
            for task in self._left([task for task in tasks if task.cell.kind == "fit"]):
                mine = [search for search in searches if search.cell.solver == task.cell.solver]
                self._finish(task, self._fit(task, [self.store.records[s.key] for s in mine]))
        return self.failures

    def _left(self, tasks: Sequence[Task]) -> list[Task]:
        """Return what has no result yet, each key once: two entries may stand for one cell."""
        distinct = {task.key: task for task in tasks if not self.store.finished(task.key)}
        return list(distinct.values())

    def _fit(self, task: Task, searches: Sequence[Record]) -> Record:
        try:
            chosen = choose(task.cell, searches)
        except FitError as error:
            return failed_record(self.bench.experiment, task, error)
        with self.bar.cell(task):
            return run_cell(self.bench, task, chosen)

    def _finish(self, task: Task, record: Record) -> None:
        self.store.append(record)
        if record["status"] == "failed":
            self.failures.append(record)
        self.bar.finish(task)


class SearchError(FitError):
    """A fit that cannot be made because a share of its search has no result."""

    def __init__(self, record: Record) -> None:
        super().__init__(f"while searching: {record['message']}")
        self.status = record["status"]
        self.needed = record.get("needed")


def choose(cell: Cell, searches: Sequence[Record]) -> Point:
    """Return the grid point that a fit is made with.

    Parameters
    ----------
    cell : Cell
        The fit.
    searches : sequence of Record
        The shares of its search; none if there is only one point.

    Raises
    ------
    FitError
        With the status of a share that has no result, or if no point has a solution.
    """
    if not searches:
        return cell.points[0]
    for record in searches:
        if record["status"] != "ok":
            raise SearchError(record)
    points = [point for record in searches for point in record["points"]]
    scores = [score for record in searches for score in record["fold_scores"]]
    best = best_point(points, scores)
    if best is None:
        raise FitError("no point of the grid has a solution on every fold")
    return best[0]


def _search_here(
    bench: Bench, bar: RunProgress, tasks: list[Task]
) -> Iterator[tuple[Task, Record]]:
    """Run searches one after the other in this process."""
    for task in tasks:
        with bar.cell(task):
            record = run_cell(bench, task)
        yield task, record


_worker_bench: Bench | None = None


def _start_worker(experiment: Experiment, jobs: int) -> None:
    """Prepare a worker process: its data, and its share of the cores and of the memory."""
    global _worker_bench
    set_threads(max(1, len(os.sched_getaffinity(0)) // jobs))
    share_memory(jobs)
    _worker_bench = Bench(experiment, load_dataset(experiment.dataset))


def _run_in_worker(task: Task) -> Record:
    assert _worker_bench is not None
    return run_cell(_worker_bench, task)


def _search_in_workers(
    pool: ProcessPool, bench: Bench, bar: RunProgress, tasks: list[Task]
) -> Iterator[tuple[Task, Record]]:
    """Run searches in worker processes; a worker that dies costs its own cell only."""
    for task in tasks:
        bench.warm_up(task.cell)  # compiled code is then there for all workers to load
    bar.describe(f"{len(tasks)} searches")
    futures = {pool.schedule(_run_in_worker, args=(task,)): task for task in tasks}
    for future in as_completed(futures):
        task = futures[future]
        try:
            record = future.result()
        except Exception as error:
            record = failed_record(bench.experiment, task, error)
        yield task, record


@contextlib.contextmanager
def _searcher(bench: Bench, jobs: int, bar: RunProgress) -> Iterator[Search]:
    """Give the function that runs searches: in this process, or in ``jobs`` workers."""
    if jobs == 1:
        yield functools.partial(_search_here, bench, bar)
        return
    pool = ProcessPool(
        max_workers=jobs,
        context=get_context("spawn"),
        initializer=_start_worker,
        initargs=(bench.experiment, jobs),
    )
    try:
        yield functools.partial(_search_in_workers, pool, bench, bar)
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()

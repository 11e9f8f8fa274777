"""Running an experiment: which cells are left, in what order, in which process."""

from __future__ import annotations

import contextlib
import functools
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
from dsgkit.experiment.results import CONFIG, ENVIRONMENT, PLAN
from dsgkit.experiment.selection import best_point
from dsgkit.experiment.store import Record, Store, write_file
from dsgkit.threads import thread_limit


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
    bench = Bench(experiment, load_dataset(experiment.dataset))
    plan = make_plan(experiment, bench.dataset)
    bench.split(0)  # too few rows for the protocol end the run before anything is written
    with Store(folder, fresh=fresh) as store:
        write_file(folder / CONFIG, experiment.to_yaml())
        write_file(folder / ENVIRONMENT, json.dumps(describe_environment(), indent=2) + "\n")
        write_file(folder / PLAN, json.dumps([task.key for task in plan], indent=0) + "\n")
        left = [task for task in plan if not store.finished(task.key)]
        with (
            RunProgress(sum(task.flops for task in left), shown=progress) as bar,
            _searcher(bench, jobs, bar) as search,
        ):
            failures = _Run(bench, store, plan, search, bar).run()
    return Outcome(folder, len(left), len(plan) - len(left), failures)


Search = Callable[[list[Task]], Iterator[tuple[Task, Record]]]


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
                self._fit(task, [s for s in searches if s.cell.solver == task.cell.solver])
        return self.failures

    def _left(self, tasks: Sequence[Task]) -> list[Task]:
        return [task for task in tasks if not self.store.finished(task.key)]

    def _fit(self, task: Task, searches: list[Task]) -> None:
        self.bar.begin(_describe(task.cell))
        try:
            chosen = choose(task.cell, [self.store.records[search.key] for search in searches])
        except FitError as error:
            record = failed_record(self.bench.experiment, task, error)
        else:
            record = run_cell(self.bench, task.cell, task.key, chosen)
        self._finish(task, record)

    def _finish(self, task: Task, record: Record) -> None:
        self.store.append(record)
        if record["status"] == "failed":
            self.failures.append(record)
        self.bar.advance(task.flops)


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
            error = FitError(f"while searching: {record['message']}")
            error.status = record["status"]
            raise error
    points = [point for record in searches for point in record["points"]]
    scores = [score for record in searches for score in record["fold_scores"]]
    best = best_point(points, scores)
    if best is None:
        raise FitError("no point of the grid has a solution on every fold")
    return best[0]


def _describe(cell: Cell) -> str:
    what = "search" if cell.kind == "search" else "fit"
    return f"{cell.solver} {what}, trial {cell.trial + 1}, {cell.n_unlabeled:,} unlabelled"


def _search_here(
    bench: Bench, bar: RunProgress, tasks: list[Task]
) -> Iterator[tuple[Task, Record]]:
    """Run searches one after the other in this process."""
    for task in tasks:
        bar.begin(_describe(task.cell))
        yield task, run_cell(bench, task.cell, task.key)


_worker_bench: Bench | None = None


def _start_worker(experiment: Experiment, n_threads: int) -> None:
    """Prepare a worker process: its data, and its share of the cores for good."""
    global _worker_bench
    _worker_bench = Bench(experiment, load_dataset(experiment.dataset))
    thread_limit(n_threads).__enter__()


def _run_in_worker(cell: Cell, key: str) -> Record:
    assert _worker_bench is not None
    return run_cell(_worker_bench, cell, key)


def _search_in_workers(
    pool: ProcessPool, experiment: Experiment, tasks: list[Task]
) -> Iterator[tuple[Task, Record]]:
    """Run searches in worker processes; a worker that dies costs its own cell only."""
    futures = {pool.schedule(_run_in_worker, args=(task.cell, task.key)): task for task in tasks}
    for future in as_completed(futures):
        task = futures[future]
        try:
            record = future.result()
        except Exception as error:
            record = failed_record(experiment, task, error)
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
        initargs=(bench.experiment, max(1, (os.cpu_count() or 1) // jobs)),
    )
    try:
        yield functools.partial(_search_in_workers, pool, bench.experiment)
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()

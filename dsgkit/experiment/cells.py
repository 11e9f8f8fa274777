"""Running one cell: from its description to its record."""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from dsgkit import __version__, progress
from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import Dataset, load_dataset
from dsgkit.errors import DataError, DsgError, FitError, MemoryLimitError
from dsgkit.experiment.environment import describe_environment
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.measure import Clock, peak_memory, reset_peak_memory
from dsgkit.experiment.plan import (
    CLASS_PROPORTION,
    Cell,
    Point,
    common_part,
    solver_info,
    solver_label,
)
from dsgkit.experiment.protocols import PROTOCOLS, ExperimentProtocol, Scores
from dsgkit.experiment.store import Record
from dsgkit.memory import constrain_memory
from dsgkit.origin import one_line
from dsgkit.random.seeds import derive_seed
from dsgkit.tasks.splits import SemiSupervisedSplit, semi_supervised_split
from dsgkit.threads import available_threads, set_threads

MET = ("needed", "limit", "timeout")
"""What records tell of a limit that was met: bytes, bytes and seconds."""

_WARM_UP_ROWS = 64


@dataclass
class Bench:
    """What a process keeps between cells: the data, the last split, which solvers are compiled."""

    experiment: Experiment
    dataset: Dataset
    _trial: int = -1
    _split: SemiSupervisedSplit | None = None
    _warm: set[tuple[str, str]] = field(default_factory=set)

    @property
    def protocol(self) -> ExperimentProtocol:
        """How searches score and fits are judged."""
        return PROTOCOLS[self.experiment.protocol.kind]

    def split(self, trial: int) -> SemiSupervisedSplit:
        """Return the rows of a trial."""
        if self._split is None or self._trial != trial:
            protocol = self.experiment.protocol
            self._split = semi_supervised_split(
                self.dataset,
                labeled=protocol.labeled,
                folds=protocol.folds,
                seed=derive_seed(self.experiment.seed, "split", trial),
                scale=protocol.scale,
            )
            self._trial = trial
        return self._split

    def estimator(self, cell: Cell, point: Point) -> Any:
        """Return the cell's estimator with the config's and a grid point's parameters."""
        info = solver_info(self.experiment, cell.solver)
        params = {**self.experiment.solvers[cell.solver].params, **point}
        for name, value in params.items():
            if value == CLASS_PROPORTION:
                params[name] = self.split(cell.trial).class_proportion
        if "random_state" in info.params and "random_state" not in params:
            params["random_state"] = derive_seed(self.experiment.seed, "solver", cell.trial)
        return info.load()(**params)

    def warm_up(self, cell: Cell) -> None:
        """Run a cell's solver once on a few unlabelled rows: nothing compiles while a clock runs.

        A few rows need not have a solution; if something else is wrong, the cell will tell.
        """
        kind = (cell.solver, cell.kind)
        if kind in self._warm:
            return
        few = replace(cell, n_unlabeled=_WARM_UP_ROWS, points=cell.points[:2])
        with contextlib.suppress(DsgError), progress.listening(lambda _: None):
            fixed = cell.earlier[0] if cell.earlier else {}
            if cell.kind == "search":
                _scores(self, few, fixed)
            else:
                _fitted(self, few, {**fixed, **cell.points[0]})
        self._warm.add(kind)
        gc.freeze()  # imported modules stay: looking through them takes 20 ms in every cell


def run_job(job: Job, reached: Callable[[str], object] = lambda _: None) -> Record:
    """Run a cell in this process and return its record; what goes wrong is part of the record.

    Parameters
    ----------
    job : Job
    reached : callable
        Called with ``loaded`` when the data are there, and with ``begun`` when code is compiled as
        well: the limit of time counts from there.
    """
    cell, clock = job.task.cell, Clock()
    record = _header(job)
    try:
        with clock.phase("load"):
            record["environment"] = _prepare_process(job)
            bench = _bench_of(job)
            bench.split(cell.trial)
        reached("loaded")
        with clock.phase("compile"):
            bench.warm_up(cell)
        reached("begun")
        reset_peak_memory()
        record |= _search(bench, job, clock) if cell.kind == "search" else _fit(bench, job, clock)
    except Exception as error:
        record |= _failure(error)
    times = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    return {"key": job.task.key, "times": times, "peak_memory": peak_memory()} | record


def ended_record(job: Job, status: str, message: str, **more: Any) -> Record:
    """Return the record of a cell whose process was stopped or died."""
    return {"key": job.task.key} | _header(job) | {"status": status, "message": message} | more


def failed_record(job: Job, error: Exception) -> Record:
    """Return the record of a cell that could not be run."""
    return {"key": job.task.key} | _header(job) | _failure(error)


def _prepare_process(job: Job) -> Record:
    """Give this process its threads and memory, and return the environment that it is."""
    threads = job.threads or available_threads()
    if job.alone:
        set_threads(threads, threads)
    else:  # the last bits of a BLAS result depend on its threads: one, however many processes
        set_threads(max(1, threads // job.processes), 1)
    constrain_memory(1 if job.alone else job.processes, job.limits.memory)
    return _environment(threads)


_environment = functools.cache(describe_environment)

_bench: Bench | None = None


def _bench_of(job: Job) -> Bench:
    """Return the bench of the job's experiment, kept from cell to cell."""
    global _bench
    if _bench is None or _bench.experiment != job.experiment:
        dataset = load_dataset(job.experiment.dataset)
        if dataset.content_hash != job.content_hash:
            raise DataError(
                f"dataset {dataset.name}: its rows here are not those that the plan was made for"
            )
        _bench = Bench(job.experiment, dataset)
    if solver_info(job.experiment, job.task.cell.solver).version != job.solver_version:
        raise FitError("the solver here is not of the version that the plan was made for")
    return _bench


def _header(job: Job) -> Record:
    cell = job.task.cell
    points = {"points": list(cell.points)} if cell.kind == "search" else {}
    return {
        "kind": cell.kind,
        "solver": cell.solver,
        "label": solver_label(job.experiment, cell.solver),
        "trial": cell.trial,
        "n_unlabeled": cell.n_unlabeled,
        "n_labeled": job.experiment.protocol.labeled,
        **points,
        "params": job.chosen,
        "status": "ok",
        "message": "",
        "dsgkit": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _failure(error: Exception) -> Record:
    """Return the status and the cause; an error that no solver announces keeps its traceback."""
    if isinstance(error, FitError):
        met = {name: getattr(error, name, None) for name in MET}
        known = {name: _storable(value) for name, value in met.items() if value}
        return {"status": error.status, "message": str(error)} | known
    status = MemoryLimitError.status if isinstance(error, MemoryError) else "failed"
    return {
        "status": status,
        "message": one_line(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def _scores(bench: Bench, cell: Cell, fixed: Point) -> Scores:
    """Return the metric of every point of a search on every fold."""
    estimator = bench.estimator(cell, {**fixed, **common_part(cell.points)})
    split = bench.split(cell.trial)
    return bench.protocol.search(estimator, split, cell.n_unlabeled, cell.points)


def _fitted(bench: Bench, cell: Cell, point: Point) -> Any:
    """Return the fitted estimator of a grid point."""
    split = bench.split(cell.trial)
    rows = split.X_unlabeled.take(slice(cell.n_unlabeled))
    estimator = bench.estimator(cell, point)
    estimator.fit(split.X[:], split.y, rows)
    return estimator


def _search(bench: Bench, job: Job, clock: Clock) -> Record:
    """Score every point of the share."""
    with clock.phase("search"):
        return {"fold_scores": _scores(bench, job.task.cell, job.chosen)}


def _fit(bench: Bench, job: Job, clock: Clock) -> Record:
    """Time one fit and score it on all unlabelled rows, and on the official test rows."""
    task = job.task
    split = bench.split(task.cell.trial)
    trained = task.training / (task.flops or 1)
    with clock.phase("fit"), progress.part(0, trained):
        estimator = _fitted(bench, task.cell, job.chosen)
    memory = peak_memory()
    n_test = 0 if split.X_test is None else len(split.X_test)
    at_test = trained + (1 - trained) * n_test / (n_test + len(split.y_unlabeled))
    with clock.phase("predict"):
        with progress.part(trained, at_test):
            test_values = _predicted(estimator, split.X_test) if n_test else None
        with progress.part(at_test, 1):
            values = _predicted(estimator, split.X_unlabeled)
    with clock.phase("evaluate"):
        scores = bench.protocol.judge(split.y_unlabeled, values)
        if test_values is not None and split.y_test is not None:
            tested = bench.protocol.judge(split.y_test, test_values)
            scores |= {f"test_{name}": value for name, value in tested.items()}
    return {
        "full": task.cell.n_unlabeled == len(split.y_unlabeled),
        "estimator": _resolved(estimator),
        "peak_memory": memory,
        **scores,
    }


def _predicted(estimator: Any, rows: Any) -> Any:
    """Return a fitted function's values at some rows, which must be one finite number each."""
    values = np.asarray(estimator.decision_function(rows))
    if values.shape != (len(rows),):
        raise FitError(f"decision_function returned shape {values.shape} for {len(rows):,} rows")
    if not np.isfinite(values).all():
        raise FitError("decision_function returned values that are not finite")
    return values


def _resolved(estimator: Any) -> Record:
    """Return every parameter of a fitted estimator, and the numbers it found by itself."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    numbers = {k: v for k, v in fitted.items() if isinstance(v, Real)}
    return {k: _storable(v) for k, v in {**estimator.get_params(), **numbers}.items()}


def _storable(value: Any) -> Any:
    """Return a value as JSON can hold it; in words if it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    plain = value is None or isinstance(value, bool | int | str)
    return value if plain or (isinstance(value, float) and math.isfinite(value)) else repr(value)

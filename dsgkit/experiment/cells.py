"""Runs one cell: from its description to its record."""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from dsgkit import __version__
from dsgkit.config.schema import Experiment
from dsgkit.config.spec import LARGEST_NUMBER
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError
from dsgkit.experiment.environment import describe_environment
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import LIMIT_ENTRIES
from dsgkit.experiment.plan import (
    Cell,
    Point,
    common_part,
    make_trial,
    solver_code,
    solver_info,
)
from dsgkit.experiment.read_only import guarded
from dsgkit.experiment.records import CellSchema, Diagnostics, Record
from dsgkit.experiment.selection import best_point, choosing_measure
from dsgkit.experiment.status import without_numbers
from dsgkit.experiment.timing import (
    Clock,
    peak_memory,
    repeated,
    reset_peak_memory,
    timing_record,
)
from dsgkit.random.seeds import derive_seed
from dsgkit.system import progress
from dsgkit.system.memory import constrain_memory
from dsgkit.system.settings import kept_settings
from dsgkit.system.signals import is_request
from dsgkit.system.threads import available_threads, hold_openmp, kept_threads, set_threads
from dsgkit.tasks.base import At, Task, named_by_fit
from dsgkit.tasks.base import Clock as PhaseClock
from dsgkit.users_code.origin import one_line

_WARM_UP_ROWS = 64

_IDENTITY = tuple(CellSchema.__annotations__)
"""Entries of a record that identify its cell."""

_DIAGNOSTICS = TypeAdapter(Diagnostics)


@dataclass
class Bench:
    """State that a process keeps between cells: data, last trial, which solvers are compiled."""

    experiment: Experiment
    dataset: Dataset
    _number: int = -1
    _trial: Task | None = None
    _warm: set[tuple[str, str]] = field(default_factory=set)
    _codes: dict[str, str] = field(default_factory=dict)

    def trial(self, number: int) -> Task:
        """Return a trial."""
        if self._trial is None or self._number != number:
            self._trial = make_trial(self.experiment, self.dataset, number)
            self._number = number
        return self._trial

    def code(self, solver: str) -> str:
        """Return the hash of the code of a solver in this process."""
        if solver not in self._codes:
            self._codes[solver] = solver_code(self.experiment, solver)
        return self._codes[solver]

    def estimator(self, cell: Cell, point: Mapping[str, Any]) -> Any:
        """Return the cell's estimator with the config's and a grid point's parameters."""
        info = solver_info(self.experiment, cell.solver)
        trial = self.trial(cell.trial)
        params = _in_numbers({**self.experiment.solvers[cell.solver].params, **point}, trial)
        if "random_state" in info.params and "random_state" not in params:
            seed = derive_seed(self.experiment.seed, "solver", cell.trial)
            params["random_state"] = info.seed(seed)
        return guarded(info.load())(**params)

    def scores(
        self, cell: Cell, chosen: Point, at: At, points: Sequence[Point]
    ) -> list[list[float | None]]:
        """Return the score of points of a search on every fold."""
        estimator = self.estimator(cell, {**chosen, **common_part(points)})
        trial = self.trial(cell.trial)
        scores = trial.search(estimator, at, [_in_numbers(point, trial) for point in points])
        if len(scores) != len(points) or len(set(map(len, scores))) > 1:
            raise FitError("a search must return a list of scores per point, one for every fold")
        return [[_number(score) for score in folds] for folds in scores]

    def coordinate_scores(
        self, cell: Cell, chosen: Point, at: At, points: Sequence[Point]
    ) -> tuple[list[Point], list[list[float | None]]]:
        """Search a parameter's numbers one after the other, given those found so far.

        Returns
        -------
        points, scores : list
            All points that were tried, with their scores on every fold.
        """
        name, info = cell.coordinate, solver_info(self.experiment, cell.solver)
        count = self.trial(cell.trial).counts(at)[info.parameters[name].one_per]
        start = self.estimator(cell, chosen).get_params()[name]
        if start is None:
            start = points[0][name]
        numbers = list(start) if isinstance(start, Sequence) else [start] * count
        if len(numbers) != count:
            raise DataError(f"{name} must be one number or {count}, got {len(numbers)}")
        tried: list[Point] = []
        scores: list[list[float | None]] = []
        for entry in range(count):
            values = dict.fromkeys([numbers[entry], *(point[name] for point in points)])
            candidates = [
                {name: [*numbers[:entry], value, *numbers[entry + 1 :]]} for value in values
            ]
            tried += candidates
            scores += self.scores(cell, chosen, at, candidates)
            best = best_point(
                tried, scores, better=choosing_measure(self.experiment).better, smoother={}
            )
            numbers = list(best[0][name]) if best else numbers
        return tried, scores

    def warm_up(self, cell: Cell) -> None:
        """Run a cell's solver once on a few rows, so that nothing compiles while a clock runs.

        All errors are ignored: a few rows may have no solution, and any other error comes again.
        """
        kind = (cell.solver, cell.kind)
        if kind in self._warm:
            return
        few = {axis: min(size, _WARM_UP_ROWS) for axis, size in cell.at.items()}
        first = {name: value for points in cell.stages for name, value in points[0].items()}
        silent = progress.listening(lambda _: None)
        with contextlib.suppress(Exception), silent, _warnings_to([]), kept_settings():
            if cell.kind == "search":
                self.scores(cell, first, few, cell.points[:2])
            else:
                estimator = self.estimator(cell, first)
                self.trial(cell.trial).fit(estimator, few, Clock())
        self._warm.add(kind)
        gc.freeze()  # the collector would look through all modules for 20 ms in every cell


def _in_numbers(params: Mapping[str, Any], trial: Task) -> Point:
    """Return parameters with the trial's values in place of words."""
    values = trial.values
    return {k: values.get(v, v) if isinstance(v, str) else v for k, v in params.items()}


def run_job(
    job: Job,
    reached: Callable[[str], object] = lambda _: None,
    keep: Callable[[Record], object] = lambda _: None,
) -> Record:
    """Run a cell in this process and return its record, errors included.

    Parameters
    ----------
    job : Job
    reached : callable
        Called with ``loaded`` when the data are loaded, and with ``begun`` when code is compiled as
        well: the time limit counts from there.
    keep : callable
        Called with the record of a fit before the fit is repeated for its time: it is a
        result even if a repeat crashes.
    """
    clock, record = Clock(), _header(job)
    try:
        with clock.phase("load"):
            record["environment"] = _prepare_process(job)
            bench = _bench_of(job)  # settings that imports make hold for all cells
            record["code"] = bench.code(job.cell.solver)
        with kept_settings(), kept_threads():
            record |= _result(
                bench, job, clock, reached, lambda part: keep(_whole(job, record | part, clock))
            )
    except BaseException as error:  # a solver's exit ends its cell, not the process
        record |= _failure(error)
    return _whole(job, record, clock)


def _whole(job: Job, record: Record, clock: Clock) -> Record:
    """Return a record with its cell's key, the seconds of all phases, and the peak memory."""
    times = {name: round(seconds, 6) for name, seconds in clock.wall.items()}
    times |= record.get("times", {})
    return {"key": job.cell.key, "peak_memory": peak_memory()} | record | {"times": times}


def _result(
    bench: Bench,
    job: Job,
    clock: Clock,
    reached: Callable[[str], object],
    keep: Callable[[Record], object],
) -> Record:
    """Run a cell and return the entries that this adds to its record."""
    cell = job.cell
    with clock.phase("load"):
        bench.trial(cell.trial).training(cell.at)  # draws the rows
    reached("loaded")
    with clock.phase("compile"):
        bench.warm_up(cell)
    threads = job.threads or available_threads()
    if cell.kind == "fit":
        hold_openmp(threads)  # after the solver has loaded its libraries
    _seed_generators(bench, cell)
    reached("begun")
    reset_peak_memory()
    warned: list[str] = []
    first = Clock()
    with _warnings_to(warned):
        if cell.kind == "search":
            record = _search(bench, job, clock)
        else:
            record = _fit(bench, job, clock, first) | timing_record([(first, 1)], threads)
    record = {**record, "warnings": warned} if warned else record
    if cell.kind == "fit" and not job.once:
        keep(record)
        with clock.phase("repeat"):
            record |= timing_record(_repeated(bench, job, first), threads)
    return record


def _seed_generators(bench: Bench, cell: Cell) -> None:
    """Seed the global generators, so that no cell depends on what ran before."""
    seed = derive_seed(bench.experiment.seed, "solver", cell.trial)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


def _repeated(bench: Bench, job: Job, first: Clock) -> list[tuple[Clock, int]]:
    """Time equal fits of new estimators."""
    cell, trial = job.cell, bench.trial(job.cell.trial)

    def fit(clock: PhaseClock) -> None:
        _seed_generators(bench, cell)
        trial.fit(bench.estimator(cell, job.chosen), cell.at, clock)

    silent = progress.listening(lambda _: None)  # the progress bar has reached the cell's end
    with silent, _warnings_to([]):
        return repeated(fit, first)


@contextlib.contextmanager
def _warnings_to(texts: list[str]) -> Iterator[None]:
    """Collect warnings, also of other libraries, instead of printing them.

    A search fits hundreds of models: of texts that differ only in numbers, the first is kept.
    """
    known: set[str] = set()

    def keep(message: Any, *_: Any, **__: Any) -> None:
        text = str(message)
        if (form := without_numbers(text)) not in known:
            known.add(form)
            texts.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DsgWarning)
        warnings.showwarning = keep
        yield


def ended_record(job: Job, status: str, message: str, **more: Any) -> Record:
    """Return the record of a cell whose process was stopped or died."""
    return {"key": job.cell.key} | _header(job) | {"status": status, "message": message} | more


def record_of(job: Job, sent: Any) -> Record:
    """Return a worker's message if it is the record of the job, else the record of a failure.

    A solver runs in the same process and might have sent something else.
    """
    expected = ended_record(job, "ok", "")
    # compared as text: arrays, for one, have no truth value
    if isinstance(sent, dict) and all(
        repr(sent.get(name)) == repr(expected[name]) for name in _IDENTITY
    ):
        return sent
    return ended_record(
        job, "failed", "the message of the worker process is not a record of this cell"
    )


def failed_record(job: Job, error: BaseException) -> Record:
    """Return the record of a cell that could not be run."""
    return {"key": job.cell.key} | _header(job) | _failure(error)


def _prepare_process(job: Job) -> Record:
    """Set the threads and the memory limit of this process, and describe its environment."""
    threads = job.threads or available_threads()
    if job.cell.kind == "fit":
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
    if solver_info(job.experiment, job.cell.solver).version != job.solver_version:
        raise FitError("the solver here is not of the version that the plan was made for")
    return _bench


def _header(job: Job) -> Record:
    cell = job.cell
    points = {"points": list(cell.points)} if cell.kind == "search" else {}
    return {
        "kind": cell.kind,
        "solver": cell.solver,
        "label": job.experiment.solvers[cell.solver].label,
        "trial": cell.trial,
        "at": dict(cell.at),
        **points,
        "params": job.chosen,
        "status": "ok",
        "message": "",
        "dsgkit": __version__,
        "code": cell.code,  # of the plan; the process that runs the cell replaces it
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _failure(error: BaseException) -> Record:
    """Return the status and the cause; an unexpected error keeps its traceback."""
    if isinstance(error, FitError):
        met = {name: getattr(error, name, None) for name in LIMIT_ENTRIES}
        known = {name: _storable(value) for name, value in met.items() if value}
        own = isinstance(error.status, str) and error.status != "ok"
        status = error.status if own else FitError.status
        return {"status": status, "message": str(error)} | known
    status = MemoryLimitError.status if isinstance(error, MemoryError) else "failed"
    return {
        "status": status,
        "message": one_line(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def _search(bench: Bench, job: Job, clock: Clock) -> Record:
    """Score every point of the share."""
    cell = job.cell
    with clock.phase("search"):
        if cell.coordinate:
            points, scores = bench.coordinate_scores(cell, job.chosen, cell.at, cell.points)
            return {"points": points, "fold_scores": scores}
        return {"fold_scores": bench.scores(cell, job.chosen, cell.at, cell.points)}


def _fit(bench: Bench, job: Job, clock: Clock, first: Clock) -> Record:
    """Time one fit and judge it; what a picture is drawn from is still in memory.

    Repeats have the same parameters, rows and seed, so they come to the same: none is judged.
    """
    cell, trial = job.cell, bench.trial(job.cell.trial)
    trained = cell.work.training / (cell.flops or 1)
    estimator = bench.estimator(cell, job.chosen)
    with progress.part(0, trained):
        try:
            trial.fit(estimator, cell.at, first)
        finally:
            clock.wall.update(first.wall)
    memory = peak_memory()
    with progress.part(trained, 1):
        judgement = trial.judge(estimator, cell.at, clock)
    kept = {
        "trace": _storable_trace(judgement.trace),
        "artefact": judgement.artefact,
        "remark": str(getattr(estimator, "remark_", "")),
    }
    scores = {name: _number(score) for name, score in judgement.scores.items()}
    if scores and set(scores.values()) == {None}:
        raise FitError(f"no measure has a value: {', '.join(scores)}")
    record = {
        "full": dict(cell.at) == dict(trial.sizes),
        "scores": scores,
        "estimator": _resolved(estimator),
        "peak_memory": memory,
    }
    kept["diagnostics"] = _diagnostics(estimator, trial, cell.at)
    return record | {name: value for name, value in kept.items() if value}


def _diagnostics(estimator: Any, trial: Task, at: At) -> dict[str, float]:
    """Return the numbers that an estimator gives of its fit; what goes wrong is only warned of."""
    try:
        if not hasattr(estimator, "diagnostics"):
            return {}
        given = estimator.diagnostics(**named_by_fit(estimator, trial.training(at)))
        numbers = {str(name): _number(value) for name, value in given.items()}
        finite = {name: number for name, number in numbers.items() if number is not None}
        _DIAGNOSTICS.validate_python(finite)
    except BaseException as error:
        if is_request(error):
            raise
        warnings.warn(f"no diagnostics: {one_line(error)}", DsgWarning, stacklevel=2)
        return {}
    for name in sorted(numbers.keys() - finite.keys()):
        warnings.warn(f"the diagnostic {name!r} is not a finite number", DsgWarning, stacklevel=2)
    return finite


def _number(value: Any) -> float | None:
    """Return a score as records hold it; none if it is not finite, or as good as that."""
    if value is None:
        return None
    if not isinstance(value, Real):
        raise FitError(f"a score must be a number or None, got {value!r}")
    number = float(value)
    return number if abs(number) <= LARGEST_NUMBER else None


def _storable_trace(trace: Sequence[Mapping[str, Any]]) -> list[Record]:
    return [{name: _storable(value) for name, value in step.items()} for step in trace]


def _resolved(estimator: Any) -> Record:
    """Return every parameter of a fitted estimator, and the numbers it found by itself."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    numbers = {k: v for k, v in fitted.items() if isinstance(v, Real)}
    return {k: _storable(v) for k, v in {**estimator.get_params(), **numbers}.items()}


def _storable(value: Any) -> Any:
    """Convert a value for JSON; values of other types become their repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_storable(entry) for entry in value]
    if value is None or isinstance(value, bool):
        return value
    # never an instance of a subclass, such as a member of an enumeration
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) and math.isfinite(value) else repr(value)

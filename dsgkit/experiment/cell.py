"""Runs one cell in this process: from its description to its record."""

from __future__ import annotations

import contextlib
import gc
import io
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

from dsgkit import __version__
from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError
from dsgkit.experiment import plan, timing
from dsgkit.experiment.folder import ARTEFACTS, describe_environment
from dsgkit.experiment.plan import Cell, Point, solver_info
from dsgkit.experiment.status import without_numbers
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import Clock
from dsgkit.seeds import derive_seed
from dsgkit.system import machine, progress
from dsgkit.system.files import source_hash
from dsgkit.tasks.base import At, Task
from dsgkit.user_code import one_line

REHEARSAL_ROWS = (20, 200)  # what fails on the first number may only need more rows
_WARM_UP_ROWS = 64
Tell = Callable[[str, Any], object]


@dataclass(frozen=True)
class Job:
    """A cell with all that another process needs to run it."""

    experiment: Experiment
    content_hash: str  # of the planned dataset
    solver_version: int | str
    cell: Cell
    chosen: Point = field(default_factory=dict)  # parameters that the searches before have chosen
    threads: int | None = None  # of a timed fit; None for all of the machine
    processes: int = 1  # concurrent cells, which share the threads and the memory of a machine
    timeout: float | None = None  # seconds from when data are loaded and code is compiled
    memory: int | None = None  # bytes, with shared memory, without pages of mapped files
    once: bool = False  # time a fit once
    rehearsal: bool = False  # only try the solver on a few rows

    @property
    def description(self) -> str:
        cell, axis = self.cell, self.experiment.axis
        label = self.experiment.solvers[cell.solver].label
        size = f", {cell.at[axis.name]:,} {axis.noun}" if axis else ""
        return f"{label} {cell.kind}, trial {cell.trial + 1}{size}"


def new_record(job: Job, status: str = "ok", message: str = "", **more: Any) -> Record:
    """Return the record of a job that has ended; `run_job` adds what a cell has come to."""
    cell = job.cell
    return {
        **{name: getattr(cell, name) for name in ("key", "kind", "solver", "trial")},
        "at": dict(cell.at),
        "status": status,
        "label": job.experiment.solvers[cell.solver].label,
        "message": message,
        **more,
        "params": job.chosen,
        **({"points": list(cell.points)} if cell.kind == "search" else {}),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "dsgkit": __version__,
    }


def failed_record(job: Job, error: BaseException) -> Record:
    """Return the record of a cell that ended by an exception; unexpected ones keep a traceback."""
    if isinstance(error, FitError):
        met = {name: _plain(getattr(error, name, None)) for name in plan.LIMIT_ENTRIES}
        limits = {name: value for name, value in met.items() if value}
        return new_record(job, str(error.status), str(error), **limits)
    status = MemoryLimitError.status if isinstance(error, MemoryError) else "failed"
    trace = "".join(traceback.format_exception(error))
    return new_record(job, status, one_line(error), traceback=trace)


def run_job(job: Job, tell: Tell = lambda _what, _content: None) -> tuple[Record, bytes]:
    """Run a cell in this process, whose settings of numpy and of warnings are restored.

    Returned are the record, of errors too, and the npz file of the arrays that figures of a fit are
    drawn from, empty without any. ``tell`` is called with ``begun`` when data are loaded and code
    is compiled, from when time limits count; with ``kept`` and what would be returned before a fit
    is repeated: it is a result even if a repeat crashes; and with ``progress``, 1.0 and the number
    of each repeat.
    """
    clock, texts, is_fit = Clock(), list[str](), job.cell.kind == "fit"
    threads = job.threads or machine.available_threads()
    record: Record = {}

    def result() -> tuple[Record, bytes]:
        # as a fit's: of one thread, seconds that other processes do not change
        seconds = clock.processor if threads == 1 else clock.wall
        times = {name: round(s, 6) for name, s in seconds.items()} | record.get("times", {})
        whole = new_record(job) | {"peak_memory": timing.peak_memory()} | record | {"times": times}
        whole |= {"warnings": texts} if texts else {}
        file = io.BytesIO()
        if arrays := whole.pop("artefact", None):
            np.savez_compressed(file, **arrays)
            whole["artefact"] = f"{ARTEFACTS}/{job.cell.key}.npz"
        return whole, file.getvalue()

    try:
        with clock.phase("load"):
            # the last bits of a BLAS result depend on its threads: in a search always one
            of_numba = threads if is_fit else max(1, threads // job.processes)
            machine.set_threads(of_numba, threads if is_fit else 1)
            machine.constrain_memory(job.processes, job.memory)
            record |= {"environment": describe_environment(threads), "source": source_hash()}
            trial = _trial(job)  # what its imports set holds for all cells
        with np.errstate(), _warnings_to(texts), machine.kept_threads():
            if job.rehearsal:
                tell("begun", None)
                with contextlib.suppress(FitError, DataError):  # few rows may have no solution
                    try:
                        _try_out(job, trial, REHEARSAL_ROWS[0])
                    except Exception:
                        _try_out(job, trial, REHEARSAL_ROWS[1])
                return new_record(job), b""
            with clock.phase("compile"):
                _warm_up(job, trial)
            if is_fit:
                machine.hold_openmp(threads)  # after the solver has loaded its libraries
            tell("begun", None)
            timing.reset_peak_memory()
            if is_fit:
                for entries in _fitted(job, trial, clock, tell):
                    record |= entries
                    tell("kept", result())
            else:
                with clock.phase("search"):
                    record["points"], record["fold_scores"] = _searched(job, trial)
    except BaseException as error:  # a solver's exit ends its cell, not the process
        record |= {"artefact": None} | failed_record(job, error)
    return result()


_latest: tuple[Any, Any] = None, None  # what the latest cell's trial was made of, and that
_warm: list[tuple[str, str, Experiment]] = []


def _trial(job: Job) -> Task:
    global _latest
    wanted = job.cell.trial, job.content_hash, job.experiment
    if _latest[0] != wanted:
        dataset = load_dataset(job.experiment.dataset)
        if dataset.content_hash != job.content_hash:
            raise dataset.error("its rows here are not those that the plan was made for")
        _latest = wanted, plan.make_trial(job.experiment, dataset, job.cell.trial)
    if solver_info(job.experiment, job.cell.solver).version != job.solver_version:
        raise FitError("the solver here is not of the version that the plan was made for")
    trial: Task = _latest[1]
    trial.training(job.cell.at)
    return trial


def _warm_up(job: Job, trial: Task) -> None:
    """Run the solver once on a few rows, so that nothing compiles while a clock runs."""
    if (kind := (job.cell.solver, job.cell.kind, job.experiment)) not in _warm:
        _warm.append(kind)
        with contextlib.suppress(Exception):  # few rows may have no solution, others come again
            _try_out(job, trial, _WARM_UP_ROWS)
        gc.freeze()  # the collector would look through all modules for 20 ms in every cell


def _try_out(job: Job, trial: Task, rows: int) -> None:
    """Run a cell on a few rows, at the first points of its grids, without a word."""
    cell = job.cell
    few = {axis: min(size, rows) for axis, size in cell.at.items()}
    first = {name: value for points in cell.stages for name, value in points[0].items()}
    with progress.listening(lambda _: None), _warnings_to([]):
        if cell.kind == "search":
            _scores(job, trial, few, cell.points[:2], first)
        else:
            estimator = _estimator(job, trial, first)
            trial.fit(estimator, few, Clock())
            if job.rehearsal:
                trial.judge(estimator, few, Clock())


@contextlib.contextmanager
def _warnings_to(texts: list[str]) -> Iterator[None]:
    """Collect warnings of all libraries; of texts that differ only in numbers, the first."""

    def keep(message: Any, *_: Any, **__: Any) -> None:
        if without_numbers(text := str(message)) not in map(without_numbers, texts):
            texts.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DsgWarning)
        warnings.showwarning = keep
        yield


def _estimator(job: Job, trial: Task, point: Mapping[str, Any]) -> Any:
    """Return the cell's estimator, with the config's and a grid point's parameters."""
    cell, experiment = job.cell, job.experiment
    seed = derive_seed(experiment.seed, "solver", cell.trial)
    random.seed(seed)  # so that no cell depends on what ran before
    np.random.seed(seed % 2**32)  # noqa: NPY002
    return make_estimator(experiment, cell.solver, trial, cell.trial, point)


def make_estimator(
    experiment: Experiment, solver: str, trial: Task, number: int, point: Mapping[str, Any]
) -> Any:
    """Return a solver's estimator for a trial, with the config's and a grid point's parameters."""
    info = solver_info(experiment, solver)
    params = _in_numbers({**experiment.solvers[solver].params, **point}, trial)
    if "random_state" in info.params:
        seed = derive_seed(experiment.seed, "solver", number)
        params.setdefault("random_state", info.seed(seed))
    return info.load()(**params)


def _in_numbers(params: Mapping[str, Any], trial: Task) -> Point:
    """Return parameters with the trial's values in place of words."""
    values = trial.values
    return {k: values.get(v, v) if isinstance(v, str) else v for k, v in params.items()}


def _scores(
    job: Job, trial: Task, at: At, points: Sequence[Point], chosen: Point
) -> list[list[float | None]]:
    estimator = _estimator(job, trial, {**chosen, **plan.common_part(points)})
    scores = trial.search(estimator, at, [_in_numbers(point, trial) for point in points])
    if len(scores) != len(points) or len(set(map(len, scores))) > 1:
        raise FitError("a search must return a list of scores per point, one for every fold")
    return [[_number(score) for score in folds] for folds in scores]


def _searched(job: Job, trial: Task) -> tuple[list[Point], list[list[float | None]]]:
    """Return all points that a search tries, with their scores on every fold."""
    cell, chosen = job.cell, job.chosen
    if not (name := cell.coordinate):
        return list(cell.points), _scores(job, trial, cell.at, cell.points, chosen)
    one_per = solver_info(job.experiment, cell.solver).parameters[name].one_per
    start = _estimator(job, trial, chosen).get_params()[name]
    start = cell.points[0][name] if start is None else start
    one_number = not isinstance(start, Sequence)
    # one number after the other, given those found so far
    numbers = [start] * trial.counts(cell.at)[one_per] if one_number else list(start)
    tried: list[Point] = []
    scores: list[list[float | None]] = []
    for entry in range(len(numbers)):
        values = dict.fromkeys([numbers[entry], *(point[name] for point in cell.points)])
        new = [{name: [*numbers[:entry], value, *numbers[entry + 1 :]]} for value in values]
        tried += new
        scores += _scores(job, trial, cell.at, new, chosen)
        if best := plan.best_point(job.experiment, cell.solver, tried, scores):
            numbers = list(best[0][name])
    return tried, scores


def _fitted(job: Job, trial: Task, clock: Clock, tell: Tell) -> Iterator[Record]:
    """Yield the entries of a fit's record once it is judged, and then the times of its repeats."""
    at, threads, first = job.cell.at, job.threads or machine.available_threads(), Clock()

    def fit(phases: Clock) -> Any:
        estimator = _estimator(job, trial, job.chosen)
        trial.fit(estimator, at, phases)
        return estimator

    with progress.part(0, 0.5):
        try:
            estimator = fit(first)
        finally:
            clock.wall.update(first.wall)
    memory = timing.peak_memory()
    with progress.part(0.5, 1):
        judgement = trial.judge(estimator, at, clock)
    scores = {name: _number(score) for name, score in judgement.scores.items()}
    if scores and set(scores.values()) == {None}:
        raise FitError(f"no measure has a value: {', '.join(scores)}")
    own = {k: v for k, v in vars(estimator).items() if k.endswith("_") and isinstance(v, Real)}
    optional = {
        "trace": [{name: _plain(v) for name, v in step.items()} for step in judgement.trace],
        "remark": str(getattr(estimator, "remark_", "")),
        "diagnostics": _diagnostics(estimator, trial, at),
        "artefact": judgement.artefact,
    }
    yield {
        "full": dict(at) == dict(trial.sizes),
        "scores": scores,
        "estimator": {k: _plain(v) for k, v in {**estimator.get_params(), **own}.items()},
        "peak_memory": memory,
        **timing.timing_record([(first, 1)], threads),
        **{name: entry for name, entry in optional.items() if entry},
    }
    if not job.once:
        del estimator  # its memory is for those of the repeats, which come to the same
        with clock.phase("repeat"), progress.listening(lambda _: None), _warnings_to([]):
            measured = timing.repeated(fit, first, lambda number: tell("progress", (1.0, number)))
        yield timing.timing_record(measured, threads)


def _diagnostics(estimator: Any, trial: Task, at: At) -> dict[str, float]:
    """Return the finite numbers that an estimator gives of its fit; errors are only warned of."""
    if not hasattr(estimator, "diagnostics"):
        return {}
    try:
        given = estimator.diagnostics(**trial.given(estimator, at))
        numbers = {str(name): _number(value) for name, value in given.items()}
    except Exception as error:
        warnings.warn(f"no diagnostics: {one_line(error)}", DsgWarning, stacklevel=2)
        return {}
    return {name: number for name, number in numbers.items() if number is not None}


def _number(value: Any) -> float | None:
    """Return a score as records hold it; none if it is not finite."""
    if not isinstance(value, Real | None):
        raise FitError(f"a score must be a number or None, got {value!r}")
    return None if value is None or not math.isfinite(value) else float(value)


def _plain(value: Any) -> Any:
    """Return a value for JSON; values of other types become their repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or type(value) in (bool, int, str):
        return value
    return float(value) if isinstance(value, float) and math.isfinite(value) else repr(value)

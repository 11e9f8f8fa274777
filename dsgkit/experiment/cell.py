"""Runs one cell in this process: from its description to its record."""

from __future__ import annotations

import contextlib
import functools
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
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError, one_line
from dsgkit.experiment.folder import ARTEFACTS, describe_environment
from dsgkit.experiment.plan import Cell, Point, common_part, make_trial, solver_info
from dsgkit.experiment.selection import LIMIT_ENTRIES, best_point, choosing_measure
from dsgkit.experiment.status import without_numbers
from dsgkit.experiment.store import Record, seal
from dsgkit.experiment.timing import (
    Clock,
    peak_memory,
    repeated,
    reset_peak_memory,
    timing_record,
)
from dsgkit.random.seeds import derive_seed
from dsgkit.system import progress
from dsgkit.system.files import source_hash
from dsgkit.system.machine import (
    available_threads,
    constrain_memory,
    hold_openmp,
    kept_threads,
    set_threads,
)
from dsgkit.tasks.base import At, Task, named_by_fit
from dsgkit.user_code import is_import_path

REHEARSAL_ROWS = (20, 200)
"""Rows of a rehearsal; what fails on the first number may only need more rows than that."""

_WARM_UP_ROWS = 64
_LARGEST_SCORE = 1e150
"""Scores beyond it are as good as infinite: their squares overflow."""

Tell = Callable[[str, Any], object]
"""Called with what happens to a job: ``begun``, ``kept``, ``repeat``; see `run_job`."""


@dataclass(frozen=True)
class Job:
    """A cell with all that another process needs to run it.

    Attributes
    ----------
    content_hash : str
        Hash of the planned dataset.
    solver_version : int or str
        Version of the planned solver.
    chosen : dict
        Parameters that the searches before the cell have chosen.
    threads : int or None
        Threads of a timed fit; None for all of the machine that runs it.
    processes : int
        Number of concurrent cells that share the threads and the memory of a machine.
    timeout, memory : float, int, optional
        Limits: seconds from when data are loaded and code is compiled, and bytes of the process,
        with shared memory, without pages of mapped files.
    once : bool
        Whether a fit is timed only once.
    rehearsal : bool
        Only try the solver on a few rows.
    """

    experiment: Experiment
    content_hash: str
    solver_version: int | str
    cell: Cell
    chosen: Point = field(default_factory=dict)
    threads: int | None = None
    processes: int = 1
    timeout: float | None = None
    memory: int | None = None
    once: bool = False
    rehearsal: bool = False

    @property
    def external_class(self) -> str:
        """The import path of an external class, whose cells run in processes of their own, or "".

        Such a class may change anything in the process that runs it. Classes of scikit-learn, which
        the package loads anyway, do not count.
        """
        kind = self.experiment.solvers[self.cell.solver].kind
        shared = kind.partition(".")[0] in ("dsgkit", "sklearn")
        return kind if is_import_path(kind) and not shared else ""

    @property
    def description(self) -> str:
        """Description of the job for progress."""
        cell, axis = self.cell, self.experiment.axis
        label = self.experiment.solvers[cell.solver].label
        size = f", {cell.at[axis.name]:,} {axis.noun}" if axis else ""
        return f"{label} {cell.kind}, trial {cell.trial + 1}{size}"


def new_record(job: Job, status: str = "ok", message: str = "", **more: Any) -> Record:
    """Return the record of a job that has ended, with the entries that identify its cell.

    Further entries are those of `run_job`: ``times`` by phase, ``peak_memory``, ``environment``,
    ``source``, ``warnings``; of a search ``fold_scores`` by point; of a fit ``full``, ``scores``,
    ``timing``, ``measurements``, ``estimator`` and, if there are any, ``trace``, ``remark``,
    ``diagnostics`` and ``artefact``; ``traceback`` of a failure; ``needed``, ``limit`` and
    ``timeout`` of a limit that was met.
    """
    cell = job.cell
    return {
        "key": cell.key,
        "kind": cell.kind,
        "solver": cell.solver,
        "trial": cell.trial,
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
        met = {name: _plain(getattr(error, name, None)) for name in LIMIT_ENTRIES}
        limits = {name: value for name, value in met.items() if value}
        return new_record(job, str(error.status), str(error), **limits)
    status = MemoryLimitError.status if isinstance(error, MemoryError) else "failed"
    trace = "".join(traceback.format_exception(error))
    return new_record(job, status, one_line(error), traceback=trace)


def run_job(job: Job, tell: Tell = lambda _what, _content: None) -> tuple[Record, bytes]:
    """Run a cell in this process.

    Settings of numpy and warning filters that a solver changes are restored.

    Parameters
    ----------
    job : Job
    tell : callable
        Called with ``begun`` when data are loaded and code is compiled, from when time limits
        count; and with ``kept`` and what this function would return before a fit is repeated for
        its time: it is a result even if a repeat crashes. Then it is called with ``repeat`` and the
        number of each repeat.

    Returns
    -------
    record : Record
        Errors included.
    picture : bytes
        The npz file of the arrays that figures of the fit are drawn from; empty without any.
    """
    clock, texts = Clock(), list[str]()
    record: Record = {}
    arrays: Mapping[str, Any] = {}

    def result() -> tuple[Record, bytes]:
        times = {name: round(s, 6) for name, s in clock.wall.items()} | record.get("times", {})
        whole = new_record(job) | {"peak_memory": peak_memory()} | record | {"times": times}
        whole |= {"warnings": texts} if texts else {}
        file = io.BytesIO()
        if arrays:
            np.savez_compressed(file, **arrays)
            whole["artefact"] = f"{ARTEFACTS}/{job.cell.key}.npz"
        try:
            seal(whole)
        except (TypeError, ValueError) as error:
            return failed_record(job, FitError(f"its result cannot be stored: {error}")), b""
        return whole, file.getvalue()

    try:
        threads = job.threads or available_threads()
        with clock.phase("load"):
            if job.cell.kind == "fit":
                set_threads(threads, threads)
            else:  # the last bits of a BLAS result depend on its threads: one, wherever it runs
                set_threads(max(1, threads // job.processes), 1)
            constrain_memory(job.processes, job.memory)
            record |= {"environment": _environment(threads), "source": source_hash()}
            trial = _trial(job)  # what its imports set holds for all cells
        with np.errstate(), _warnings_to(texts), kept_threads():
            if job.rehearsal:
                tell("begun", None)
                _rehearse(job, trial)
                return new_record(job), b""
            _begin(job, trial, clock, threads, tell)
            if job.cell.kind == "search":
                with clock.phase("search"):
                    points, scores = _searched(job, trial)
                record |= {"points": points, "fold_scores": scores}
            else:
                first = Clock()
                fitted, arrays = _fitted(job, trial, clock, first)
                record |= fitted | timing_record([(first, 1)], threads)
                if not job.once:
                    tell("kept", result())
                    record |= timing_record(_measured(job, trial, clock, first, tell), threads)
    except BaseException as error:  # a solver's exit ends its cell, not the process
        arrays, record = {}, record | failed_record(job, error)
    return result()


_environment = functools.cache(describe_environment)

_bench: tuple[Any, Any, Any] = None, None, None
"""The latest experiment, its dataset and its latest trial, by number: kept from cell to cell."""

_warm: set[tuple[str, str]] = set()


def _trial(job: Job) -> Task:
    """Return the trial of a job, its rows drawn."""
    global _bench
    cell = job.cell
    experiment, dataset, trials = _bench
    if experiment != job.experiment:
        dataset, trials = load_dataset(job.experiment.dataset), {}
        if dataset.content_hash != job.content_hash:
            raise DataError(
                f"dataset {dataset.name}: its rows here are not those that the plan was made for"
            )
        _warm.clear()
    if solver_info(job.experiment, cell.solver).version != job.solver_version:
        raise FitError("the solver here is not of the version that the plan was made for")
    if cell.trial not in trials:
        trials = {cell.trial: make_trial(job.experiment, dataset, cell.trial)}
    _bench = job.experiment, dataset, trials
    trial: Task = trials[cell.trial]
    trial.training(cell.at)
    return trial


def _begin(job: Job, trial: Task, clock: Clock, threads: int, tell: Tell) -> None:
    """Compile what the cell needs; then limits and clocks begin."""
    with clock.phase("compile"):
        _warm_up(job, trial)
    if job.cell.kind == "fit":
        hold_openmp(threads)  # after the solver has loaded its libraries
    _seed_generators(job)
    tell("begun", None)
    reset_peak_memory()


def _seed_generators(job: Job) -> None:
    """Seed the global generators, so that no cell depends on what ran before."""
    seed = derive_seed(job.experiment.seed, "solver", job.cell.trial)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


def _warm_up(job: Job, trial: Task) -> None:
    """Run the solver once on a few rows, so that nothing compiles while a clock runs.

    All errors are ignored: a few rows may have no solution, and any other error comes again.
    """
    kind = (job.cell.solver, job.cell.kind)
    if kind not in _warm:
        _warm.add(kind)
        with contextlib.suppress(Exception), _silent():
            _try_out(job, trial, _WARM_UP_ROWS)
        gc.freeze()  # the collector would look through all modules for 20 ms in every cell


def _rehearse(job: Job, trial: Task) -> None:
    """Try a solver on a few rows; having no solution there is no failure."""
    for rows in REHEARSAL_ROWS:
        with _silent():
            try:
                return _try_out(job, trial, rows, judged=True)
            except (FitError, DataError):
                return None
            except Exception:
                if rows == REHEARSAL_ROWS[-1]:
                    raise


def _try_out(job: Job, trial: Task, rows: int, *, judged: bool = False) -> None:
    cell = job.cell
    few = {axis: min(size, rows) for axis, size in cell.at.items()}
    first = {name: value for points in cell.stages for name, value in points[0].items()}
    if cell.kind == "search":
        _scores(job, trial, few, cell.points[:2], first)
    else:
        estimator = _estimator(job, trial, first)
        trial.fit(estimator, few, Clock())
        if judged:
            trial.judge(estimator, few, Clock())


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Report neither progress nor warnings."""
    with progress.listening(lambda _: None), _warnings_to([]):
        yield


@contextlib.contextmanager
def _warnings_to(texts: list[str]) -> Iterator[None]:
    """Collect warnings, also of other libraries, instead of printing them.

    A search fits hundreds of models: of texts that differ only in numbers, the first is kept.
    """

    def keep(message: Any, *_: Any, **__: Any) -> None:
        if without_numbers(text := str(message)) not in map(without_numbers, texts):
            texts.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DsgWarning)
        warnings.showwarning = keep
        yield


def _estimator(job: Job, trial: Task, point: Mapping[str, Any]) -> Any:
    """Return the cell's estimator with the config's and a grid point's parameters."""
    info = solver_info(job.experiment, job.cell.solver)
    params = _in_numbers({**job.experiment.solvers[job.cell.solver].params, **point}, trial)
    if "random_state" in info.params and "random_state" not in params:
        seed = derive_seed(job.experiment.seed, "solver", job.cell.trial)
        params["random_state"] = info.seed(seed)
    return info.load()(**params)


def _in_numbers(params: Mapping[str, Any], trial: Task) -> Point:
    """Return parameters with the trial's values in place of words."""
    values = trial.values
    return {k: values.get(v, v) if isinstance(v, str) else v for k, v in params.items()}


def _scores(
    job: Job, trial: Task, at: At, points: Sequence[Point], chosen: Point
) -> list[list[float | None]]:
    """Return the score of points of a search on every fold."""
    estimator = _estimator(job, trial, {**chosen, **common_part(points)})
    scores = trial.search(estimator, at, [_in_numbers(point, trial) for point in points])
    if len(scores) != len(points) or len(set(map(len, scores))) > 1:
        raise FitError("a search must return a list of scores per point, one for every fold")
    return [[_number(score) for score in folds] for folds in scores]


def _searched(job: Job, trial: Task) -> tuple[list[Point], list[list[float | None]]]:
    """Return all points that a search tries, with their scores on every fold.

    A parameter of several numbers is searched one number after the other, given those found so far.
    """
    cell, chosen = job.cell, job.chosen
    if not (name := cell.coordinate):
        return list(cell.points), _scores(job, trial, cell.at, cell.points, chosen)
    info = solver_info(job.experiment, cell.solver)
    count = trial.counts(cell.at)[info.parameters[name].one_per]
    start = _estimator(job, trial, chosen).get_params()[name]
    start = cell.points[0][name] if start is None else start
    numbers = list(start) if isinstance(start, Sequence) else [start] * count
    better = choosing_measure(job.experiment).better
    tried: list[Point] = []
    scores: list[list[float | None]] = []
    for entry in range(count):
        values = dict.fromkeys([numbers[entry], *(point[name] for point in cell.points)])
        new = [{name: [*numbers[:entry], value, *numbers[entry + 1 :]]} for value in values]
        tried += new
        scores += _scores(job, trial, cell.at, new, chosen)
        if best := best_point(tried, scores, better, {}):
            numbers = list(best[0][name])
    return tried, scores


def _fitted(job: Job, trial: Task, clock: Clock, first: Clock) -> tuple[Record, Mapping[str, Any]]:
    """Time one fit and judge it; return entries of its record, and the arrays of its picture.

    Repeats have the same parameters, rows and seed, so they come to the same: none is judged.
    """
    cell = job.cell
    trained = cell.training / (cell.flops or 1)
    estimator = _estimator(job, trial, job.chosen)
    with progress.part(0, trained):
        try:
            trial.fit(estimator, cell.at, first)
        finally:
            clock.wall.update(first.wall)
    memory = peak_memory()
    with progress.part(trained, 1):
        judgement = trial.judge(estimator, cell.at, clock)
    scores = {name: _number(score) for name, score in judgement.scores.items()}
    if scores and set(scores.values()) == {None}:
        raise FitError(f"no measure has a value: {', '.join(scores)}")
    record = {
        "full": dict(cell.at) == dict(trial.sizes),
        "scores": scores,
        "estimator": _parameters(estimator),
        "peak_memory": memory,
    }
    kept = {
        "trace": [{name: _plain(v) for name, v in step.items()} for step in judgement.trace],
        "remark": str(getattr(estimator, "remark_", "")),
        "diagnostics": _diagnostics(estimator, trial, cell.at),
    }
    return record | {k: v for k, v in kept.items() if v}, judgement.artefact


def _measured(
    job: Job, trial: Task, clock: Clock, first: Clock, tell: Tell
) -> list[tuple[Clock, int]]:
    """Time equal fits of new estimators."""

    def fit(phases: Clock) -> None:
        _seed_generators(job)
        trial.fit(_estimator(job, trial, job.chosen), job.cell.at, phases)

    with clock.phase("repeat"), _silent():
        return repeated(fit, first, lambda number: tell("repeat", number))


def _diagnostics(estimator: Any, trial: Task, at: At) -> dict[str, float]:
    """Return the numbers that an estimator gives of its fit; what goes wrong is only warned of."""
    if not hasattr(estimator, "diagnostics"):
        return {}
    try:
        given = estimator.diagnostics(**named_by_fit(estimator, trial.training(at)))
        numbers = {str(name): _number(value) for name, value in given.items()}
    except Exception as error:
        warnings.warn(f"no diagnostics: {one_line(error)}", DsgWarning, stacklevel=2)
        return {}
    for name in sorted(name for name, number in numbers.items() if number is None):
        warnings.warn(f"the diagnostic {name!r} is not a finite number", DsgWarning, stacklevel=2)
    return {name: number for name, number in numbers.items() if number is not None}


def _number(value: Any) -> float | None:
    """Return a score as records hold it; none if it is not finite, or as good as that."""
    if value is None:
        return None
    if not isinstance(value, Real):
        raise FitError(f"a score must be a number or None, got {value!r}")
    return float(value) if abs(float(value)) <= _LARGEST_SCORE else None


def _parameters(estimator: Any) -> Record:
    """Return every parameter of a fitted estimator, and the numbers it found by itself."""
    fitted = {k: v for k, v in vars(estimator).items() if k.endswith("_") and isinstance(v, Real)}
    return {k: _plain(v) for k, v in {**estimator.get_params(), **fitted}.items()}


def _plain(value: Any) -> Any:
    """Return a value for JSON; values of other types become their repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or type(value) in (bool, int, str):
        return value
    return float(value) if isinstance(value, float) and math.isfinite(value) else repr(value)

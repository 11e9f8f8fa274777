"""Running one cell: from its description to its record."""

from __future__ import annotations

import contextlib
import time
import traceback
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit import __version__, progress
from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import Dataset
from dsgkit.data.protocols import SemiSupervisedSplit, semi_supervised_split
from dsgkit.errors import DsgError, FitError, MemoryLimitError
from dsgkit.experiment.measure import Clock, peak_memory, reset_peak_memory
from dsgkit.experiment.plan import (
    CLASS_PROPORTION,
    Cell,
    Point,
    Task,
    common_part,
    solver_info,
    solver_label,
)
from dsgkit.experiment.selection import fold_scores
from dsgkit.experiment.store import Record
from dsgkit.metrics import auc
from dsgkit.sampling import derive_seed

_WARM_UP_ROWS = 64


@dataclass
class Bench:
    """What a process keeps between cells: the data, the last split, which solvers are compiled."""

    experiment: Experiment
    dataset: Dataset
    _trial: int = -1
    _split: SemiSupervisedSplit | None = None
    _warm: set[tuple[str, str]] = field(default_factory=set)

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
            _values(self, few) if cell.kind == "search" else _fitted(self, few, cell.points[0])
        self._warm.add(kind)


def run_cell(bench: Bench, task: Task, chosen: Point | None = None) -> Record:
    """Run a cell and return its record; what goes wrong is part of the record.

    Parameters
    ----------
    bench : Bench
    task : Task
    chosen : dict, optional
        Grid point of a fit.
    """
    clock = Clock()
    record = _header(bench.experiment, task.cell)
    try:
        with clock.phase("load"):
            bench.split(task.cell.trial)
        with clock.phase("compile"):
            bench.warm_up(task.cell)
        reset_peak_memory()
        if task.cell.kind == "search":
            record |= _search(bench, task.cell, clock)
        else:
            record["params"] = chosen or {}
            record |= _fit(bench, task, chosen or {}, clock)
    except Exception as error:
        record |= _failure(error)
    times = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    return {"key": task.key, "times": times, "peak_memory": peak_memory()} | record


def failed_record(experiment: Experiment, task: Task, error: Exception) -> Record:
    """Return the record of a cell that could not be run."""
    return {"key": task.key} | _header(experiment, task.cell) | _failure(error)


def _header(experiment: Experiment, cell: Cell) -> Record:
    return {
        "kind": cell.kind,
        "solver": cell.solver,
        "label": solver_label(experiment, cell.solver),
        "trial": cell.trial,
        "n_unlabeled": cell.n_unlabeled,
        "n_labeled": experiment.protocol.labeled,
        "status": "ok",
        "message": "",
        "dsgkit": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _failure(error: Exception) -> Record:
    """Return the status and the cause; an error that no solver announces keeps its traceback."""
    if isinstance(error, FitError):
        needed = getattr(error, "needed", None)
        known = {} if needed is None else {"needed": needed}
        return {"status": error.status, "message": str(error)} | known
    status = MemoryLimitError.status if isinstance(error, MemoryError) else "failed"
    return {
        "status": status,
        "message": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
    }


def _values(bench: Bench, cell: Cell) -> NDArray[np.float64]:
    """Return out-of-fold values for every point of a search."""
    split = bench.split(cell.trial)
    rows = split.X_unlabeled.take(slice(cell.n_unlabeled))
    estimator = bench.estimator(cell, common_part(cell.points))
    values = estimator.cv_decision_function(split.X[:], split.y, rows, split.folds, cell.points)
    return np.asarray(values)


def _fitted(bench: Bench, cell: Cell, point: Point) -> Any:
    """Return the fitted estimator of a grid point."""
    split = bench.split(cell.trial)
    rows = split.X_unlabeled.take(slice(cell.n_unlabeled))
    return bench.estimator(cell, point).fit(split.X[:], split.y, rows)


def _search(bench: Bench, cell: Cell, clock: Clock) -> Record:
    """Score every point of the share by cross-validation on the labelled rows."""
    with clock.phase("search"):
        values = _values(bench, cell)
    split = bench.split(cell.trial)
    return {"points": list(cell.points), "fold_scores": fold_scores(values, split.y, split.folds)}


def _fit(bench: Bench, task: Task, point: Point, clock: Clock) -> Record:
    """Time one fit and score it on all unlabelled rows, and on the official test rows."""
    split = bench.split(task.cell.trial)
    trained = task.training / task.flops
    with clock.phase("fit"), progress.part(0, trained):
        estimator = _fitted(bench, task.cell, point)
    memory = peak_memory()
    n_test = 0 if split.X_test is None else len(split.X_test)
    tested = trained + (1 - trained) * n_test / (n_test + len(split.y_unlabeled))
    with clock.phase("predict"):
        with progress.part(trained, tested):
            test_values = estimator.decision_function(split.X_test) if n_test else None
        with progress.part(tested, 1):
            values = estimator.decision_function(split.X_unlabeled)
    with clock.phase("evaluate"):
        scores = {
            "auc": _auc(split.y_unlabeled, values),
            "test_auc": None if test_values is None else _auc(split.y_test, test_values),
        }
    return {
        "full": task.cell.n_unlabeled == len(split.y_unlabeled),
        "estimator": _resolved(estimator),
        "peak_memory": memory,
        **scores,
    }


def _resolved(estimator: Any) -> Record:
    """Return every parameter of a fitted estimator, and the numbers it found by itself."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    numbers = {k: v for k, v in fitted.items() if isinstance(v, int | float)}
    return {**estimator.get_params(), **numbers}


def _auc(y: Any, values: Any) -> float | None:
    """Return the AUC; None where the rows hold one class only."""
    return auc(y, values) if len(np.unique(y)) == 2 else None

"""Running one cell: from its description to its record."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsgkit import __version__
from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import Dataset
from dsgkit.data.protocols import SemiSupervisedSplit, semi_supervised_split
from dsgkit.errors import FitError
from dsgkit.experiment.measure import Clock, peak_memory, reset_peak_memory
from dsgkit.experiment.plan import Cell, Point, Task, solver_info, solver_label
from dsgkit.experiment.selection import fold_scores
from dsgkit.experiment.store import Record
from dsgkit.metrics import auc
from dsgkit.sampling import derive_seed

CLASS_PROPORTION = "class_proportion"
"""In a config, the value of a parameter that is the share of positives in the training set."""

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

    def warm_up(self, cell: Cell, run: Callable[[Any], object]) -> None:
        """Run once on a few unlabelled rows, so that nothing is compiled while a clock runs."""
        kind = (cell.solver, cell.kind)
        if kind in self._warm:
            return
        with contextlib.suppress(FitError):  # a few rows need not have a solution
            run(self.split(cell.trial).X_unlabeled[:_WARM_UP_ROWS])
        self._warm.add(kind)


def run_cell(bench: Bench, cell: Cell, key: str, chosen: Point | None = None) -> Record:
    """Run a cell and return its record; what goes wrong is part of the record.

    Parameters
    ----------
    bench : Bench
    cell : Cell
    key : str
        Its identity.
    chosen : dict, optional
        Grid point of a fit.
    """
    clock = Clock()
    record = _header(bench.experiment, cell, key)
    run = _search if cell.kind == "search" else _fit
    try:
        record |= run(bench, cell, chosen or {}, clock)
    except Exception as error:
        record |= _failure(error)
    times = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    return {"times": times, "peak_memory": peak_memory()} | record


def failed_record(experiment: Experiment, task: Task, error: Exception) -> Record:
    """Return the record of a cell that could not be run."""
    return _header(experiment, task.cell, task.key) | _failure(error)


def _header(experiment: Experiment, cell: Cell, key: str) -> Record:
    return {
        "key": key,
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
        return {"status": error.status, "message": str(error)}
    return {
        "status": "failed",
        "message": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
    }


def _search(bench: Bench, cell: Cell, _: Point, clock: Clock) -> Record:
    """Score every point of the share by cross-validation on the labelled rows."""
    with clock.phase("load"):
        split = bench.split(cell.trial)
        X, X_unlabeled = split.X[:], split.X_unlabeled.take(slice(cell.n_unlabeled))
    axis = solver_info(bench.experiment, cell.solver).batch_axis
    shared = {axis: cell.points[0][axis]} if axis in cell.points[0] else {}
    estimator = bench.estimator(cell, shared)

    def values(rows: Any, points: tuple[Point, ...]) -> Any:
        return estimator.cv_decision_function(X, split.y, rows, split.folds, points)

    with clock.phase("compile"):
        bench.warm_up(cell, lambda rows: values(rows, cell.points[:2]))
    reset_peak_memory()
    with clock.phase("search"):
        scores = fold_scores(values(X_unlabeled, cell.points), split.y, split.folds)
    return {"points": list(cell.points), "fold_scores": scores}


def _fit(bench: Bench, cell: Cell, point: Point, clock: Clock) -> Record:
    """Time one fit and score it on all unlabelled rows, and on the official test rows."""
    with clock.phase("load"):
        split = bench.split(cell.trial)
        X, X_unlabeled = split.X[:], split.X_unlabeled.take(slice(cell.n_unlabeled))
    estimator = bench.estimator(cell, point)
    with clock.phase("compile"):
        bench.warm_up(cell, lambda rows: bench.estimator(cell, point).fit(X, split.y, rows))
    reset_peak_memory()
    with clock.phase("fit"):
        estimator.fit(X, split.y, X_unlabeled)
    memory = peak_memory()
    with clock.phase("predict"):
        values = estimator.decision_function(split.X_unlabeled)
        test_values = None if split.X_test is None else estimator.decision_function(split.X_test)
    with clock.phase("evaluate"):
        scores = {
            "auc": _auc(split.y_unlabeled, values),
            "test_auc": None if test_values is None else _auc(split.y_test, test_values),
        }
    return {
        "params": point,
        "full": cell.n_unlabeled == len(split.y_unlabeled),
        "peak_memory": memory,
        **scores,
    }


def _auc(y: Any, values: Any) -> float | None:
    """Return the AUC; None where the rows hold one class only."""
    return auc(y, values) if len(np.unique(y)) == 2 else None

"""The plan of an experiment: the cells it consists of, and what identifies each."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dsgkit.config.schema import Experiment, SolverSpec
from dsgkit.data.datasets import Dataset
from dsgkit.solvers import registry

IDENTITY_VERSION = 1
"""Part of every cell's identity; raised when a change makes earlier results incomparable."""

Point = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """The smallest unit of work that is recorded.

    Attributes
    ----------
    kind : {"search", "fit"}
        A share of a hyper-parameter search (one value of the solver's batch axis), or one timed
        fit with the chosen hyper-parameters.
    solver : str
        Key in ``experiment.solvers``.
    trial : int
    n_unlabeled : int
        Unlabelled rows used.
    points : tuple of dict
        The grid points of a search's share; all points of the grid for a fit, which is made
        with the best of them.
    """

    kind: Literal["search", "fit"]
    solver: str
    trial: int
    n_unlabeled: int
    points: tuple[Point, ...]

    def key(self, experiment: Experiment, content_hash: str) -> str:
        """Return the hash of everything that determines the result, and of nothing else."""
        spec = experiment.solvers[self.solver]
        protocol = experiment.protocol
        identity = {
            "version": IDENTITY_VERSION,
            "kind": self.kind,
            "dataset": content_hash,
            "protocol": [protocol.kind, protocol.labeled, list(protocol.scale), protocol.metric],
            "folds": protocol.folds,
            "seed": experiment.seed,
            "trial": self.trial,
            "solver": spec.kind or self.solver,
            "params": spec.params,
            "points": list(self.points),
            "n_unlabeled": self.n_unlabeled,
            "search_unlabeled": spec.search_unlabeled if self.kind == "fit" else None,
        }
        text = json.dumps(identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Task:
    """A cell of the plan, with its identity and an estimate of its cost.

    Attributes
    ----------
    cell : Cell
    key : str
    flops : float
        Floating-point operations, about.
    memory : int
        Bytes that the solver allocates, as it predicts.
    """

    cell: Cell
    key: str
    flops: float
    memory: int


def solver_info(experiment: Experiment, solver: str) -> registry.SolverInfo:
    """Return the registry's entry for a solver of an experiment."""
    return registry.get(experiment.solvers[solver].kind or solver)


def solver_label(experiment: Experiment, solver: str) -> str:
    """Return the name that tables and figures print."""
    return experiment.solvers[solver].label or solver_info(experiment, solver).label


def grid_points(spec: SolverSpec) -> list[Point]:
    """Return every combination of the grid's values."""
    names = list(spec.grid)
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*spec.grid.values())
    ]


def sweep_sizes(experiment: Experiment, n_available: int) -> list[int]:
    """Return the sweep's numbers of unlabelled rows that exist in the data, ascending."""
    sizes = {n_available if size == "all" else size for size in experiment.sweep.unlabeled}
    return sorted(size for size in sizes if size <= n_available)


def search_size(spec: SolverSpec, n_available: int) -> int:
    """Return the number of unlabelled rows that the hyper-parameter search uses."""
    if spec.search_unlabeled == "all":
        return n_available
    return min(spec.search_unlabeled, n_available)


def make_plan(experiment: Experiment, dataset: Dataset) -> list[Task]:
    """Return all cells of an experiment, trial by trial, each solver's searches before its fits.

    Parameters
    ----------
    experiment : Experiment
    dataset : Dataset
    """
    n_available = len(dataset.y) - experiment.protocol.labeled
    return [
        _task(experiment, dataset, cell)
        for trial in range(experiment.protocol.trials)
        for solver in experiment.solvers
        for cell in (
            *_searches(experiment, solver, trial, n_available),
            *_fits(experiment, solver, trial, n_available),
        )
    ]


def _task(experiment: Experiment, dataset: Dataset, cell: Cell) -> Task:
    spec, info = experiment.solvers[cell.solver], solver_info(experiment, cell.solver)
    known = {name: value for name, value in spec.params.items() if not isinstance(value, str)}
    estimator = info.load()(**known)
    searching = cell.kind == "search"
    n_models = len(cell.points) * experiment.protocol.folds if searching else 1
    size = experiment.protocol.labeled, cell.n_unlabeled, dataset.n_features
    return Task(
        cell,
        cell.key(experiment, dataset.content_hash),
        estimator.flops(*size, n_models=n_models),
        estimator.memory_needed(*size, n_models=n_models),
    )


def _searches(experiment: Experiment, solver: str, trial: int, n_available: int) -> Iterator[Cell]:
    spec = experiment.solvers[solver]
    points = grid_points(spec)
    if len(points) < 2:
        return
    axis = solver_info(experiment, solver).batch_axis
    shares: dict[Any, list[Point]] = {}
    for point in points:
        shares.setdefault(point.get(axis), []).append(point)
    for share in shares.values():
        yield Cell("search", solver, trial, search_size(spec, n_available), tuple(share))


def _fits(experiment: Experiment, solver: str, trial: int, n_available: int) -> Iterator[Cell]:
    spec = experiment.solvers[solver]
    points = tuple(grid_points(spec))
    for size in sweep_sizes(experiment, n_available):
        if spec.max_unlabeled is None or size <= spec.max_unlabeled:
            yield Cell("fit", solver, trial, size, points)

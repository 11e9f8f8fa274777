"""The plan of an experiment: the cells it consists of, and what identifies each."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dsgkit.config.schema import Experiment, SolverSpec
from dsgkit.data.datasets import Dataset
from dsgkit.errors import ConfigError, DataError, DsgError
from dsgkit.experiment.protocols import PROTOCOLS, Cost, Size
from dsgkit.origin import one_line
from dsgkit.random.stream import VERSION as STREAM_VERSION
from dsgkit.solvers import catalogue
from dsgkit.solvers.info import SolverInfo
from dsgkit.tasks.splits import check_split

IDENTITY_VERSION = 1
"""Part of every cell's identity; raised when a change makes earlier results incomparable."""

CLASS_PROPORTION = "class_proportion"
"""In a config, the value of a parameter that is the share of positives in the training set."""

Point = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """The smallest unit of work that is recorded.

    Attributes
    ----------
    kind : {"search", "fit"}
        A share of a hyper-parameter search (grid points that the solver trains in one pass), or
        one timed fit with the chosen hyper-parameters.
    solver : str
        Key in ``experiment.solvers``.
    trial : int
    n_unlabeled : int
        Unlabelled rows used.
    points : tuple of dict
        The grid points of a search's share; all points of the grid for a fit, which is made
        with the best of them.
    n_searched : int or None
        Unlabelled rows that the search for a fit uses.
    earlier : tuple of dict
        The grid points of a search before, of which the best is set when the cell runs.
    """

    kind: Literal["search", "fit"]
    solver: str
    trial: int
    n_unlabeled: int
    points: tuple[Point, ...]
    n_searched: int | None = None
    earlier: tuple[Point, ...] = ()

    def key(self, experiment: Experiment, content_hash: str) -> str:
        """Return the hash of everything that determines the result, and of nothing else."""
        spec = experiment.solvers[self.solver]
        protocol = experiment.protocol
        identity: dict[str, Any] = {
            "versions": [IDENTITY_VERSION, STREAM_VERSION],
            "kind": self.kind,
            "dataset": content_hash,
            "protocol": [protocol.kind, protocol.labeled, list(protocol.scale)],
            "seed": experiment.seed,
            "trial": self.trial,
            "solver": [spec.kind, catalogue.get(spec.kind).version],
            "params": self._fixed_params(spec),
            "points": list(self.points),
            "earlier": list(self.earlier),
            "n_unlabeled": self.n_unlabeled,
        }
        if len(self.points) > 1 or self.earlier:  # then cross-validation has a part in the result
            identity["search"] = [
                protocol.folds,
                protocol.metric,
                self.n_searched,
            ]
        text = json.dumps(identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _fixed_params(self, spec: SolverSpec) -> Point:
        """Return what the points do not set: the config's parameters over the defaults."""
        params = {**catalogue.get(spec.kind).load()().get_params(), **spec.params}
        searched = {*self.points[0], *(self.earlier[0] if self.earlier else ())}
        return {name: params[name] for name in params if name not in searched}


@dataclass(frozen=True)
class Task:
    """A cell of the plan, with its identity and an estimate of its cost.

    Attributes
    ----------
    cell : Cell
    key : str
    training, scoring : float
        Floating-point operations of training and of prediction for the scores, about.
    memory : int
        Bytes that the solver allocates, as it predicts.
    needs : tuple of str
        Keys of the searches that this cell's parameters are chosen from.
    """

    cell: Cell
    key: str
    training: float
    scoring: float
    memory: int
    needs: tuple[str, ...] = ()

    @property
    def flops(self) -> float:
        """All floating-point operations, about."""
        return self.training + self.scoring


def solver_info(experiment: Experiment, solver: str) -> SolverInfo:
    """Return what is known of a solver of an experiment."""
    return catalogue.get(experiment.solvers[solver].kind)


def solver_label(experiment: Experiment, solver: str) -> str:
    """Return the name that tables and figures print."""
    return experiment.solvers[solver].label


def grid_points(grid: Mapping[str, Sequence[Any]]) -> tuple[Point, ...]:
    """Return every combination of a grid's values, in an order that the config does not set."""
    names = sorted(grid)
    values = (sorted(grid[name], key=_number_or_text) for name in names)
    return tuple(dict(zip(names, point, strict=True)) for point in itertools.product(*values))


def _number_or_text(value: Any) -> tuple[bool, Any]:
    """Return a sorting key for values of either kind; None counts as text."""
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


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

    Raises
    ------
    DataError
        If the dataset has too few rows for the protocol or for every sweep point.
    """
    protocol = experiment.protocol
    check_split(dataset, protocol.labeled, protocol.folds)
    n_available = len(dataset.y) - protocol.labeled
    if not sweep_sizes(experiment, n_available):
        raise DataError(
            f"dataset {dataset.name}: no point of sweep.unlabeled is within its {n_available:,} "
            "unlabelled rows; add `all`"
        )
    return [
        task
        for trial in range(protocol.trials)
        for solver in experiment.solvers
        for task in _tasks(experiment, dataset, solver, trial, n_available)
    ]


def _tasks(
    experiment: Experiment, dataset: Dataset, solver: str, trial: int, n_available: int
) -> list[Task]:
    """Return a solver's searches and fits of one trial; no search without a fit."""
    spec = experiment.solvers[solver]
    sizes = _fit_sizes(experiment, spec, n_available)
    if not sizes:
        return []
    searched = search_size(spec, n_available)
    tasks: list[Task] = []
    needs: tuple[str, ...] = ()
    earlier: tuple[Point, ...] = ()
    points = grid_points(spec.grid)
    for later in (spec.then, None):
        if len(points) > 1:
            shares = _shares(points, solver_info(experiment, solver).batched)
            cells = [
                Cell("search", solver, trial, searched, share, earlier=earlier) for share in shares
            ]
            found = [_task(experiment, dataset, cell, needs) for cell in cells]
            tasks += found
            needs = tuple(task.key for task in found)
        if not later:
            break
        earlier, points = points, grid_points(later)
    fits = [Cell("fit", solver, trial, size, points, searched, earlier) for size in sizes]
    return [*tasks, *(_task(experiment, dataset, cell, needs) for cell in fits)]


def _fit_sizes(experiment: Experiment, spec: SolverSpec, n_available: int) -> list[int]:
    most = n_available if spec.max_unlabeled is None else spec.max_unlabeled
    return [size for size in sweep_sizes(experiment, n_available) if size <= most]


def _shares(points: Sequence[Point], batched: Sequence[str]) -> list[tuple[Point, ...]]:
    """Cut grid points into those that the solver trains in one pass."""
    shares: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        rest = tuple(value for name, value in point.items() if name not in batched)
        shares.setdefault(rest, []).append(point)
    return [tuple(share) for share in shares.values()]


def _task(experiment: Experiment, dataset: Dataset, cell: Cell, needs: tuple[str, ...]) -> Task:
    try:
        cost = _cost(experiment, dataset, cell)
        key = cell.key(experiment, dataset.content_hash)
    except DsgError:
        raise
    except Exception as error:  # of a class of one's own
        kind = experiment.solvers[cell.solver].kind
        raise ConfigError(f"planning {kind} raises {one_line(error)}") from error
    return Task(cell, key, cost.training, cost.scoring, cost.memory, needs)


def _cost(experiment: Experiment, dataset: Dataset, cell: Cell) -> Cost:
    """Return what a cell takes, by the solver's own predictions."""
    spec, info = experiment.solvers[cell.solver], solver_info(experiment, cell.solver)
    # of the grid only what all points have in common matters for the cost
    searched = {**(common_part(cell.earlier) if cell.earlier else {}), **common_part(cell.points)}
    params = {**spec.params, **searched}
    estimator = info.load()(**{k: v for k, v in params.items() if v != CLASS_PROPORTION})
    rows = experiment.protocol.labeled, cell.n_unlabeled, dataset.n_features
    if cell.kind == "search":
        size = Size(*rows, len(cell.points), experiment.protocol.folds)
        return PROTOCOLS[experiment.protocol.kind].cost(estimator, size)
    n_scored = len(dataset.y) + (0 if dataset.y_test is None else len(dataset.y_test))
    return Cost(
        estimator.flops(*rows),
        estimator.predict_flops(n_scored, *rows),
        estimator.memory_needed(*rows),
    )


def common_part(points: Sequence[Point]) -> Point:
    """Return the parameters on which all points agree."""
    first = points[0]
    return {name: first[name] for name in first if all(p[name] == first[name] for p in points)}

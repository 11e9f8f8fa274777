"""The plan of an experiment: the cells it consists of, and what identifies each."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dsgkit.config.schema import Experiment, SolverSpec
from dsgkit.data.datasets import Dataset
from dsgkit.data.protocols import check_split
from dsgkit.errors import ConfigError, DataError, DsgError
from dsgkit.features.stream import VERSION as STREAM_VERSION
from dsgkit.origin import one_line
from dsgkit.solvers import registry
from dsgkit.solvers.info import SolverInfo

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
    """

    kind: Literal["search", "fit"]
    solver: str
    trial: int
    n_unlabeled: int
    points: tuple[Point, ...]
    n_searched: int | None = None

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
            "solver": [spec.kind, registry.get(spec.kind).version],
            "params": self._fixed_params(spec),
            "points": list(self.points),
            "n_unlabeled": self.n_unlabeled,
        }
        if len(self.points) > 1:  # then cross-validation has a part in the result
            identity["search"] = [
                protocol.folds,
                protocol.metric,
                self.n_searched,
            ]
        text = json.dumps(identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _fixed_params(self, spec: SolverSpec) -> Point:
        """Return what the points do not set: the config's parameters over the defaults."""
        params = {**registry.get(spec.kind).load()().get_params(), **spec.params}
        return {name: params[name] for name in params if name not in self.points[0]}


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
    """

    cell: Cell
    key: str
    training: float
    scoring: float
    memory: int

    @property
    def flops(self) -> float:
        """All floating-point operations, about."""
        return self.training + self.scoring


def solver_info(experiment: Experiment, solver: str) -> SolverInfo:
    """Return what is known of a solver of an experiment."""
    return registry.get(experiment.solvers[solver].kind)


def solver_label(experiment: Experiment, solver: str) -> str:
    """Return the name that tables and figures print."""
    return experiment.solvers[solver].label


def grid_points(spec: SolverSpec) -> list[Point]:
    """Return every combination of the grid's values, in an order that the config does not set."""
    names = sorted(spec.grid)
    values = (sorted(spec.grid[name], key=_number_or_text) for name in names)
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*values)]


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
        _task(experiment, dataset, cell)
        for trial in range(protocol.trials)
        for solver in experiment.solvers
        for cell in _cells(experiment, solver, trial, n_available)
    ]


def _cells(experiment: Experiment, solver: str, trial: int, n_available: int) -> list[Cell]:
    """Return a solver's searches and fits of one trial; no search without a fit."""
    fits = list(_fits(experiment, solver, trial, n_available))
    return [*_searches(experiment, solver, trial, n_available), *fits] if fits else []


def _task(experiment: Experiment, dataset: Dataset, cell: Cell) -> Task:
    try:
        return _estimated(experiment, dataset, cell)
    except DsgError:
        raise
    except Exception as error:  # of a class of one's own
        kind = experiment.solvers[cell.solver].kind
        raise ConfigError(f"planning {kind} raises {one_line(error)}") from error


def _estimated(experiment: Experiment, dataset: Dataset, cell: Cell) -> Task:
    """Return a cell with the solver's own predictions of what it takes."""
    spec, info = experiment.solvers[cell.solver], solver_info(experiment, cell.solver)
    # of the grid only what the points of a share have in common matters for the cost
    params = {**spec.params, **common_part(cell.points)}
    estimator = info.load()(**{k: v for k, v in params.items() if v != CLASS_PROPORTION})
    n_models = len(cell.points) * experiment.protocol.folds if cell.kind == "search" else 1
    size = experiment.protocol.labeled, cell.n_unlabeled, dataset.n_features
    n_scored = len(dataset.y) + (0 if dataset.y_test is None else len(dataset.y_test))
    scoring = estimator.predict_flops(n_scored, *size) if cell.kind == "fit" else 0.0
    return Task(
        cell,
        cell.key(experiment, dataset.content_hash),
        estimator.flops(*size, n_models=n_models),
        scoring,
        estimator.memory_needed(*size, n_models=n_models),
    )


def common_part(points: Sequence[Point]) -> Point:
    """Return the parameters on which all points agree."""
    first = points[0]
    return {name: first[name] for name in first if all(p[name] == first[name] for p in points)}


def _searches(experiment: Experiment, solver: str, trial: int, n_available: int) -> Iterator[Cell]:
    spec = experiment.solvers[solver]
    points = grid_points(spec)
    if len(points) < 2:
        return
    batched = solver_info(experiment, solver).batched
    shares: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        rest = tuple(value for name, value in point.items() if name not in batched)
        shares.setdefault(rest, []).append(point)
    for share in shares.values():
        yield Cell("search", solver, trial, search_size(spec, n_available), tuple(share))


def _fits(experiment: Experiment, solver: str, trial: int, n_available: int) -> Iterator[Cell]:
    spec = experiment.solvers[solver]
    points = tuple(grid_points(spec))
    searched = search_size(spec, n_available)
    for size in sweep_sizes(experiment, n_available):
        if spec.max_unlabeled is None or size <= spec.max_unlabeled:
            yield Cell("fit", solver, trial, size, points, searched)

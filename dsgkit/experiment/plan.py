"""The plan of an experiment: its cells, their keys, predicted costs and chosen parameters."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dsgkit.config.schema import Experiment, SolverSpec
from dsgkit.costs import MILLISECOND, UNSTATED, Pace
from dsgkit.data.dataset import Dataset
from dsgkit.errors import ConfigError, DataError, FitError
from dsgkit.estimators import catalogue as solvers
from dsgkit.estimators.catalogue import SolverInfo
from dsgkit.experiment.store import Record
from dsgkit.seeds import STREAM_VERSION, derive_seed
from dsgkit.tasks.base import At, Task, depends_on
from dsgkit.tasks.measures import Axis, Measure
from dsgkit.user_code import calling, version_of

IDENTITY_VERSION = 2  # in every key; raised when a change makes earlier results incomparable
SEARCHING_PREFIX = "while searching: "  # of messages of cells whose search has no result
LIMIT_ENTRIES = ("needed", "limit", "timeout")  # of records of a limit that was met: bytes, seconds

Point = dict[str, Any]
Points = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """The smallest unit with a record: a timed fit, or points of a search, trained in one pass."""

    key: str  # hash of all that determines the result
    kind: Literal["search", "fit"]
    solver: str
    trial: int
    at: At  # sizes used, by axis
    flops: float = 0.0  # predicted operations
    judging: float = 0.0  # those of them after the training, which is what a fit repeats
    # smaller sizes on the swept axis at which a fit's result holds, too; not part of the key
    also_at: tuple[int, ...] = ()
    memory: int = 0  # predicted peak bytes
    # the grid points of each search stage up to this cell; the last of a search are its share's
    stages: tuple[Points, ...] = ()
    needs: tuple[str, ...] = ()  # keys of the searches that this cell's parameters are chosen from
    coordinate: str = ""  # parameter whose numbers a search chooses one at a time, if any

    @property
    def points(self) -> Points:
        """The points that a search scores, or that the last stage before a fit chooses from."""
        return self.stages[-1]

    def sizes(self, axis: Axis | None) -> tuple[int, ...]:
        """Return the sizes on a swept axis at which the result holds, its own first."""
        return (self.at[axis.name], *self.also_at) if axis else (0,)


class LeftOut(NamedTuple):
    """Sizes at which a config leaves a solver out (``at_most``)."""

    solver: str
    at: At


class TooLarge(NamedTuple):
    """Sizes of a sweep that exceed the data, the most that the data allow, and if that is swept."""

    sizes: tuple[int, ...]
    most: int
    taken: bool

    def text(self, axis: Axis | None) -> str:
        name, title = (axis.name, axis.title.lower()) if axis else ("", "")
        sizes = ", ".join(f"{size:,}" for size in self.sizes)
        advice = "" if self.taken else "; `all` takes them"
        return f"{name}: {sizes} left out: there are only {self.most:,} {title}{advice}"


class Plan(NamedTuple):
    """The cells of an experiment, and the points of its sweep without cells."""

    cells: list[Cell]
    left_out: list[LeftOut]
    too_large: list[TooLarge]


def solver_info(experiment: Experiment, solver: str) -> SolverInfo:
    return solvers.get(experiment.solvers[solver].kind)


def make_trial(experiment: Experiment, dataset: Dataset, number: int) -> Task:
    seed = derive_seed(experiment.seed, "split", number)
    return experiment.task(dataset, experiment.drawn, seed)


def make_plan(experiment: Experiment, dataset: Dataset) -> Plan:
    """Return the cells of all trials in order, each solver's searches before its fits.

    `DataError` is raised for too few rows, and `ConfigError` for parameters that do not go together
    and for user-defined classes that fail.
    """
    # trials of the package's own tasks differ in their rows, never in the number of rows
    differ = ":" in experiment.protocol.kind
    plan = Plan([], [], [])
    planner: _Planner | None = None
    versions = json.dumps([IDENTITY_VERSION, STREAM_VERSION])
    for number in range(experiment.protocol.trials):
        if planner is None or differ:
            with calling(f"planning {experiment.protocol.kind}"):
                trial = make_trial(experiment, dataset, number)
            if planner is None or trial.sizes != planner.trial.sizes:
                planner = _Planner(experiment, dataset, trial, plan)
        keys: dict[str, str] = {}
        for cell, identity in planner.cells:
            # the names in an identity are sorted, and these two come last
            whole = f'{identity[:-1]}, "trial": {number}, "versions": {versions}}}'
            keys[cell.key] = key = hashlib.sha256(whole.encode()).hexdigest()[:32]
            needs = tuple(keys[needed] for needed in cell.needs)
            plan.cells.append(replace(cell, key=key, trial=number, needs=needs))
    return plan


class _Planner:
    """Plans the cells of a trial, each beside the JSON without trial whose hash is its key."""

    def __init__(self, experiment: Experiment, dataset: Dataset, trial: Task, plan: Plan) -> None:
        self.experiment, self.dataset, self.trial = experiment, dataset, trial
        self.cells: list[tuple[Cell, str]] = []
        sizes, axis = dict(trial.sizes), experiment.axis
        points = [sizes]
        if axis is not None:
            swept = experiment.sweep[axis.name]
            most = sizes.get(axis.name, math.inf)  # without: the trial draws as many as it needs
            asked = {sizes[axis.name] if size == "all" else size for size in swept}
            if beyond := sorted(size for size in asked if size > most):
                taken = most in swept or "all" in swept
                too_large = TooLarge(tuple(beyond), sizes[axis.name], taken)
                plan.too_large.extend({too_large}.difference(plan.too_large))
            points = [{**sizes, axis.name: size} for size in sorted(asked) if size <= most]
            if not points:
                raise dataset.error(
                    f"no point of sweep.{axis.name} is within its "
                    f"{most:,} {axis.title.lower()}; add `all`"
                )
        drawn = (axis.name for axis in experiment.task.axes if axis.drawn)
        fixed = {name: getattr(experiment.protocol, name) for name in drawn}
        for key, spec in experiment.solvers.items():
            bounds = spec.at_most.items()
            fits_at = [at for at in points if all({**fixed, **at}[a] <= n for a, n in bounds)]
            left_out = [LeftOut(key, at) for at in points if at not in fits_at]
            plan.left_out.extend(one for one in left_out if one not in plan.left_out)
            if fits_at:
                with calling(f"planning {spec.kind}"):
                    self._add_solver(key, spec, fits_at)

    def _add_solver(self, key: str, spec: SolverSpec, fits_at: Sequence[At]) -> None:
        stages = tuple(grid_points(stage.choices) for stage in spec.search) or (({},),)
        first = {name: value for points in stages for name, value in points[0].items()}
        check = getattr(self._estimator(spec, first), "_check_params", None)
        try:
            if check is not None:  # user-defined classes may lack it
                check()
        except DataError as error:
            raise ConfigError(f"solvers.{key}: {error}") from None
        axis = self.experiment.axis
        also_at: tuple[int, ...] = ()
        if axis is not None and (arrays := self.trial.grows.get(axis.name)) is not None:
            each = (self._estimator(spec, {**first, **p}) for points in stages for p in points)
            if not any(depends_on(estimator, arrays) for estimator in each):
                also_at = tuple(at[axis.name] for at in fits_at[:-1])
                fits_at = fits_at[-1:]
        own = dict(self.trial.sizes)
        limits = {a: n for a, n in spec.search_at.items() if n != "all" and a in own}
        own |= {axis: min(size, own[axis]) for axis, size in limits.items()}
        searches: dict[tuple[int, ...], tuple[str, ...]] = {}  # by their sizes: fits share them
        for at in fits_at:
            search_at = {name: own.get(name, size) for name, size in at.items()}
            sizes = tuple(search_at.values())
            if sizes not in searches:
                needs: tuple[str, ...] = ()
                for number, points in enumerate(stages):
                    if len(points) > 1:
                        upto = [(*stages[:number], one) for one in _shares(points, spec, number)]
                        shares = [
                            self._add("search", key, search_at, search_at, each, needs)
                            for each in upto
                        ]
                        needs = tuple(shares)
                searches[sizes] = needs
            self._add("fit", key, at, search_at, stages, searches[sizes], also_at)

    def _estimator(self, spec: SolverSpec, chosen: Point) -> Any:
        """Return an estimator with parameters; words, numbers of a later trial, are left out."""
        params, words = {**spec.params, **chosen}, self.experiment.task.words
        numeric = {name: value for name, value in params.items() if value not in words}
        return solvers.get(spec.kind).load()(**numeric)

    def _add(
        self,
        kind: Literal["search", "fit"],
        solver: str,
        at: At,
        search_at: At,
        stages: tuple[Points, ...],
        needs: tuple[str, ...],
        also_at: tuple[int, ...] = (),
    ) -> str:
        """Add a cell with its predicted cost, and return its key."""
        spec, coordinate, times = self.experiment.solvers[solver], "", 1
        if kind == "search" and spec.search[len(stages) - 1].coordinates:
            coordinate = next(iter(stages[-1][0]))
            times = self.trial.counts(at)[solvers.get(spec.kind).parameters[coordinate].one_per]
        # only parameters that all points of a grid share matter for the cost
        common = {name: v for points in stages for name, v in common_part(points).items()}
        estimator = self._estimator(spec, common)
        if kind == "fit":
            work = self.trial.fit_work(estimator, at)
        else:
            work = self.trial.search_work(estimator, at, len(stages[-1]))
        pace = getattr(type(estimator), "pace", None)
        if not isinstance(pace, Pace):  # not a class of the package
            pace = Pace() if hasattr(estimator, "cost") else UNSTATED
        n_models = times * work.n_models
        training = times * pace.training * work.training + n_models * pace.per_model * MILLISECOND
        if isinstance(most := getattr(estimator, "max_seconds", None), int | float):
            training = min(training, n_models * most * 1000 * MILLISECOND)
        judging = times * pace.scoring * work.scoring + times * work.measuring
        flops = training + judging
        if not (0 <= flops < math.inf and 0 <= work.memory < math.inf):
            raise ConfigError(
                f"solvers.{solver}: its cost() comes to {flops:g} operations and {work.memory:g} "
                "bytes; both must be finite and not negative"
            )
        cell = Cell(
            *(str(len(self.cells)), kind, solver, 0, at, flops, judging, also_at, work.memory),
            *(stages, needs, coordinate),
        )
        self.cells.append((cell, self._identity(kind, spec, at, search_at, stages)))
        return cell.key

    def _identity(
        self, kind: str, spec: SolverSpec, at: At, search_at: At, stages: tuple[Points, ...]
    ) -> str:
        """Return all that determines a cell's result, and nothing else, but for its trial."""
        protocol, info = self.experiment.drawn, solvers.get(spec.kind)
        fields = type(protocol).model_fields
        unsaid = {n for n in protocol.unsaid if getattr(protocol, n) == fields[n].default}
        settings = protocol.model_dump(mode="json", exclude={"trials", *unsaid})
        for_search = {name: settings.pop(name) for name in protocol.only_for_search}
        by_coordinates = [n for n, s in enumerate(spec.search[: len(stages)]) if s.coordinates]
        # a later stage's parameters have the config's values, else defaults, in the first search;
        # so have those that are searched one number at a time, which start from them
        searched = () if 0 in by_coordinates else stages[0][0]
        fixed = {
            name: value
            for name, value in {**info.load()().get_params(), **spec.params}.items()
            if name not in searched
            and not (name in info.parameters and info.parameters[name].is_legacy_default(value))
        }
        identity: dict[str, Any] = {
            "kind": kind,
            "dataset": self.dataset.identity,
            "task": version_of(self.experiment.task),
            "protocol": settings,
            "seed": self.experiment.seed,
            "solver": [spec.kind, info.version],
            "params": fixed,
            "stages": stages,
            "at": at,
        }
        if kind == "search" or len(stages[-1]) > 1:
            identity["search"] = [for_search, search_at]
        if by_coordinates:
            identity["by_coordinates"] = by_coordinates
        return json.dumps(identity, sort_keys=True)


def grid_points(grid: Mapping[str, Sequence[Any]]) -> Points:
    """Return every combination of a grid's values, in an order independent of the config's."""
    names = sorted(grid)
    values = [
        sorted(grid[name], key=lambda v: (0, v) if isinstance(v, int | float) else (1, str(v)))
        for name in names
    ]
    return tuple(dict(zip(names, point, strict=True)) for point in itertools.product(*values))


def common_part(points: Sequence[Point]) -> Point:
    """Return the parameters that have the same value in all points."""
    return {n: v for n, v in points[0].items() if all(point[n] == v for point in points)}


def _shares(points: Points, spec: SolverSpec, stage: int) -> list[Points]:
    """Split the grid points of a stage into shares that the solver trains in one pass."""
    if spec.search[stage].coordinates:
        return [points]
    batched = solvers.get(spec.kind).batched
    shares: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        rest = tuple(value for name, value in point.items() if name not in batched)
        shares.setdefault(rest, []).append(point)
    return [tuple(share) for share in shares.values()]


def choosing_measure(experiment: Experiment) -> Measure:
    name = experiment.protocol.chooses or experiment.task.chooses
    return next(measure for measure in experiment.task.measures if measure.name == name)


def choose(experiment: Experiment, cell: Cell, searches: Sequence[Record]) -> Point:
    """Return a cell's parameters, by its searches; a search without a result raises `FitError`."""
    if not searches:
        return {} if cell.kind == "search" else dict(cell.points[0])
    for record in searches:
        if record["status"] != "ok":
            # a search that failed due to an earlier one has the prefix already
            error = FitError(SEARCHING_PREFIX + record["message"].removeprefix(SEARCHING_PREFIX))
            error.status = record["status"]
            vars(error).update({name: record.get(name) for name in LIMIT_ENTRIES})
            raise error
    points = [point for record in searches for point in record["points"]]
    scores = [score for record in searches for score in record["fold_scores"]]
    best = best_point(experiment, cell.solver, points, scores)
    if best is None:
        raise FitError("no point of the grid has finite values on every fold")
    # all shares have the same parameters from earlier stages
    return {**(searches[0].get("params") or {}), **best[0]}


def best_point(
    experiment: Experiment,
    solver: str,
    points: Sequence[Point],
    scores: Sequence[Sequence[float | None]],
) -> tuple[Point, float] | None:
    """Return the point with the best mean of its scores on all folds, and that mean, if any.

    Folds without a score for any point are ignored; a point that lacks another has no solution
    there, and cannot be chosen. Among equal scores the smoothest function wins (by the solver's
    parameters whose ``larger`` or ``smaller`` values are, the most important first), then the first
    point.
    """
    smoother = solver_info(experiment, solver).smoother
    sign = 1 if choosing_measure(experiment).better == "higher" else -1
    counting = [k for k, fold in enumerate(zip(*scores, strict=True)) if {*fold} != {None}]
    best: tuple[Any, Point, float] | None = None
    for point, folds in zip(points, scores, strict=True):
        counted = [score for k in counting if (score := folds[k]) is not None]
        if not counted or len(counted) < len(counting):
            continue
        mean = float(np.mean(counted))
        numbers = {k: v for k, v in point.items() if isinstance(v, int | float)}  # no words
        smoothness = [
            numbers.get(name, 0.0) * (1 if side == "larger" else -1)
            for name, side in smoother.items()
        ]
        # smaller differences are rounding errors
        rank = round(sign * mean, 9), *smoothness
        if best is None or rank > best[0]:
            best = rank, point, mean
    return best and best[1:]

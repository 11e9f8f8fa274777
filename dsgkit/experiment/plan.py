"""The plan of an experiment: its cells, their identities and their costs."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from dsgkit.config.schema import Experiment
from dsgkit.config.solvers import SolverSpec
from dsgkit.config.spec import LARGEST_NUMBER
from dsgkit.data.dataset import Dataset
from dsgkit.errors import ConfigError, DataError, spelled
from dsgkit.experiment.description import describe
from dsgkit.numerics.costs import MILLISECOND, UNSTATED, Pace
from dsgkit.random import STREAM_VERSION
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers import catalogue as solvers
from dsgkit.solvers.catalogue import SolverInfo
from dsgkit.tasks import base as tasks
from dsgkit.tasks.base import At, Task, Work
from dsgkit.tasks.measures import Description
from dsgkit.text.groups import grouped
from dsgkit.users_code.own import code_of, is_import_path, is_own, modules_of
from dsgkit.users_code.rehearsal import rehearse, users_code

IDENTITY_VERSION = 2
"""Part of every cell's identity; raised when a change makes earlier results incomparable."""

Point = dict[str, Any]
Points = tuple[Point, ...]

_UNKNOWN = Work(0.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
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
    at : mapping
        Sizes used, by axis.
    stages : tuple of tuple of dict
        The grid points of each search stage up to this cell. The last stage of a search holds the
        points of its share; a fit uses the points that all stages chose.
    search_at : mapping
        Sizes at which hyper-parameters are chosen; for a search, those of the cell itself.
    key : str
        Hash of all that determines the result.
    work : Work
        Estimated operations and memory.
    needs : tuple of str
        Keys of the searches that this cell's parameters are chosen from.
    by_coordinates : tuple of int
        Stages that search a parameter of several numbers one number at a time, each among the
        points.
    code : str or None
        Hash of the code of the planning process. Not part of the key.
    also_at : tuple of int
        Smaller sizes on the swept axis at which the result of a fit holds, too, because the model
        does not depend on them. Not part of the key.
    """

    kind: Literal["search", "fit"]
    solver: str
    trial: int
    at: At
    stages: tuple[Points, ...]
    search_at: At
    key: str = ""
    work: Work = _UNKNOWN
    needs: tuple[str, ...] = ()
    by_coordinates: tuple[int, ...] = ()
    code: str | None = None
    also_at: tuple[int, ...] = ()

    @property
    def points(self) -> Points:
        """The points that a search scores, or that the last stage before a fit chooses from."""
        return self.stages[-1]

    @property
    def searched(self) -> bool:
        """Whether the result depends on a search."""
        return self.kind == "search" or len(self.points) > 1

    @property
    def coordinate(self) -> str:
        """The parameter whose numbers are searched one at a time; empty if there is none."""
        last = len(self.stages) - 1
        named = self.kind == "search" and last in self.by_coordinates
        return next(iter(self.points[0])) if named else ""

    @property
    def flops(self) -> float:
        """Approximate floating-point operations."""
        return self.work.training + self.work.scoring + self.work.measuring


class LeftOut(NamedTuple):
    """Sizes at which a config leaves a solver out (``at_most``)."""

    solver: str
    at: At


class TooLarge(NamedTuple):
    """Sizes of a sweep that exceed the data.

    Attributes
    ----------
    sizes : tuple of int
    most : int
        The largest size that the data allow.
    taken : bool
        Whether the sweep includes ``most``.
    """

    sizes: tuple[int, ...]
    most: int
    taken: bool


class Plan(NamedTuple):
    """The cells of an experiment, and the points of its sweep without cells.

    Attributes
    ----------
    cells : list of Cell
    left_out : list of LeftOut
        Points that the config leaves out.
    too_large : list of TooLarge
        Sizes that exceed the data; several entries only if trials differ in their number of rows.
    """

    cells: list[Cell]
    left_out: list[LeftOut]
    too_large: list[TooLarge]


def solver_info(experiment: Experiment, solver: str) -> SolverInfo:
    """Return the catalogue's entry of a solver of an experiment."""
    return solvers.get(experiment.solvers[solver].kind)


def solver_code(experiment: Experiment, solver: str) -> str:
    """Return a hash of the code that a solver and the task of an experiment depend on."""
    kind = experiment.protocol.kind
    task = modules_of(experiment.task, tasks.TASKS.get(kind, kind))
    return code_of((*solver_info(experiment, solver).modules, *task))


def make_trial(experiment: Experiment, dataset: Dataset, trial: int) -> Task:
    """Return a trial of an experiment by its number."""
    seed = derive_seed(experiment.seed, "split", trial)
    return experiment.task(dataset, experiment.drawn, seed)


def make_plan(experiment: Experiment, dataset: Dataset) -> list[Cell]:
    """Return the cells of `whole_plan`."""
    return whole_plan(experiment, dataset).cells


def whole_plan(experiment: Experiment, dataset: Dataset) -> Plan:
    """Return all cells of an experiment, trial by trial, each solver's searches before its fits.

    Raises
    ------
    DataError
        If the dataset has too few rows for the protocol or for every sweep point.
    ConfigError
        If a user-defined class fails while planning.
    """
    kinds = [experiment.protocol.kind, *(spec.kind for spec in experiment.solvers.values())]
    if own := dict.fromkeys(filter(is_own, kinds)):
        rehearse(_planning(*own), lambda: (described(experiment), _drafted(experiment, dataset)))
    drafted = _drafted(experiment, dataset)
    codes = {solver: solver_code(experiment, solver) for solver in experiment.solvers}
    trials = enumerate(drafted)
    cells = [cell for number, drafts in trials for cell in _cells(drafts.cells, number, codes)]
    left_out = {str(point): point for drafts in drafted for point in drafts.left_out}
    too_large = dict.fromkeys(drafts.too_large for drafts in drafted)
    return Plan(cells, list(left_out.values()), [sizes for sizes in too_large if sizes])


def described(experiment: Experiment) -> Description:
    """Return the description of an experiment's task for its results folder.

    Raises
    ------
    ConfigError
        If a user-defined task fails to describe itself.
    """
    with users_code(_planning(experiment.protocol.kind)):
        return describe(experiment)


def _drafted(experiment: Experiment, dataset: Dataset) -> list[_Drafts]:
    """Return the drafts of every trial's cells: the part of planning that runs user code."""
    kind = experiment.protocol.kind
    # trials of the package's own tasks differ in their rows, never in the number of rows
    differ = is_import_path(kind)
    trials = experiment.protocol.trials
    known: dict[tuple[tuple[str, int], ...], _Drafts] = {}
    drafted = []
    for number in range(trials if differ else 1):
        with users_code(_planning(kind)):
            trial = make_trial(experiment, dataset, number)
        sizes = tuple(trial.sizes.items())
        if sizes not in known:
            known[sizes] = _TrialPlan(experiment, dataset, trial).drafts()
        drafted.append(known[sizes])
    return drafted if differ else drafted * trials


class _Identity(NamedTuple):
    """A cell key's hash, with the trial number left open."""

    begun: hashlib._Hash
    after: str

    def key(self, trial: int) -> str:
        """Return the key of the cell in a trial."""
        whole = self.begun.copy()
        whole.update(f"{trial}{self.after}".encode())
        return whole.hexdigest()[:32]


class _Draft(NamedTuple):
    """A cell without its trial number, for all trials of the same sizes.

    Attributes
    ----------
    cell : Cell
        Without ``key`` and ``needs``, which depend on the trial.
    identity : _Identity
        For the key.
    needs : tuple of int
        Positions of the searches that it depends on, among all drafts.
    """

    cell: Cell
    identity: _Identity
    needs: tuple[int, ...]


class _Drafts(NamedTuple):
    """The drafts of a trial's cells, and the points of the sweep without cells."""

    cells: list[_Draft]
    left_out: list[LeftOut]
    too_large: TooLarge | None


def _cells(drafts: Sequence[_Draft], trial: int, codes: Mapping[str, str]) -> Iterator[Cell]:
    """Yield the cells of a trial."""
    keys: list[str] = []
    needs: dict[tuple[int, ...], tuple[str, ...]] = {}
    for cell, identity, positions in drafts:
        keys.append(identity.key(trial))
        if positions not in needs:
            needs[positions] = tuple(keys[position] for position in positions)
        # `replace` takes three times as long
        yield Cell(
            cell.kind,
            cell.solver,
            trial,
            cell.at,
            cell.stages,
            cell.search_at,
            keys[-1],
            cell.work,
            needs[positions],
            cell.by_coordinates,
            codes[cell.solver],
            cell.also_at,
        )


def _planning(*kinds: str) -> str:
    """Return a description of planning these classes, for messages."""
    return f"planning {' and '.join(kinds)}"


def sweep_points(experiment: Experiment, sizes: At) -> list[At]:
    """Return the sizes of every sweep point that a trial has, ascending."""
    axis = next(iter(experiment.sweep), None)
    if axis is None:
        return [dict(sizes)]
    most = sizes.get(axis, math.inf)  # unbounded: the trial draws as many as the sweep needs
    points = {sizes[axis] if size == "all" else size for size in experiment.sweep[axis]}
    return [{**sizes, axis: size} for size in sorted(points) if size <= most]


def too_large(experiment: Experiment, sizes: At) -> TooLarge | None:
    """Return the sizes of the sweep that exceed a trial's; None if there are none."""
    axis = next(iter(experiment.sweep), None)
    if axis is None or axis not in sizes:
        return None
    most, swept = sizes[axis], experiment.sweep[axis]
    beyond = sorted({size for size in swept if size != "all" and size > most})
    return TooLarge(tuple(beyond), most, most in swept or "all" in swept) if beyond else None


def grid_points(grid: Mapping[str, Sequence[Any]]) -> Points:
    """Return every combination of a grid's values, in an order independent of the config's."""
    names = sorted(grid)
    values = (sorted(grid[name], key=_number_or_text) for name in names)
    return tuple(dict(zip(names, point, strict=True)) for point in itertools.product(*values))


def _number_or_text(value: Any) -> tuple[bool, Any]:
    """Return a sorting key for numbers and texts; None counts as text."""
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


def common_part(points: Sequence[Point]) -> Point:
    """Return the parameters that have the same value in all points."""
    first = points[0]
    return {name: first[name] for name in first if all(p[name] == first[name] for p in points)}


class _TrialPlan:
    """Plans the cells of a trial, which are those of all trials of its sizes."""

    def __init__(self, experiment: Experiment, dataset: Dataset, trial: Task) -> None:
        self._experiment = experiment
        self._dataset = dataset
        self._trial = trial
        self._sweep = sweep_points(experiment, trial.sizes)
        drawn = (axis.name for axis in experiment.task.axes if axis.drawn)
        self._drawn = {name: getattr(experiment.protocol, name) for name in drawn}
        self._drafts: list[_Draft] = []
        self._defaults: dict[str, Point] = {}
        if not self._sweep:
            axis = experiment.axis
            assert axis is not None
            raise DataError(
                f"dataset {dataset.name}: no point of sweep.{axis.name} is within its "
                f"{trial.sizes[axis.name]:,} {axis.title.lower()}; add `all`"
            )

    def drafts(self) -> _Drafts:
        """Return the searches and fits of every solver; solvers without fits have no searches."""
        left_out: list[LeftOut] = []
        for solver, spec in self._experiment.solvers.items():
            within = [at for at in self._sweep if _within({**self._drawn, **at}, spec)]
            left_out += [LeftOut(solver, at) for at in self._sweep if at not in within]
            if within:
                with users_code(_planning(spec.kind)):
                    self._solver(solver, spec, within)
        return _Drafts(self._drafts, left_out, too_large(self._experiment, self._trial.sizes))

    def _solver(self, solver: str, spec: SolverSpec, fits_at: Sequence[At]) -> None:
        """Plan the searches and the fits of a solver at some sizes."""
        stages = tuple(map(grid_points, spec.grids)) or (({},),)
        self._check_combination(solver, spec, stages)
        if self._depends_on_size(solver, spec, stages):
            self._sizes(solver, spec, stages, fits_at)
        else:
            self._group(solver, spec, stages, fits_at[-1:], also_at=fits_at[:-1])

    def _sizes(
        self, solver: str, spec: SolverSpec, stages: tuple[Points, ...], fits_at: Sequence[At]
    ) -> None:
        """Plan a fit at every size; fits whose searches have the same sizes share a search."""
        by_search = grouped(fits_at, lambda at: tuple(self._search_at(spec, at).values()))
        for group in by_search.values():
            self._group(solver, spec, stages, group)

    def _depends_on_size(self, solver: str, spec: SolverSpec, stages: tuple[Points, ...]) -> bool:
        """Return whether a solver's model depends on the swept axis at any point of its grid."""
        axis = next(iter(self._experiment.sweep), None)
        if axis is None or len(self._sweep) == 1:
            return True
        first = {name: value for points in stages for name, value in points[0].items()}
        return any(
            self._trial.depends_on(self._estimator(solver, spec, {**first, **point}), axis)
            for points in stages
            for point in points
        )

    def _group(
        self,
        solver: str,
        spec: SolverSpec,
        stages: tuple[Points, ...],
        fits_at: Sequence[At],
        also_at: Sequence[At] = (),
    ) -> None:
        """Plan a search and the fits that use it; their results may hold at further sizes."""
        search_at = self._search_at(spec, fits_at[0])
        needs: tuple[int, ...] = ()
        for number, points in enumerate(stages):
            if len(points) > 1:
                by_coordinates = bool(spec.search[number].coordinates)
                batched = solver_info(self._experiment, solver).batched
                shares = [points] if by_coordinates else _shares(points, batched)
                needs = tuple(
                    self._draft("search", solver, search_at, (*stages[:number], share), spec, needs)
                    for share in shares
                )
        axis = next(iter(self._experiment.sweep), None)
        sizes = tuple(at[axis] for at in also_at) if axis else ()
        for at in fits_at:
            self._draft("fit", solver, at, stages, spec, needs, sizes)

    def _check_combination(self, solver: str, spec: SolverSpec, stages: tuple[Points, ...]) -> None:
        """Raise `ConfigError` if parameters are valid alone, but not in combination."""
        chosen = {name: value for points in stages for name, value in points[0].items()}
        check = getattr(self._estimator(solver, spec, chosen), "_check_params", None)
        try:
            if check is not None:  # user-defined classes may lack it
                check()
        except DataError as error:
            raise ConfigError(f"solvers.{solver}: {error}") from None

    def _estimator(self, solver: str, spec: SolverSpec, chosen: Point) -> Any:
        """Return an estimator with the config's and the chosen parameters.

        Words, which stand for numbers of a trial, are left out.
        """
        params, words = {**spec.params, **chosen}, self._experiment.task.words
        numeric = {name: value for name, value in params.items() if value not in words}
        return solver_info(self._experiment, solver).load()(**numeric)

    def _search_at(self, spec: SolverSpec, at: At) -> At:
        """Return the sizes of the search for a fit at some sizes."""
        sizes = self._trial.sizes
        wanted = {axis: spec.search_at.get(axis, "all") for axis in sizes}
        possible = {a: sizes[a] if n == "all" else min(n, sizes[a]) for a, n in wanted.items()}
        return {axis: possible.get(axis, size) for axis, size in at.items()}

    def _draft(
        self,
        kind: Literal["search", "fit"],
        solver: str,
        at: At,
        stages: tuple[Points, ...],
        spec: SolverSpec,
        needs: tuple[int, ...],
        also_at: tuple[int, ...] = (),
    ) -> int:
        """Plan a cell and return its position among the drafts."""
        by_coordinates = tuple(n for n, stage in enumerate(spec.search) if stage.coordinates)
        cell = Cell(
            kind,
            solver,
            0,
            at,
            stages,
            self._search_at(spec, at),
            by_coordinates=tuple(n for n in by_coordinates if n < len(stages)),
            also_at=also_at,
        )
        work = self._work(cell, spec)
        _check_work(work, solver)
        if solver not in self._defaults:  # scikit-learn inspects a constructor every time
            self._defaults[solver] = _defaults(spec)
        identity = _identity(cell, self._experiment, self._dataset, self._defaults[solver])
        self._drafts.append(_Draft(replace(cell, work=work), identity, needs))
        return len(self._drafts) - 1

    def _work(self, cell: Cell, spec: SolverSpec) -> Work:
        """Return the operations and memory of a cell, as its solver predicts them."""
        # only parameters that all points of a grid share matter for the cost
        common = {name: v for points in cell.stages for name, v in common_part(points).items()}
        estimator = self._estimator(cell.solver, spec, common)
        if cell.kind == "fit":
            return _at_pace(self._trial.fit_work(estimator, cell.at), estimator)
        work = self._trial.search_work(estimator, cell.at, len(cell.points))
        times = 1
        if cell.coordinate:
            counted = solver_info(self._experiment, cell.solver).parameters[cell.coordinate]
            times = self._trial.counts(cell.at)[counted.one_per]
        return _at_pace(work, estimator, times)


def _at_pace(work: Work, estimator: Any, times: int = 1) -> Work:
    """Return a cell's work at the pace of its estimator, capped by its ``max_seconds``."""
    pace = getattr(type(estimator), "pace", None)
    if not isinstance(pace, Pace):  # not a class of the package
        pace = Pace() if hasattr(estimator, "cost") else UNSTATED
    n_models = times * work.n_models
    training = times * pace.training * work.training + n_models * pace.per_model * MILLISECOND
    if isinstance(most := getattr(estimator, "max_seconds", None), int | float):
        training = min(training, n_models * most * 1000 * MILLISECOND)
    scoring = times * pace.scoring * work.scoring
    return Work(training, scoring, work.memory, n_models, times * work.measuring)


def _check_work(work: Work, solver: str) -> None:
    """Raise `ConfigError` for amounts outside the bounds of a plan's records."""
    amounts = {"flops": work.training + work.scoring + work.measuring, "memory": work.memory}
    for name, value in amounts.items():
        if not 0 <= value <= LARGEST_NUMBER:
            raise ConfigError(
                f"solvers.{solver}: its cost() comes to {name} of {spelled(value)}; "
                f"they must be between 0 and {LARGEST_NUMBER:g}"
            )


def _within(at: At, spec: SolverSpec) -> bool:
    return all(at[axis] <= most for axis, most in spec.at_most.items())


def _shares(points: Sequence[Point], batched: Sequence[str]) -> list[Points]:
    """Split grid points into shares that the solver trains in one pass."""

    def rest(point: Point) -> tuple[Any, ...]:
        return tuple(value for name, value in point.items() if name not in batched)

    return [tuple(share) for share in grouped(points, rest).values()]


def cell_key(cell: Cell, experiment: Experiment, dataset: Dataset) -> str:
    """Return the hash of everything that determines a cell's result, and of nothing else."""
    defaults = _defaults(experiment.solvers[cell.solver])
    return _identity(cell, experiment, dataset, defaults).key(cell.trial)


def _identity(cell: Cell, experiment: Experiment, dataset: Dataset, defaults: Point) -> _Identity:
    """Return the identity of a cell: JSON, cut where the trial number goes."""
    spec, protocol = experiment.solvers[cell.solver], experiment.drawn
    fields = type(protocol).model_fields
    unsaid = {n for n in protocol.unsaid if getattr(protocol, n) == fields[n].default}
    settings = protocol.model_dump(mode="json", exclude={"trials", *unsaid})
    for_search = {name: settings.pop(name) for name in protocol.only_for_search}
    identity: dict[str, Any] = {
        "kind": cell.kind,
        "dataset": dataset.identity,
        "task": tasks.version(protocol.kind),
        "protocol": settings,
        "seed": experiment.seed,
        "solver": [spec.kind, solvers.get(spec.kind).version],
        "params": _fixed_params(cell, spec, defaults),
        "stages": cell.stages,
        "at": cell.at,
    }
    if cell.searched:
        identity["search"] = [for_search, cell.search_at]
    if cell.by_coordinates:
        identity["by_coordinates"] = cell.by_coordinates
    text = json.dumps(identity, sort_keys=True)
    # the keys are sorted, and these two come last
    versions = json.dumps([IDENTITY_VERSION, STREAM_VERSION])
    begun = hashlib.sha256(f'{text[:-1]}, "trial": '.encode())
    return _Identity(begun, f', "versions": {versions}}}')


def _defaults(spec: SolverSpec) -> Point:
    """Return the default parameters of a solver."""
    return dict(solvers.get(spec.kind).load()().get_params())


def _fixed_params(cell: Cell, spec: SolverSpec, defaults: Point) -> Point:
    """Return the parameters that the first search does not set: the config's, else defaults.

    They include parameters of later stages, which have these values during the first search, and
    numbers that are searched one at a time, which start from them.
    """
    info = solvers.get(spec.kind)
    declared = info.parameters
    params = {**defaults, **spec.params}
    searched = () if 0 in cell.by_coordinates else cell.stages[0][0]
    return {
        name: value
        for name, value in params.items()
        if name not in searched
        and not (name in declared and declared[name].is_legacy_default(value))
    }

"""The solvers of a config, validated by the parameters that their classes declare."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from dsgkit.config.bounds import (
    MAX_GRID_POINTS,
    MAX_GRID_VALUES,
    MAX_SOLVERS,
)
from dsgkit.config.ranges import parse_number, parse_values
from dsgkit.errors import ConfigError, did_you_mean, nearest_or_all, spelled
from dsgkit.solvers import catalogue
from dsgkit.tasks import base as tasks
from dsgkit.tasks.base import HIDDEN, ProtocolSpec, Task
from dsgkit.tasks.measures import Axis
from dsgkit.text.labels import why_no_label
from dsgkit.text.specs import LARGEST_INTEGER, LONGEST_NAME, Spec, problem
from dsgkit.users_code.own import import_path_of, is_import_path

if TYPE_CHECKING:
    from dsgkit.solvers.parameters import Parameter


def _label(value: str) -> str:
    if not value:
        raise problem("must hold at least one character")
    if why := why_no_label(value):
        raise problem(f"{why}, got {spelled(value)}")
    return value


Scalar = float | int | str | bool | tuple[float, ...] | None
Size = int | Literal["all"]


class Stage(Spec):
    """One stage of the search for a solver's hyper-parameters.

    Attributes
    ----------
    grid : dict
        Parameters, each with the values to choose from; parameters of earlier stages keep the
        values chosen there.
    coordinates : dict
        Instead of a grid: one parameter of several numbers, which are chosen one at a time from
        these values.
    """

    grid: dict[str, list[Any]] = Field(default_factory=dict)
    coordinates: dict[str, list[Any]] = Field(default_factory=dict)

    @property
    def choices(self) -> dict[str, list[Any]]:
        """The values of every searched parameter."""
        return self.grid or self.coordinates


class SolverSpec(Spec):
    """One solver of the comparison.

    Attributes
    ----------
    kind : str
        A name of `dsgkit.solvers.catalogue`, which in a config defaults to the solver's key, or the
        import path ``module:class`` of a user-defined class.
    label : str
        The name in tables and figures; defaults to the solver's label, or the name of the class.
    params : dict
        Fixed parameters, and values of later stages' parameters until their stage.
    search : tuple of Stage
        The stages of the search for hyper-parameters, in order. In a config ``grid: {...}`` is
        short for a search of one stage.
    search_at : dict
        Sizes of the search, by axis; all rows by default.
    at_most : dict
        Largest sizes, by axis; larger fits are left out.
    against : str or None
        The key of another solver to compare with, trial by trial, in the output ``gain_table``.
        No result depends on it. If no solver of a config states it, solvers that learn from more
        than labelled rows are compared with the first that does not.
    """

    kind: str
    label: Annotated[str, AfterValidator(_label)]
    params: dict[str, Any] = Field(default_factory=dict)
    search: Annotated[tuple[Stage, ...], Field(strict=False)] = ()
    search_at: dict[str, Size] = Field(default_factory=dict)
    at_most: dict[str, int] = Field(default_factory=dict)
    against: str | None = None

    @property
    def grids(self) -> tuple[dict[str, list[Any]], ...]:
        """The values of every stage."""
        return tuple(stage.choices for stage in self.search)

    @property
    def shares(self) -> int:
        """Number of search cells: grid points that are trained in one pass share one."""
        batched = catalogue.get(self.kind).batched
        return sum(
            math.prod(len(values) for name, values in stage.grid.items() if name not in batched)
            for stage in self.search
            if stage.coordinates or any(len(values) > 1 for values in stage.grid.values())
        )


SOLVER_KEYS = (*SolverSpec.model_fields, "grid")
"""Keys of a solver's section in a config."""


def read_solvers(written: dict[str, Any], protocol: ProtocolSpec | None) -> dict[str, Any]:
    """Return the solvers of a config, with defaults filled in and values parsed.

    Parameters
    ----------
    written : dict
    protocol : ProtocolSpec or None
        None if the config's is not valid.

    Raises
    ------
    PydanticCustomError
        For settings that the solvers' classes or the task do not allow.
    """
    if len(written) > MAX_SOLVERS:
        raise problem(f"must hold at most {MAX_SOLVERS} solvers, got {len(written):,}")
    read = {}
    for key, solver in _with_defaults(written).items():
        with _at(key):
            read[key] = _read(solver, protocol) if isinstance(solver, dict) else solver
            if isinstance(solver, dict):
                _check_against(key, solver.get("against"), written)
    _check_extent(read)
    return read if protocol is None else _with_baseline(read, tasks.get(protocol.kind))


def _with_baseline(solvers: dict[str, Any], task: type[Task]) -> dict[str, Any]:
    """Compare solvers with the first that learns from labelled rows alone.

    Not if any solver states ``against``, even null. Solvers that are given hidden labels are
    neither compared nor the baseline.
    """
    valid = all(isinstance(s, dict) and isinstance(s["kind"], str) for s in solvers.values())
    if not valid or any("against" in solver for solver in solvers.values()):
        return solvers

    def takes(solver: dict[str, Any], *names: str) -> bool:
        return catalogue.get(solver["kind"]).learns_from(names, solver["params"])

    rivals = {key: solver for key, solver in solvers.items() if not takes(solver, HIDDEN)}
    more = [key for key, solver in rivals.items() if takes(solver, *task.extra)]
    baseline = next((key for key in rivals if key not in more), None)
    if baseline is None:
        return solvers
    return {
        key: {**solver, "against": baseline} if key in more else solver
        for key, solver in solvers.items()
    }


def _check_extent(solvers: Mapping[str, Any]) -> None:
    """Raise an error for grids above the bounds."""
    count = 0
    for key, solver in solvers.items():
        for stage in solver["search"] if isinstance(solver, dict) and "search" in solver else ():
            sizes = [len(values) for values in stage.choices.values()]
            count += sum(sizes)
            if math.prod(sizes) > MAX_GRID_POINTS:
                raise problem(
                    f"a grid of {math.prod(sizes):,} points; {MAX_GRID_POINTS:,} at most", key
                )
            if count > MAX_GRID_VALUES:
                raise problem(f"more than {MAX_GRID_VALUES:,} values in the grids up to here", key)


def _check_against(key: str, against: Any, solvers: Collection[str]) -> None:
    """Raise an error unless a solver is compared with nothing, or with another one."""
    if against is None:
        return
    if against == key:
        raise problem("is the solver itself; name another one", "against")
    others = [name for name in solvers if name != key]
    if against not in others:
        hint = nearest_or_all(str(against), others) if others else "; it is the only solver"
        raise problem(f"there is no solver {spelled(against)}{hint}", "against")


def _with_defaults(written: dict[str, Any]) -> dict[str, Any]:
    """Return the solvers of a config with default kinds and labels from their keys."""
    labels = Counter(_plain_label(key, solver) for key, solver in written.items())
    filled = {}
    for key, solver in written.items():
        if isinstance(solver, dict) and isinstance(key, str):
            kind, label = import_path_of(solver.get("kind", key)), _plain_label(key, solver)
            plain = labels[label] == 1 if is_import_path(str(kind)) else kind == key
            shown = label if plain else f"{label} ({key})"
            solver = {"label": shown, **solver, "kind": kind}
        filled[key] = solver
    return filled


def _plain_label(key: Any, solver: Any) -> str:
    """Return the label that a solver states, or the default one without its key."""
    settings = solver if isinstance(solver, dict) else {}
    kind = str(settings.get("kind", key))
    known = catalogue.SOLVERS.get(kind)
    return str(settings.get("label", known.label if known else kind.rpartition(":")[2] or kind))


def _read(solver: dict[str, Any], protocol: ProtocolSpec | None) -> dict[str, Any]:
    kind = solver["kind"]
    if not isinstance(kind, str):
        return solver
    info = _info(kind)
    task = tasks.get(protocol.kind) if protocol else None
    if task is not None:
        _check_suits(kind, info, task)
    values = _Values(kind, info.parameters, task.words if task else None)
    read = {name: value for name, value in solver.items() if name != "grid"}
    with _at("params"):
        read["params"] = values.params(_mapping(solver.get("params", {})))
    read["search"] = tuple(_stages(solver, values))
    axes = task.axes if task else None
    with _at("search_at"):
        read["search_at"] = _sizes(_mapping(solver.get("search_at", {})), axes, ("all",))
        for axis in axes or ():
            if axis.drawn and axis.name in read["search_at"]:
                raise problem("every fit is searched at its own number of them", axis.name)
    with _at("at_most"):
        read["at_most"] = _sizes(_mapping(solver.get("at_most", {})), axes, ())
    return read


def _check_suits(kind: str, info: catalogue.SolverInfo, task: type[Task]) -> None:
    """Raise an error unless a solver supports a task and has the methods that the task calls."""
    if not info.suits(task):
        raise problem(f"{kind} is for {' or '.join(info.tasks)}, not {task.kind}")
    try:
        info.check_for(task)
    except ConfigError as error:
        raise problem(str(error), "kind") from None


def _info(kind: str) -> catalogue.SolverInfo:
    if len(kind) > LONGEST_NAME:
        raise problem(f"must have at most {LONGEST_NAME} characters, got {spelled(kind)}", "kind")
    try:
        return catalogue.get(kind)
    except ConfigError as error:
        raise problem(str(error), "kind", cause=error.__cause__) from None


def _stages(solver: Mapping[str, Any], values: _Values) -> Iterator[Stage]:
    if solver.get("grid") is not None:
        if solver.get("search") is not None:
            raise problem("is short for a search of one stage, but there is `search` too", "grid")
        yield _stage(solver, values, solver.get("params", {}))
        return
    with _at("search"):
        stages = solver.get("search") or []
        if not isinstance(stages, list):
            raise problem(f"must be a list of stages, got {spelled(stages)}")
        for i, stage in enumerate(stages):
            with _at(i):
                for name in _mapping(stage):
                    if name not in Stage.model_fields:
                        hint = did_you_mean(str(name), Stage.model_fields)
                        raise problem(f"unknown key {spelled(name)}{hint}", name)
                # until its stage, a parameter may have a fixed value
                read = _stage(stage, values, {} if i else solver.get("params", {}))
                if len(stages) > 1 and all(len(given) == 1 for given in read.choices.values()):
                    raise problem("leaves nothing to choose")
            yield read


def _stage(stage: Mapping[str, Any], values: _Values, params: Collection[str]) -> Stage:
    if stage.get("coordinates"):
        if stage.get("grid"):
            raise problem("replaces a grid, but there is `grid` too", "coordinates")
        with _at("coordinates"):
            return Stage(coordinates=values.coordinates(_mapping(stage["coordinates"])))
    with _at("grid"):
        grid = values.grid(_mapping(stage.get("grid", {})))
        for name in grid:
            if name in params:
                raise problem(f"{name!r} is in params too; keep one of them", name)
    return Stage(grid=grid)


class _Values:
    """Parses values of a solver's parameters.

    Parameters
    ----------
    kind : str
        The solver.
    known : mapping
        The parameters that its class declares.
    words : collection of str or None
        Words for numbers that depend on the trial; None if the task is unknown.
    """

    def __init__(
        self, kind: str, known: Mapping[str, Parameter], words: Collection[str] | None
    ) -> None:
        self._kind = kind
        self._known = known
        self._words = words

    def params(self, written: Mapping[str, Any]) -> dict[str, Scalar]:
        """Return the parsed fixed parameters."""
        read = {}
        for name, value in written.items():
            with _at(name):
                read[name] = self._value(self._declared(name), value)
        return read

    def grid(self, written: Mapping[str, Any]) -> dict[str, list[Scalar]]:
        """Return the values to choose from, by parameter."""
        read = {}
        for name, entry in written.items():
            with _at(name):
                read[name] = self._choices(name, entry)
        return read

    def coordinates(self, written: Mapping[str, Any]) -> dict[str, list[Scalar]]:
        """Return the values to choose from for each number of one parameter."""
        if len(written) != 1:
            raise problem("takes one parameter at a time")
        (name,) = written
        read = self.grid(written)
        if not self._known[name].one_per:
            raise problem(f"{name!r} of {self._kind} is one number; use `grid`", name)
        for i, value in enumerate(read[name]):
            if not isinstance(value, int | float):
                raise problem(f"must be a number, got {spelled(value)}", name, i)
        return read

    def _choices(self, name: str, entry: Any) -> list[Scalar]:
        parameter = self._declared(name)
        try:
            values = parse_values(entry)
        except ValueError as error:
            raise problem(str(error)) from None
        checked = []
        for i, value in enumerate(values):
            with _at(*([i] if isinstance(entry, list) else [])):
                checked.append(self._value(parameter, value))
        if not checked:
            raise problem("must hold at least one value")
        if len(set(checked)) < len(checked):
            raise problem("holds a value twice")
        return checked

    def _declared(self, name: str) -> Parameter:
        if name not in self._known:
            hint = nearest_or_all(name, self._known) if self._known else ""
            raise problem(f"{self._kind} has no parameter {spelled(name)}{hint}")
        return self._known[name]

    def _value(self, parameter: Parameter, value: Any) -> Scalar:
        numeric = not parameter.types or {int, float} & set(parameter.types)
        if numeric and isinstance(value, str) and (self._words is None or value in self._words):
            return value
        try:
            number = [*map(parse_number, value)] if isinstance(value, list) else parse_number(value)
            parsed: Scalar = parameter.parse(number)
        except ValueError as error:
            raise problem(str(error)) from None
        return parsed


def _sizes(
    written: Mapping[str, Any], axes: Sequence[Axis] | None, words: tuple[str, ...]
) -> dict[str, Size]:
    known = None if axes is None else [axis.name for axis in axes]
    for axis, size in written.items():
        if known is not None and axis not in known:
            raise problem(f"unknown key {spelled(axis)}{did_you_mean(str(axis), known)}", axis)
        check_size(size, axis, words=words)
    return dict(written)


def check_size(value: Any, *at: str | int, words: tuple[str, ...] = ("all",)) -> None:
    """Raise an error at a place unless a value is a size or one of ``words``."""
    if isinstance(value, str) and value in words:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        wanted = " or ".join(["a whole number >= 1", *map(repr, words)])
        raise problem(f"must be {wanted}, got {spelled(value)}", *at)
    if value > LARGEST_INTEGER:
        raise problem(f"must be <= {LARGEST_INTEGER}, got {spelled(value)}", *at)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise problem(f"must be a mapping of keys to values, got {spelled(value)}")
    return value


@contextmanager
def _at(*place: str | int) -> Iterator[None]:
    """Prepend a place to the places of errors in the block."""
    try:
        yield
    except PydanticCustomError as error:
        context: dict[str, Any] = error.context or {}
        raise problem(context["text"], *place, *context["at"], cause=context["cause"]) from None

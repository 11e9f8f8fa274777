"""The solvers of a config, with values as their classes declare them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dsgkit.config.spec import (
    LONGEST_NAME,
    Count,
    Label,
    Problem,
    Size,
    Spec,
    at_key,
    check_key,
    mapping,
    validated,
)
from dsgkit.config.values import parse_number, parse_values
from dsgkit.errors import nearest_or_all, spelled
from dsgkit.solvers import catalogue
from dsgkit.tasks.base import HIDDEN, Task
from dsgkit.user_code import import_path_of, is_import_path

if TYPE_CHECKING:
    from dsgkit.solvers.parameters import Parameter


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
    label: Label
    params: dict[str, Any] = Field(default_factory=dict)
    search: Annotated[tuple[Stage, ...], Field(strict=False)] = ()
    search_at: dict[str, Size] = Field(default_factory=dict)
    at_most: dict[str, Count] = Field(default_factory=dict)
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


def read_solvers(written: Mapping[str, Any], task: type[Task]) -> dict[str, SolverSpec]:
    """Return the solvers of a config, with parsed values and all defaults.

    Raises
    ------
    Problem
        For settings that the solvers' classes or the task do not allow.
    """
    if not written:
        raise Problem("must hold at least one solver", "solvers")
    labels = _labels(written)
    specs = {key: _read(key, solver, labels[key], task) for key, solver in written.items()}
    for key, spec in specs.items():
        others = [other for other in specs if other != key]
        if spec.against is not None and spec.against not in others:
            hint = nearest_or_all(spec.against, others) if others else "; it is the only solver"
            text = f"there is no other solver {spelled(spec.against)}{hint}"
            raise Problem(text, "solvers", key, "against")
    if any("against" in solver for solver in written.values()):
        return specs
    baselines = _baselines(specs, task)
    return {
        key: spec.model_copy(update={"against": baselines.get(key)}) for key, spec in specs.items()
    }


def _baselines(specs: Mapping[str, SolverSpec], task: type[Task]) -> dict[str, str]:
    """Return the solver to compare with for each that learns from more than labelled rows.

    It is the first that learns from these alone. Solvers that are given hidden labels are neither
    compared nor the baseline.
    """

    def takes(spec: SolverSpec, *names: str) -> bool:
        return catalogue.get(spec.kind).learns_from(names, spec.params)

    rivals = {key: spec for key, spec in specs.items() if not takes(spec, HIDDEN)}
    more = [key for key, spec in rivals.items() if takes(spec, *task.extra)]
    alone = [key for key in rivals if key not in more]
    return dict.fromkeys(more, alone[0]) if alone else {}


def _labels(written: Mapping[str, Any]) -> dict[str, str]:
    """Return the solvers' labels; default ones that are not unique get the key added."""
    labels = {}
    for key, solver in written.items():
        if not re.fullmatch(r"\w[\w+-]*", key) or len(key) > LONGEST_NAME:
            text = f"a solver's key is made of up to {LONGEST_NAME} letters, digits, _, + and -"
            raise Problem(text, "solvers", key)
        kind = import_path_of(str(mapping(solver, "solvers", key).get("kind", key)))
        known = catalogue.SOLVERS.get(kind)
        label = known.label if known else kind.rpartition(":")[2]
        is_plain = kind == key or is_import_path(kind)
        labels[key] = str(solver.get("label", label if is_plain else f"{label} ({key})"))
    counts = Counter(labels.values())
    for key, label in labels.items():
        kind = str(written[key].get("kind", key))
        if counts[label] > 1 and "label" not in written[key] and is_import_path(kind):
            labels[key] = f"{label} ({key})"
    for key, label in labels.items():
        same = next(other for other in labels if labels[other] == label)
        if same != key:
            text = f"has the label of {spelled(same)}: {spelled(label)}"
            raise Problem(text, "solvers", key, "label")
    return labels


def _read(key: str, written: dict[str, Any], label: str, task: type[Task]) -> SolverSpec:
    """Return a solver's section with its values parsed as its class takes them."""
    at, kind = ("solvers", key), import_path_of(str(written.get("kind", key)))
    with at_key(*at, "kind"):
        info = catalogue.get(kind)
    if not info.suits(task):
        raise Problem(f"{kind} is for {' or '.join(info.tasks)}, not {task.kind}", *at)
    with at_key(*at, "kind"):
        info.check_for(task)
    values = _Values(kind, info.parameters, task.words)
    params = values.params(written.get("params", {}), *at, "params")
    stages: list[tuple[Any, str, tuple[str | int, ...]]] = []
    if "grid" in written:
        if "search" in written:
            text = "is short for a search of one stage, but there is `search` too"
            raise Problem(text, *at, "grid")
        stages.append((written["grid"] or {}, "grid", (*at, "grid")))
    else:
        stages.extend(_stages(written.get("search"), *at, "search"))
    search: list[Stage] = []
    for grid, part, place in stages:
        choices = values.choices(grid, *place)
        for name in choices.keys() & params.keys() if not search else ():
            # until a later stage, a parameter may have a fixed value
            raise Problem(f"{name!r} is in params too; keep one of them", *place, name)
        if part == "coordinates":
            values.check_coordinates(choices, *place)
        search.append(Stage.model_validate({part: choices}))
    for part in ("search_at", "at_most"):
        known = {axis.name: axis for axis in task.axes}
        for axis in mapping(written.get(part, {}), *at, part):
            check_key(axis, known, *at, part)
            if part == "search_at" and known[axis].drawn:
                why = "every fit is searched at its own number of them"
                raise Problem(why, *at, part, axis)
    plain = {name: value for name, value in written.items() if name != "grid"}
    read = {"kind": kind, "label": label, "params": params, "search": tuple(search)}
    return validated(SolverSpec, plain | read, *at)


def _stages(written: Any, *at: str) -> Iterator[tuple[Any, str, tuple[str | int, ...]]]:
    """Yield the grid, or the coordinates, of every stage, the name of that, and its place."""
    if not isinstance(written or [], list):
        raise Problem(f"must be a list of stages, got {spelled(written)}", *at)
    for i, stage in enumerate(written or []):
        filled = {part: grid for part, grid in mapping(stage, *at, i).items() if grid != {}}
        for part in filled:
            check_key(part, Stage.model_fields, *at, i)
        if len(filled) > 1:
            raise Problem("a stage has either a `grid` or `coordinates`", *at, i)
        part, grid = next(iter(filled.items()), ("grid", {}))
        yield grid, part, (*at, i, part)


@dataclass(frozen=True)
class _Values:
    """Parses the values of a solver's declared parameters; words stand for numbers of the trial."""

    kind: str
    known: Mapping[str, Parameter]
    words: Collection[str]

    def params(self, written: Any, *at: str | int) -> dict[str, Any]:
        """Return fixed values by parameter."""
        return {
            name: self._value(self._declared(name, *at), value, *at, name)
            for name, value in mapping(written, *at).items()
        }

    def choices(self, written: Any, *at: str | int) -> dict[str, list[Any]]:
        """Return the values to choose from by parameter."""
        read: dict[str, list[Any]] = {}
        for name, entry in mapping(written, *at).items():
            parameter = self._declared(name, *at)
            with at_key(*at, name):
                values = parse_values(entry)
            read[name] = [
                self._value(parameter, value, *at, name, i) for i, value in enumerate(values)
            ]
            if len(set(read[name])) != max(1, len(values)):
                raise Problem("must hold distinct values, at least one", *at, name)
        return read

    def check_coordinates(self, choices: Mapping[str, Any], *at: str | int) -> None:
        """Raise `Problem` unless the choices are those of one parameter of several numbers."""
        if len(choices) != 1:
            raise Problem("takes one parameter at a time", *at)
        for name in choices:
            if not self.known[name].one_per:
                raise Problem(f"{name!r} of {self.kind} is one number; use `grid`", *at, name)

    def _declared(self, name: str, *at: str | int) -> Parameter:
        if name not in self.known:
            hint = nearest_or_all(name, self.known) if self.known else ""
            raise Problem(f"{self.kind} has no parameter {spelled(name)}{hint}", *at, name)
        return self.known[name]

    def _value(self, parameter: Parameter, value: Any, *at: str | int) -> Any:
        numeric = not parameter.types or {int, float} & set(parameter.types)
        if numeric and isinstance(value, str) and value in self.words:
            return value
        with at_key(*at):
            number = [*map(parse_number, value)] if isinstance(value, list) else parse_number(value)
            return parameter.parse(number)

"""The solvers of a config, with values as their classes declare them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dsgkit.config.spec import (
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


def read_solvers(written: Mapping[str, Any], task: type[Task]) -> dict[str, SolverSpec]:
    """Return the solvers of a config with parsed values and all defaults, or raise `Problem`."""
    if not written:
        raise Problem("must hold at least one solver", "solvers")
    labels = _labels(written)
    specs = {key: _read(key, solver, labels[key], task) for key, solver in written.items()}
    for key, spec in specs.items():
        others = [other for other in specs if other != key]
        if spec.against is not None and spec.against not in others:
            hint = nearest_or_all(spec.against, others)
            text = f"there is no other solver {spelled(spec.against)}{hint}"
            raise Problem(text, "solvers", key, "against")
    if any("against" in solver for solver in written.values()):
        return specs

    def takes(spec: SolverSpec, *names: str) -> bool:
        return catalogue.get(spec.kind).learns_from(names, spec.params)

    # solvers that are given hidden labels are neither compared nor the baseline
    rivals = {key: spec for key, spec in specs.items() if not takes(spec, HIDDEN)}
    more = [key for key, spec in rivals.items() if takes(spec, *task.extra)]
    baseline = next((key for key in rivals if key not in more), None)
    return specs | {key: specs[key].model_copy(update={"against": baseline}) for key in more}


def _labels(written: Mapping[str, Any]) -> dict[str, str]:
    """Return the solvers' labels; default ones that are not unique get the key added."""
    kinds = {}
    for key, solver in written.items():
        if not re.fullmatch(r"\w[\w+-]{0,99}", key):
            text = "a solver's key is made of up to 100 letters, digits, _, + and -"
            raise Problem(text, "solvers", key)
        kinds[key] = import_path_of(str(mapping(solver, "solvers", key).get("kind", key)))
    names = {
        key: catalogue.SOLVERS[kind].label if kind in catalogue.SOLVERS else kind.rpartition(":")[2]
        for key, kind in kinds.items()
    }
    counts = Counter(str(written[key].get("label", name)) for key, name in names.items())
    labels: dict[str, str] = {}
    for key, name in names.items():
        own = is_import_path(kinds[key])
        is_plain = counts[name] == 1 if own else kinds[key] == key
        label = str(written[key].get("label", name if is_plain else f"{name} ({key})"))
        if label in labels.values():
            raise Problem(f"another solver is called {spelled(label)}", "solvers", key, "label")
        labels[key] = label
    return labels


def _read(key: str, written: dict[str, Any], label: str, task: type[Task]) -> SolverSpec:
    """Return a solver's section with its values parsed as its class takes them."""
    at, kind = ("solvers", key), import_path_of(str(written.get("kind", key)))
    with at_key(*at, "kind"):
        info = catalogue.get(kind)
        if not info.suits(task):
            raise Problem(f"{kind} is for {' or '.join(info.tasks)}, not {task.kind}", *at)
        info.check_for(task)
    known = info.parameters

    def value_of(parameter: Parameter, value: Any, *at: str | int) -> Any:
        numeric = not parameter.types or {int, float} & set(parameter.types)
        if numeric and isinstance(value, str) and value in task.words:
            return value
        with at_key(*at):
            return parameter.parse(parse_number(value))

    params = {}
    for name, value in mapping(written.get("params", {}), *at, "params").items():
        check_key(name, known, *at, "params")
        params[name] = value_of(known[name], value, *at, "params", name)
    search: list[Stage] = []
    for part, grid, place in _stages(written, *at):
        choices: dict[str, list[Any]] = {}
        for name, entry in mapping(grid, *place).items():
            check_key(name, known, *place)
            with at_key(*place, name):
                values = enumerate(parse_values(entry))
            choices[name] = [value_of(known[name], value, *place, name, i) for i, value in values]
            if not choices[name] or len(set(choices[name])) < len(choices[name]):
                raise Problem("must hold distinct values, at least one", *place, name)
            if not search and name in params:  # until a later stage, it may have a fixed value
                raise Problem(f"{name!r} is in params too; keep one of them", *place, name)
        if part == "coordinates" and [bool(known[name].one_per) for name in choices] != [True]:
            raise Problem("takes one parameter, which holds several numbers; use `grid`", *place)
        search.append(Stage.model_validate({part: choices}))
    axes = {axis.name: axis for axis in task.axes}
    for part in ("search_at", "at_most"):
        for axis in mapping(written.get(part, {}), *at, part):
            check_key(axis, axes, *at, part)
            if part == "search_at" and axes[axis].drawn:
                raise Problem("every fit is searched at its own number of them", *at, part, axis)
    plain = {name: value for name, value in written.items() if name != "grid"}
    read = {"kind": kind, "label": label, "params": params, "search": tuple(search)}
    return validated(SolverSpec, plain | read, *at)


def _stages(
    written: Mapping[str, Any], *at: str
) -> Iterator[tuple[str, Any, tuple[str | int, ...]]]:
    """Yield whether a stage has a ``grid`` or ``coordinates``, what it holds, and its place."""
    search = written.get("search") or []
    if "grid" in written:
        if "search" in written:
            raise Problem("is short for a `search` of one stage; keep one of them", *at, "grid")
        yield "grid", written["grid"] or {}, (*at, "grid")
    if not isinstance(search, list):
        raise Problem(f"must be a list of stages, got {spelled(search)}", *at, "search")
    for i, stage in enumerate(search):
        place: tuple[str | int, ...] = (*at, "search", i)
        filled = {part: grid for part, grid in mapping(stage, *place).items() if grid != {}}
        for part in filled:
            check_key(part, Stage.model_fields, *place)
        if len(filled) > 1:
            raise Problem("a stage has either a `grid` or `coordinates`", *place)
        part, grid = next(iter(filled.items()), ("grid", {}))
        yield part, grid, (*place, part)

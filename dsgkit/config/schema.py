"""An experiment: the shapes of its sections, then the checks that need the task and the solvers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, SerializeAsAny

from dsgkit.config.load import resolve
from dsgkit.config.spec import (
    Count,
    FolderName,
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
from dsgkit.config.yaml import dump, read_document
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.data.spec import resolve as resolve_dataset
from dsgkit.errors import nearest_or_all, spelled
from dsgkit.solvers import catalogue as solvers
from dsgkit.tasks import base as tasks
from dsgkit.tasks.base import HIDDEN, ProtocolSpec, Task
from dsgkit.tasks.measures import GAINS, STANDARD, Axis, outputs_of
from dsgkit.user_code import import_path_of

MOST_POINTS = 100_000  # of a grid, which is planned in seconds


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
        return tuple(stage.choices for stage in self.search)


class Experiment(Spec):
    """A validated config.

    Attributes
    ----------
    name : str
        Name of the results folder: the config's file name, with ``-<profile>`` for a profile.
    seed : int
        Seed of every random choice.
    dataset : DatasetSpec
        The rows and their labels.
    protocol : ProtocolSpec
        The learning setting (``kind``), and how rows are drawn and scaled and hyper-parameters
        chosen; its keys are those of the task's ``Spec``.
    sweep : dict
        Sizes to vary, ``{axis: sizes}``, ascending; by default all of the task's first axis.
    solvers : dict of str to SolverSpec
        The solvers to compare, by key.
    threads : int or None
        Threads of a timed fit; None is one per core. On one thread, processor time is measured,
        which other work on the machine does not disturb; else wall time. Not part of a result's
        identity.
    outputs : list of str
        Tables and figures to write; by default the task's. ``gain_table`` is added if a solver is
        compared ``against`` another one.
    """

    name: FolderName
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = 0
    dataset: DatasetSpec
    protocol: SerializeAsAny[ProtocolSpec]
    sweep: dict[str, list[Size]] = Field(default_factory=dict)
    solvers: dict[str, SolverSpec]
    threads: Annotated[int, Field(ge=1, le=1024)] | None = 1
    outputs: list[str] = Field(default_factory=list)

    @property
    def task(self) -> type[Task]:
        return tasks.get(self.protocol.kind)

    @property
    def axis(self) -> Axis | None:
        return next((axis for axis in self.task.axes if axis.name in self.sweep), None)

    @property
    def sizes(self) -> list[Size]:
        return next(iter(self.sweep.values()), [])

    @property
    def drawn(self) -> ProtocolSpec:
        """The protocol for drawing trials; if the swept axis is drawn, that of the largest size."""
        if self.axis is None or not self.axis.drawn:
            return self.protocol
        return self.protocol.swept_to(self.axis, int(self.sizes[-1]))

    @property
    def chooses(self) -> str:
        """Name of the measure by which hyper-parameters are chosen."""
        return self.protocol.chooses or self.task.chooses

    def to_yaml(self) -> str:
        """Return a self-contained config that loads as an equal experiment."""
        data = self.model_dump(mode="json")
        defaults = {name: info.default for name, info in DatasetSpec.model_fields.items()}
        data["dataset"] = {k: v for k, v in data["dataset"].items() if v != defaults[k]}
        if self.dataset.target is not None:
            data["dataset"]["target"] = self.dataset.target.model_dump(exclude_none=True)
        return dump(data)


def load_experiment(
    path: str | Path,
    *,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    name: str | None = None,
) -> Experiment:
    """Read and check a config file with its bases, one of its profiles and overrides.

    Parameters
    ----------
    path, profile, overrides, name
        As in `dsgkit.config.load.resolve`.

    Raises
    ------
    ConfigError
        For the first problem, with its place.
    """
    document = resolve(path, profile, overrides, name)
    try:
        return read_experiment(document.data)
    except Problem as problem:
        raise document.error(problem.at, problem.text) from problem.__cause__


class _StoredProtocol(ProtocolSpec):
    model_config = ConfigDict(extra="allow")


def load_stored(path: Path) -> Experiment:
    """Read the config in a results folder; what it names, such as solvers, may be gone."""
    document = read_document(path)
    try:
        protocol = validated(_StoredProtocol, document.data.get("protocol"), "protocol")
        # configs of earlier releases have no threads for one per core
        return validated(Experiment, {"threads": None, **document.data, "protocol": protocol})
    except Problem as problem:
        raise document.error(problem.at, problem.text) from None


def read_experiment(data: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a config's settings, or raise `Problem` for the first mistake."""
    for key in data:
        if key not in Experiment.model_fields:
            raise Problem(f"unknown key {spelled(key)}{_hint(key)}", key)
    for key in ("dataset", "protocol", "solvers"):
        if key not in data:
            raise Problem(f"missing key {key!r}")
    written = mapping(data["protocol"], "protocol")
    if "kind" not in written:
        raise Problem(f"missing key 'kind'; known: {', '.join(tasks.TASKS)}", "protocol")
    kind = import_path_of(str(written["kind"]))
    with at_key("protocol", "kind"):
        task = tasks.get(kind)
    protocol = validated(task.Spec, {**written, "kind": kind}, "protocol")
    dataset = validated(DatasetSpec, data["dataset"], "dataset")
    with at_key("dataset", "name"):
        resolve_dataset(dataset)
    if task.target == "numeric" and dataset.target is None and dataset.positive is None:
        dataset = dataset.model_copy(update={"target": TargetSpec(numeric=True)})
    specs = _solvers(mapping(data["solvers"], "solvers"), task)
    filled = {
        "sweep": {axis.name: ["all"] for axis in task.axes[:1]},
        "outputs": list(task.outputs),
        **{key: value for key, value in data.items() if value != {}},
        **{"protocol": protocol, "dataset": dataset, "solvers": specs},
    }
    experiment = validated(Experiment, filled)
    _check_sweep(experiment)
    gains = any(spec.against for spec in specs.values())
    known = outputs_of((*task.measures, *STANDARD), swept=bool(experiment.sweep))
    for i, name in enumerate(experiment.outputs):
        if name not in known:
            hint = nearest_or_all(name, known)
            raise Problem(f"unknown output {spelled(name)}{hint}", "outputs", i)
        if name == GAINS and not gains:
            raise Problem("no solver is compared `against` another one", "outputs", i)
    outputs = dict.fromkeys([*experiment.outputs, *[GAINS] * gains])
    return experiment.model_copy(update={"outputs": list(outputs)})


def _hint(key: str) -> str:
    """Return a hint at the section that a key belongs to, such as ``protocol.trials``."""
    protocol = {name for kind in tasks.TASKS for name in tasks.get(kind).Spec.model_fields}
    for section, names in (("protocol", protocol), ("dataset", {*DatasetSpec.model_fields})):
        if key in names:
            return f" (did you mean '{section}.{key}'?)"
    return nearest_or_all(key, Experiment.model_fields)


def _check_sweep(experiment: Experiment) -> None:
    axes = {axis.name: axis for axis in experiment.task.axes}
    for name, sizes in experiment.sweep.items():
        check_key(name, axes, "sweep")
        if len(experiment.sweep) > 1:
            raise Problem(f"varies one of {', '.join(experiment.sweep)} at a time", "sweep")
        numbers = [math.inf if size == "all" else size for size in sizes]
        if not sizes:
            raise Problem("must hold at least one size", "sweep", name)
        for i in range(1, len(sizes)):
            if numbers[i] <= numbers[i - 1]:
                raise Problem("must be ascending without repeats, 'all' last", "sweep", name, i)
        for i, size in enumerate(sizes if axes[name].drawn else ()):
            why_not = "must be a whole number, got 'all'" if size == "all" else ""
            if why_not := why_not or experiment.protocol.why_not(axes[name], int(size)):
                raise Problem(why_not, "sweep", name, i)


def _solvers(written: Mapping[str, Any], task: type[Task]) -> dict[str, SolverSpec]:
    """Return the solvers of a config with parsed values and all defaults."""
    if not written:
        raise Problem("must hold at least one solver", "solvers")
    labels = _labels(written)
    specs = {key: _solver(key, solver, labels[key], task) for key, solver in written.items()}
    for key, spec in specs.items():
        others = [other for other in specs if other != key]
        if spec.against is not None and spec.against not in others:
            hint = nearest_or_all(spec.against, others)
            text = f"there is no other solver {spelled(spec.against)}{hint}"
            raise Problem(text, "solvers", key, "against")
    if any("against" in solver for solver in written.values()):
        return specs

    def takes(spec: SolverSpec, *names: str) -> bool:
        return solvers.get(spec.kind).learns_from(names, spec.params)

    # solvers that are given hidden labels are neither compared nor the baseline
    rivals = {key: spec for key, spec in specs.items() if not takes(spec, HIDDEN)}
    more = [key for key, spec in rivals.items() if takes(spec, *task.extra)]
    baseline = next((key for key in rivals if key not in more), None)
    return specs | {key: specs[key].model_copy(update={"against": baseline}) for key in more}


def _labels(written: Mapping[str, Any]) -> dict[str, str]:
    """Return the solvers' labels; default ones that are not unique get the key added."""
    kinds, names = {}, {}
    for key, solver in written.items():
        if not re.fullmatch(r"\w[\w+-]{0,99}", key):
            text = "a solver's key is made of up to 100 letters, digits, _, + and -"
            raise Problem(text, "solvers", key)
        kind = kinds[key] = import_path_of(str(mapping(solver, "solvers", key).get("kind", key)))
        known = solvers.SOLVERS.get(kind)
        names[key] = known.label if known else kind.rpartition(":")[2]
    counts = Counter(str(written[key].get("label", name)) for key, name in names.items())
    labels: dict[str, str] = {}
    for key, name in names.items():
        is_plain = counts[name] == 1 if ":" in kinds[key] else kinds[key] == key
        label = str(written[key].get("label", name if is_plain else f"{name} ({key})"))
        if label in labels.values():
            raise Problem(f"another solver is called {spelled(label)}", "solvers", key, "label")
        labels[key] = label
    return labels


def _solver(key: str, written: dict[str, Any], label: str, task: type[Task]) -> SolverSpec:
    """Return a solver's section with its values parsed as its class takes them."""
    at, kind = ("solvers", key), import_path_of(str(written.get("kind", key)))
    with at_key(*at, "kind"):
        info = solvers.get(kind)
        if not info.suits(task):
            raise Problem(f"{kind} is for {' or '.join(info.tasks)}, not {task.kind}", *at)
        info.check_for(task)
    known = info.parameters

    def value_of(name: str, value: Any, *at: str | int) -> Any:
        types = known[name].types
        numeric = not types or {int, float} & set(types)
        if numeric and isinstance(value, str) and value in task.words:
            return value
        with at_key(*at):
            return known[name].parse(parse_number(value))

    params = {}
    for name, value in mapping(written.get("params", {}), *at, "params").items():
        check_key(name, known, *at, "params")
        params[name] = value_of(name, value, *at, "params", name)
    search: list[Stage] = []
    for part, grid, place in _stages(written, *at):
        choices: dict[str, list[Any]] = {}
        for name, entry in mapping(grid, *place).items():
            check_key(name, known, *place)
            with at_key(*place, name):
                values = enumerate(parse_values(entry))
            choices[name] = [value_of(name, value, *place, name, i) for i, value in values]
            if not choices[name] or len(set(choices[name])) < len(choices[name]):
                raise Problem("must hold distinct values, at least one", *place, name)
            if not search and name in params:  # until a later stage, it may have a fixed value
                raise Problem(f"{name!r} is in params too; keep one of them", *place, name)
        if part == "coordinates" and [bool(known[name].one_per) for name in choices] != [True]:
            raise Problem("takes one parameter, which holds several numbers; use `grid`", *place)
        if (n_points := math.prod(map(len, choices.values()))) > MOST_POINTS:
            raise Problem(f"has {n_points:,} points; at most {MOST_POINTS:,} are planned", *place)
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

"""An experiment: the shapes of its sections, then the checks that need the task and the solvers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializeAsAny

from dsgkit.config.load import resolve
from dsgkit.config.spec import (
    Count,
    FolderName,
    Label,
    Problem,
    Size,
    Spec,
    mapping,
    parse_values,
    validated,
)
from dsgkit.config.yaml import dump, read_document
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.data.spec import resolve as resolve_dataset
from dsgkit.errors import DsgError, nearest_or_all, spelled
from dsgkit.estimators import catalogue as solvers
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
        A name of `dsgkit.estimators.catalogue`, which in a config defaults to the solver's key, or
        the import path ``module:class`` of a user-defined class.
    label : str
        The name in tables and figures; defaults to the solver's label, or the name of the class.
    params : dict
        Fixed parameters, and values of later stages' parameters until their stage.
    search : tuple of Stage
        The stages of the search for hyper-parameters, in order. In a config ``grid: {...}`` is
        short for a search of one stage.
    search_at : dict
        Sizes used in the search, such as ``{unlabeled: 2000}``; all rows by default.
    at_most : dict
        Largest sizes to fit, such as ``{unlabeled: 2000}``; larger ones are left out.
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
    def external_class(self) -> str:
        """The import path of a class of others, which may change anything in its process, or ""."""
        kind = self.kind
        return kind if ":" in kind and not kind.startswith(("dsgkit.", "sklearn.")) else ""


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
    inference : {"these_rows", "new_rows"}
        What intervals cover: the random draw of a trial's rows from this dataset, with tests of
        differences; or new rows, by wider intervals and without tests. No result depends on it.
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
    inference: Literal["these_rows", "new_rows"] = "these_rows"
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

    def to_yaml(self) -> str:
        """Return a self-contained config that loads as an equal experiment."""
        data = self.model_dump(mode="json")
        data["dataset"] = self.dataset.model_dump(mode="json", exclude_defaults=True)
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
    path : str or Path
        The config file, or the name of a shipped config.
    profile : str, optional
        A name under ``profiles`` of the file or its bases, merged over the rest.
    overrides : iterable of str
        ``a.b=value`` texts, merged over everything; the value is YAML. If they change results,
        the experiment's name ends in a hash of them, which gives it a separate results folder; more
        trials go on in the same folder.
    name : str, optional
        The experiment's name, instead of the config's.

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
    document = read_document(path, own=True)
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
    kind, place = import_path_of(str(written["kind"])), ("protocol", "kind")
    try:
        task = tasks.get(kind)
        protocol = validated(task.Spec, {**written, "kind": kind}, "protocol")
        dataset, place = validated(DatasetSpec, data["dataset"], "dataset"), ("dataset", "name")
        resolve_dataset(dataset)
    except DsgError as error:
        raise Problem(str(error), *place) from error.__cause__
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
        # configs of kept results ask for tables and figures that are gone
        if name not in known and not name.endswith(("_trace_table", "ranks")):
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
    for name, sizes in mapping(experiment.sweep, "sweep", known=axes).items():
        if len(experiment.sweep) > 1:
            raise Problem(f"varies one of {', '.join(experiment.sweep)} at a time", "sweep")
        if not sizes:
            raise Problem("must hold at least one size", "sweep", name)
        numbers = [math.inf if size == "all" else size for size in sizes]
        for i, size in enumerate(sizes):
            try:
                if i and numbers[i] <= numbers[i - 1]:
                    raise Problem("must be ascending without repeats, 'all' last")
                if axes[name].drawn and size == "all":
                    raise Problem("must be a whole number, got 'all'")
                if axes[name].drawn:
                    experiment.protocol.swept_to(axes[name], int(size))
            except Problem as problem:
                raise Problem(problem.text, "sweep", name, i) from None


def _solvers(written: Mapping[str, Any], task: type[Task]) -> dict[str, SolverSpec]:
    """Return the solvers with parsed values; default labels that are not unique get the key."""
    if not written:
        raise Problem("must hold at least one solver", "solvers")
    kinds, names = {}, {}
    for key, solver in written.items():
        if not re.fullmatch(r"\w[\w+-]{0,99}", key):
            text = "a solver's key is made of up to 100 letters, digits, _, + and -"
            raise Problem(text, "solvers", key)
        kind = kinds[key] = import_path_of(str(mapping(solver, "solvers", key).get("kind", key)))
        known = solvers.SOLVERS.get(kind)
        names[key] = known.label if known else kind.rpartition(":")[2]
    counts = Counter(str(written[key].get("label", name)) for key, name in names.items())
    specs: dict[str, SolverSpec] = {}
    for key, solver in written.items():
        is_plain = counts[names[key]] == 1 if ":" in kinds[key] else kinds[key] == key
        label = str(solver.get("label", names[key] if is_plain else f"{names[key]} ({key})"))
        if label in [spec.label for spec in specs.values()]:
            raise Problem(f"another solver is called {spelled(label)}", "solvers", key, "label")
        specs[key] = _solver(key, {**solver, "kind": kinds[key], "label": label}, task)
    for key, spec in specs.items():
        others = [other for other in specs if other != key]
        if spec.against is not None and spec.against not in others:
            hint = nearest_or_all(spec.against, others)
            text = f"there is no other solver {spelled(spec.against)}{hint}"
            raise Problem(text, "solvers", key, "against")
    states_against = any("against" in solver for solver in written.values())
    return specs if states_against else _compared(specs, task)


def _compared(specs: dict[str, SolverSpec], task: type[Task]) -> dict[str, SolverSpec]:
    """Compare solvers that learn from more than labelled rows with the first that does not."""
    learns_from = {key: solvers.get(spec.kind).learns_from for key, spec in specs.items()}
    # solvers that are given hidden labels are neither compared nor the baseline
    rivals = [key for key in specs if not learns_from[key]([HIDDEN], specs[key].params)]
    more = [key for key in rivals if learns_from[key](task.extra, specs[key].params)]
    baseline = next((key for key in rivals if key not in more), None)
    return specs | {key: specs[key].model_copy(update={"against": baseline}) for key in more}


def _solver(key: str, written: dict[str, Any], task: type[Task]) -> SolverSpec:
    """Return a solver's section with its values parsed as its class takes them."""
    at, kind = ("solvers", key), written["kind"]
    try:
        info = solvers.get(kind)
        if not info.suits(task):
            raise Problem(f"{kind} is for {' or '.join(info.tasks)}, not {task.kind}", *at)
    except DsgError as error:
        raise Problem(str(error), *at, "kind") from error.__cause__
    known, axes = info.parameters, {axis.name: axis for axis in task.axes}
    params: dict[str, Any] = {}
    search: list[Stage] = []
    for part, entries, place in _parts(written, *at):
        read: dict[str, list[Any]] = {}
        for name, entry in mapping(entries, *place, known=known).items():
            types, spot = known[name].types, (*place, name)
            takes_words = not types or int in types or float in types
            try:
                values = parse_values([entry] if part == "params" else entry)
                for i, value in enumerate(values):
                    spot = (*place, name) if part == "params" else (*place, name, i)
                    if not (takes_words and isinstance(value, str) and value in task.words):
                        values[i] = known[name].parse(value)
            except ValueError as error:
                raise Problem(str(error), *spot) from error.__cause__
            if not values or len(set(values)) < len(values):
                raise Problem("must hold distinct values, at least one", *place, name)
            if part != "params" and not search and name in params:  # a later stage changes it
                raise Problem(f"{name!r} is in params too; keep one of them", *place, name)
            read[name] = values
        if part == "params":
            params = {name: value for name, (value,) in read.items()}
            continue
        if part == "coordinates" and [bool(known[name].one_per) for name in read] != [True]:
            raise Problem(
                "takes one parameter that has a number per cut; write `grid` for others", *place
            )
        if (n_points := math.prod(map(len, read.values()))) > MOST_POINTS:
            raise Problem(f"has {n_points:,} points; at most {MOST_POINTS:,} are planned", *place)
        search.append(Stage.model_validate({part: read}))
    for part in ("search_at", "at_most"):
        for axis in mapping(written.get(part, {}), *at, part, known=axes):
            if part == "search_at" and axes[axis].drawn:
                raise Problem("every fit is searched at its own number of them", *at, part, axis)
    plain = {name: value for name, value in written.items() if name != "grid"}
    return validated(SolverSpec, plain | {"params": params, "search": tuple(search)}, *at)


def _parts(
    written: Mapping[str, Any], *at: str
) -> Iterator[tuple[str, Any, tuple[str | int, ...]]]:
    """Yield ``params``, and of every stage its ``grid`` or ``coordinates``, with their places."""
    yield "params", written.get("params", {}), (*at, "params")
    search = written.get("search") or []
    if (grid := written.get("grid")) is not None:  # null removes the grid of a base
        if "search" in written:
            raise Problem("`grid` and `search` are both given; keep one of them", *at, "grid")
        yield "grid", grid, (*at, "grid")
    if not isinstance(search, list):
        raise Problem(f"must be a list of stages, got {spelled(search)}", *at, "search")
    for i, stage in enumerate(search):
        place: tuple[str | int, ...] = (*at, "search", i)
        parts = mapping(stage, *place, known=Stage.model_fields)
        filled = {part: grid for part, grid in parts.items() if grid != {}}
        if len(filled) > 1:
            raise Problem("a stage has either a `grid` or `coordinates`", *place)
        part, grid = next(iter(filled.items()), ("grid", {}))
        yield part, grid, (*place, part)

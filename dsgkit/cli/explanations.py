"""Explains names in configs and tables, from docstrings and schemas."""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from dsgkit.config import shipped
from dsgkit.config.load import resolve
from dsgkit.config.schema import Experiment, FileKeys
from dsgkit.config.solvers import SolverSpec, Stage
from dsgkit.config.yaml_loader import read_document
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.errors import ConfigError, did_you_mean, spelled
from dsgkit.kernels import FAMILIES
from dsgkit.solvers import catalogue as solvers
from dsgkit.solvers.catalogue import SOLVERS, SolverInfo
from dsgkit.solvers.parameters import Parameter
from dsgkit.tasks import catalogue as tasks
from dsgkit.tasks.base import Axis, Task
from dsgkit.tasks.catalogue import TASKS
from dsgkit.tasks.measures import SHARED, STANDARD, UNASKED, WAYS, Measure, outputs_of
from dsgkit.text.docstrings import Described, descriptions, docstring_of
from dsgkit.text.specs import LARGEST_INTEGER
from dsgkit.users_code.own import import_path_of, is_import_path

ANY_NAME = "NAME"
"""Placeholder in a path for a solver's key, which the user chooses."""

_LEADING = re.compile(r"\A((?:#.*\n)+)")
"""Matches the comment at the top of a config."""

_PARAMETER_KEYS = ("params", "grid", "search")
"""Keys of a solver's section that contain parameters."""

_LIKENESS = 0.75
"""Least similarity of a suggested name: among many names, one is always somewhat similar."""

_WHERE_NAMES_ARE = (
    "; `dsg list solvers` (or tasks, datasets, kernels) lists names, and `dsg explain TASK` the "
    "measures of a task; for your own code: dsg explain FILE.py:NAME"
)

_Key = tuple[tuple[str, ...], "Callable[[], Explanation]"]
"""The path of a config key, and a function that makes its explanation."""


class Item(NamedTuple):
    """An item of a list: a name, facts about it, and a text."""

    name: str
    facts: str = ""
    text: str = ""


@dataclass(frozen=True)
class Explanation:
    """Explanation of a name.

    Attributes
    ----------
    names : tuple of str
        Full names; several if they share the explanation.
    what : str
        Kind of thing, such as ``solver``.
    tasks : tuple of str
        Kinds of the tasks that it belongs to; empty for any task.
    lists : dict
        Items by title.
    """

    names: tuple[str, ...]
    what: str
    tasks: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()
    lists: Mapping[str, tuple[Item, ...]] = field(default_factory=dict)


def explain(name: str) -> list[Explanation]:
    """Return the explanations of everything with a name.

    Parameters
    ----------
    name : str
        Name of a solver (also its class, its label in tables, or its key in shipped configs), task,
        dataset, measure, kernel, output, shipped config or one of its profiles; or a key of a
        config, with any number of parent keys, separated by dots; or ``file.py:Name`` of a
        user-defined solver or task.

    Raises
    ------
    ConfigError
        If the name is unknown; the text suggests the nearest one.
    """
    if is_import_path(name):
        return [_of_import_path(str(import_path_of(name)))]
    explanations = [make() for make in _catalogued(name)]
    explanations += _merged(_of_output(name))
    explanations += _of_config_solver(name)
    explanations += _merged(make() for path, make in _keys() if _is_meant(path, name))
    if not explanations:
        hint = did_you_mean(name, known_names(), _LIKENESS) or _WHERE_NAMES_ARE
        raise ConfigError(f"nothing is called {spelled(name)}{hint}")
    return explanations


def _of_import_path(path: str) -> Explanation:
    """Explain a user-defined solver or task."""
    try:
        info = solvers.get(path)
    except ConfigError as error:
        try:
            tasks.get(path)
        except ConfigError:
            raise error from None
        return _of_task(path)
    return _of_solver(info)


def known_names() -> list[str]:
    """Return everything that can be explained."""
    solvers = (name for info in SOLVERS.values() for name in _solver_names(info))
    measures = (measure.name for _, measure in _measures())
    outputs = (output for _, _, output in _measured_outputs())
    keys = (part for path, _ in _keys() for part in (path[-1], ".".join(path)))
    in_bases = (text for path in _bases() for solver in _solvers_in(path) for text in solver[:2])
    catalogues = (SOLVERS, TASKS, DATASETS, FAMILIES, shipped.names(), _profiles(), in_bases)
    others = (solvers, measures, outputs, SHARED, UNASKED, keys)
    return list(dict.fromkeys(itertools.chain(*catalogues, *others)))


def _solver_names(info: SolverInfo) -> tuple[str, ...]:
    """Return the other names of a solver: its class, its label and its dotted key."""
    return info.import_path.partition(":")[2], info.label, f"solvers.{info.name}"


def _catalogued(name: str) -> Iterator[Callable[[], Explanation]]:
    """Yield functions that explain a name in the catalogues."""
    for info in SOLVERS.values():
        if name in (info.name, *_solver_names(info)):
            yield functools.partial(_of_solver, info)
    if name in TASKS:
        yield lambda: _of_task(name)
    if name in DATASETS:
        yield lambda: _of_dataset(name)
    for measure in dict.fromkeys(measure for _, measure in _measures() if measure.name == name):
        yield functools.partial(_of_measure, measure)
    if name in FAMILIES:
        yield lambda: _of_kernel(name)
    if text := (SHARED | UNASKED).get(name):
        yield lambda: Explanation((name,), "output", paragraphs=(text,))
    if (path := shipped.beneath(name)) is not None:
        yield lambda: _of_config(path)
    if name in _profiles():
        yield lambda: _of_profile(name)


def _is_meant(path: tuple[str, ...], name: str) -> bool:
    """Return whether a dotted name is the end of a key's path."""
    parts = name.split(".")
    is_parameter = path[0] == "solvers" and len(path) == 3 and path[1] != ANY_NAME
    if is_parameter and parts[0] == "solvers" and len(parts) > 3:
        inner = (part for part in parts[2:-1] if part not in _PARAMETER_KEYS)
        parts = [*parts[:2], *inner, parts[-1]]
    ends = path[-len(parts) :]
    return len(ends) == len(parts) and all(
        end == part or (end == ANY_NAME and len(parts) > 1)
        for end, part in zip(ends, parts, strict=True)
    )


def _merged(explanations: Iterable[Explanation]) -> list[Explanation]:
    """Merge explanations that differ only in names and tasks."""
    merged: dict[str, Explanation] = {}
    for new in explanations:
        content = repr(replace(new, names=(), tasks=()))
        same = merged.setdefault(content, new)
        merged[content] = replace(
            same,
            names=tuple(dict.fromkeys([*same.names, *new.names])),
            tasks=tuple(dict.fromkeys([*same.tasks, *new.tasks])),
        )
    return list(merged.values())


@functools.cache
def _keys() -> tuple[_Key, ...]:
    """Return the path of every config key, each with a function that makes its explanation."""
    return tuple(_every_key())


def _every_key() -> Iterator[_Key]:
    parts: list[tuple[tuple[str, ...], type[BaseModel]]] = [
        ((), FileKeys),
        ((), Experiment),
        (("dataset",), DatasetSpec),
        (("dataset", "target"), TargetSpec),
        (("solvers", ANY_NAME), SolverSpec),
        (("solvers", ANY_NAME), Stage),
        (("solvers", ANY_NAME, "search"), Stage),
    ]
    for above, spec in parts:
        yield from _fields(above, spec)
    for kind in TASKS:
        task = tasks.get(kind)
        yield from _fields(("protocol",), task.Spec, kind)
        for axis in task.axes:
            yield _axis_key(axis, kind)
    for solver in SOLVERS.values():
        for parameter in solver.parameters.values():
            yield _parameter_key(solver, parameter)


def _fields(above: tuple[str, ...], spec: type[BaseModel], *kinds: str) -> Iterator[_Key]:
    for item in _items(spec):
        path = (*above, item.name)
        yield _config_key(path, kinds, item.facts, item.text)


def _config_key(path: tuple[str, ...], kinds: tuple[str, ...], facts: str, text: str) -> _Key:
    explanation = Explanation((".".join(path),), "config key", kinds, (facts,), (text,))
    return path, lambda: explanation


def _axis_key(axis: Axis, kind: str) -> _Key:
    sizes = "ascending sizes" + ("" if axis.drawn else ", the last of which may be all")
    return _config_key(("sweep", axis.name), (kind,), sizes, f"{axis.title}.")


def _parameter_key(solver: SolverInfo, parameter: Parameter) -> _Key:
    path = ("solvers", solver.name, parameter.name)

    def make() -> Explanation:
        item = _parameter_item(parameter, descriptions(solver.load()))
        return Explanation((".".join(path),), "parameter", (), (item.facts,), (item.text,))

    return path, make


def _items(spec: type[BaseModel]) -> Iterator[Item]:
    """Yield the settings of a section of a config."""
    words = descriptions(spec)
    schemas = spec.model_json_schema()["properties"]
    for name, info in spec.model_fields.items():
        described = words.get(name, Described("", ""))
        kind = described.type.removesuffix(", optional").replace("None", "null")
        facts = [kind, *_bounds(schemas[name])]
        if info.is_required():
            facts.append("required")
        elif info.default_factory is None and info.default is not None:
            facts.append(f"default {_value(info.default)}")
        yield Item(name, "; ".join(filter(None, facts)), described.text)


def _bounds(schema: Mapping[str, Any]) -> list[str]:
    """Return the bounds of a number as texts, such as ``>= 1``."""
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    parts = [schema, *schema.get("anyOf", [])]
    bounds = [(signs[key], part[key]) for part in parts for key in signs if key in part]
    return [f"{sign} {bound:,}" for sign, bound in bounds if bound < LARGEST_INTEGER]


def _value(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump()
    return spelled(list(value) if isinstance(value, tuple) else value)


def _parameter_item(parameter: Parameter, words: Mapping[str, Described]) -> Item:
    described = words.get(parameter.name, Described("", ""))
    kind = str(parameter) or described.type.partition(", default")[0]
    facts = [kind, f"default {_value(parameter.default)}"]
    return Item(parameter.name, "; ".join(filter(None, facts)), described.text)


def _of_solver(info: SolverInfo) -> Explanation:
    kind = info.load()
    doc, words = docstring_of(kind), descriptions(kind)
    return Explanation(
        (info.name,),
        "solver",
        info.tasks,
        (info.label, info.reference, f"class {kind.__name__}"),
        tuple(doc.paragraphs),
        {
            "Parameters": tuple(_parameter_item(p, words) for p in info.parameters.values()),
            "References": tuple(Item(text) for text in doc.references),
            "In the configs": _configs(
                info.name, lambda data: info.name in _section(data, "solvers")
            ),
        },
    )


def _of_task(kind: str) -> Explanation:
    task: Task = tasks.get(kind)
    module = kind.partition(":")[0] if is_import_path(kind) else type(task).__module__
    about = docstring_of(sys.modules[module]).paragraphs
    mine = (info for info in SOLVERS.values() if kind in info.tasks)
    return Explanation(
        (kind,),
        "task",
        paragraphs=tuple(about),
        lists={
            "Keys under protocol": tuple(_items(task.Spec)),
            "What can be swept": tuple(Item(axis.name, axis.title) for axis in task.axes),
            "Measures": tuple(_measure_item(measure) for measure in _all_measures(task)),
            "Solvers": tuple(Item(info.name, info.label) for info in mine),
            "In the configs": _configs(
                kind, lambda data: _section(data, "protocol").get("kind") == kind
            ),
        },
    )


def _of_dataset(name: str) -> Explanation:
    info = DATASETS[name]
    facts = [f"{info.n_rows:,} rows x {info.n_features:,} features", info.target.words]
    facts += [info.homepage, info.licence, info.citation]
    named = _configs(name, lambda data: _section(data, "dataset").get("name") == name)
    paragraphs = filter(None, [info.title, info.note])
    lists = {"In the configs": named}
    return Explanation((name,), "dataset", (), tuple(facts), tuple(paragraphs), lists)


def _of_measure(measure: Measure) -> Explanation:
    known = [kind for kind, other in _measures() if other == measure]
    item = _measure_item(measure)
    names = dict.fromkeys(output for _, other, output in _measured_outputs() if other == measure)
    return Explanation(
        (measure.name,),
        "measure",
        tuple(known),
        (item.facts,),
        (item.text,),
        {"Outputs": tuple(map(Item, names))},
    )


def _measure_item(measure: Measure) -> Item:
    better = f"{measure.better} is better" if measure.better else ""
    return Item(measure.name, ", ".join(filter(None, [measure.unit, better])), measure.caption)


def _of_kernel(name: str) -> Explanation:
    family = FAMILIES[name]
    facts = (family.example.formula,)
    return Explanation((family.pattern,), "kernel", (), facts, (f"Such as {family.example.name}.",))


def _all_measures(task: Task) -> tuple[Measure, ...]:
    return (*task.measures, *STANDARD)


def _measures() -> Iterator[tuple[str, Measure]]:
    """Yield every measure of each task, with the task's name."""
    for kind in TASKS:
        for measure in _all_measures(tasks.get(kind)):
            yield kind, measure


def _measured_outputs() -> Iterator[tuple[str, Measure, str]]:
    """Yield the task, the measure and the name of every output of a measure."""
    for kind, measure in _measures():
        for output in outputs_of([measure], swept=True)[: -len(SHARED)]:
            yield kind, measure, output


def _of_output(name: str) -> Iterator[Explanation]:
    """Yield an explanation of a table or figure of measures, for each task that has it."""
    by_task: dict[str, list[Measure]] = {}
    for kind, measure, output in _measured_outputs():
        if output == name:
            by_task.setdefault(kind, []).append(measure)
    for kind, measures in by_task.items():
        way = WAYS[name.removeprefix(f"{measures[0].output}_")]
        shown = {"Measures": tuple(map(_measure_item, measures))}
        yield Explanation((name,), "output", (kind,), (), (way,), shown)


def _of_config(path: Path) -> Explanation:
    name = path.relative_to(shipped.folder()).with_suffix("").as_posix()
    data = resolve(path).data
    dataset, task = _section(data, "dataset").get("name"), _section(data, "protocol").get("kind")
    facts = (
        f"dataset {dataset}" if dataset else "",
        f"task {task}",
        f"run it by: dsg run {name}" if dataset else f"to be extended: {name}{shipped.SUFFIX}",
    )
    settings = _section(data, "solvers").items()
    present = {key: solver for key, solver in settings if solver is not None}
    return Explanation(
        (name,),
        "config",
        (),
        facts,
        tuple(_paragraphs(_comment(path, _LEADING))),
        {
            "Solvers": tuple(Item(key, _label(key, solver)) for key, solver in present.items()),
            "Profiles": tuple(map(Item, _section(data, "profiles"))),
        },
    )


class _Solver(NamedTuple):
    """A solver that a config adds: its key, label, kind and parameters."""

    key: str
    label: str
    kind: str
    params: str


def _of_config_solver(name: str) -> Iterator[Explanation]:
    """Yield explanations of solvers that shipped configs add under a key or a label."""
    configs_by_solver: dict[_Solver, dict[str, None]] = {}
    for item in _configs(name, lambda data: True):
        for solver in _solvers_in(shipped.folder() / f"{item.name}{shipped.SUFFIX}"):
            if name in solver[:2]:
                configs_by_solver.setdefault(solver, {})[item.name] = None
    for solver, configs in configs_by_solver.items():
        kind = f"kind {solver.kind}, see: dsg explain {solver.kind}"
        facts = (solver.label, kind, f"params {solver.params}" if solver.params else "")
        lists = {"In the configs": tuple(map(Item, configs))}
        yield Explanation((solver.key,), "solver of a config", (), facts, (), lists)


@functools.cache
def _solvers_in(path: Path) -> tuple[_Solver, ...]:
    """Return the solvers with a kind or label in a config itself, or in its profiles."""
    data = _data(path)
    parts = (data, *_section(data, "profiles").values())
    solvers = [item for part in parts for item in _section(part, "solvers").items()]
    return tuple(
        _Solver(key, _label(key, spec), spec.get("kind", key), _settings(spec.get("params", {})))
        for key, spec in solvers
        if isinstance(spec, dict) and ("kind" in spec or ("label" in spec and key in SOLVERS))
    )


def _settings(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {spelled(value)}" for name, value in params.items())


def _label(key: str, solver: Mapping[str, Any]) -> str:
    """Return the label of a solver in a config."""
    kind = solver.get("kind", key)
    own = SOLVERS[kind].label if kind in SOLVERS else kind.rpartition(":")[2]
    return str(solver.get("label") or own)


def _of_profile(name: str) -> Explanation:
    of_base = re.compile(rf"(?m)((?:^ +#.*\n)+)^  {re.escape(name)}:")
    folder = shipped.folder()
    configs = _configs(name, lambda data: name in _section(data, "profiles"))
    items = []
    for item in configs:
        text = _paragraphs(_comment(folder / f"{item.name}{shipped.SUFFIX}", of_base))
        items.append(item._replace(text=" ".join(text)))
    facts = (f"dsg run CONFIG --profile {name} merges its settings over those of a config",)
    return Explanation((name,), "profile", (), facts, (), {"In the configs": tuple(items)})


@functools.cache
def _profiles() -> tuple[str, ...]:
    """Return the names of the profiles of shipped base configs."""
    return tuple(
        dict.fromkeys(name for path in _bases() for name in _section(_data(path), "profiles"))
    )


def _bases() -> list[Path]:
    return [shipped.folder() / f"{name}{shipped.SUFFIX}" for name in shipped.bases()]


def _comment(path: Path, pattern: re.Pattern[str]) -> str:
    """Return the comment of a config that the first group of a pattern matches."""
    match = pattern.search(path.read_text(encoding="utf-8"))
    return match[1] if match else ""


def _paragraphs(comment: str) -> list[str]:
    """Return the paragraphs of a comment, which empty lines separate."""
    lines = [line.strip().lstrip("#").strip() for line in comment.splitlines()]
    return [" ".join(part.split("\n")) for part in "\n".join(lines).split("\n\n") if part]


def _configs(name: str, names_it: Callable[[dict[str, Any]], bool]) -> tuple[Item, ...]:
    """Return the shipped configs, with base configs, that themselves name something."""
    folder = shipped.folder()
    paths = sorted(folder.rglob(f"*{shipped.SUFFIX}"))
    mentioned = (path for path in paths if name in path.read_text(encoding="utf-8"))
    named = (path for path in mentioned if names_it(_data(path)))
    return tuple(Item(path.relative_to(folder).with_suffix("").as_posix()) for path in named)


@functools.cache
def _data(path: Path) -> dict[str, Any]:
    """Return the data of a config without its bases; cached, as strict reading is slow."""
    data: dict[str, Any] = read_document(path).data
    return data


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    section = data.get(name)
    return section if isinstance(section, dict) else {}

"""Schema of a config, with all checks that need no data."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from dsgkit.config.bounds import MAX_CELLS, MAX_THREADS
from dsgkit.config.solvers import SOLVER_KEYS, Size, SolverSpec, check_size, read_solvers
from dsgkit.config.yaml_loader import dump
from dsgkit.data.spec import DatasetSpec, FolderName, TargetSpec
from dsgkit.errors import ConfigError, DsgError, listed, nearest_or_all, spelled
from dsgkit.solvers import catalogue as solver_catalogue
from dsgkit.tasks import base as tasks
from dsgkit.tasks.base import ProtocolSpec, Task
from dsgkit.tasks.measures import GAINS, STANDARD, Axis, Description, SolverFacts, outputs_of
from dsgkit.text.specs import LONGEST_NAME, Spec, problem
from dsgkit.users_code.own import import_path_of, is_import_path
from dsgkit.users_code.rehearsal import rehearse, users_code

Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]


class StoredProtocol(ProtocolSpec):
    """The protocol of a stored config, whose task may be gone."""

    model_config = ConfigDict(extra="allow")


class SweepSpec(Spec):
    """The sizes that vary from fit to fit; in a config ``{axis: sizes}``.

    Attributes
    ----------
    axis : str or None
        An axis of the task; None if nothing is varied.
    sizes : tuple of int or "all"
        Ascending.
    """

    axis: str | None = None
    sizes: tuple[Size, ...] = ()

    @model_serializer
    def _as_written(self) -> dict[str, list[Size]]:
        return {} if self.axis is None else {self.axis: list(self.sizes)}


class FileKeys(Spec):
    """Keys of a config file that are resolved before the experiment is read.

    Attributes
    ----------
    extends : str, optional
        A config to start from: a path relative to this file, or a shipped one. Mappings are
        merged, other values replaced; null removes a solver.
    profiles : dict
        Named variants of the config: settings that ``--profile`` merges over it, after those of
        its bases under the same name.
    """

    extends: str | None = None
    profiles: dict[str, dict[str, Any]] = Field(default_factory=dict)


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
    sweep : SweepSpec
        Sizes to vary, ``{axis: sizes}``; by default all of the task's first axis.
    solvers : dict of str to SolverSpec
        The solvers to compare, by key.
    threads : int, optional
        Threads of a timed fit; by default the number of cores. Not part of a result's identity.
        On one thread, processor time is measured instead of wall time.
    outputs : list of str
        Tables and figures to write; by default the task's. ``gain_table`` is added if a solver is
        compared ``against`` another one.
    """

    name: FolderName
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = 0
    dataset: DatasetSpec
    protocol: SerializeAsAny[ProtocolSpec]
    sweep: SweepSpec = SweepSpec()
    solvers: dict[str, SolverSpec]
    threads: Threads | None = None
    outputs: list[str] = Field(default_factory=list)

    @property
    def task(self) -> type[Task]:
        """The learning setting."""
        return tasks.get(self.protocol.kind)

    @property
    def axis(self) -> Axis | None:
        """The swept axis."""
        return next((axis for axis in self.task.axes if axis.name == self.sweep.axis), None)

    @property
    def drawn(self) -> ProtocolSpec:
        """The protocol for drawing trials; if the swept axis is drawn, that of the largest size."""
        axis = self.axis
        if axis is None or not axis.drawn:
            return self.protocol
        most = max(size for size in self.sweep.sizes if size != "all")
        return self.protocol.swept_to(axis, most)

    @property
    def chooses(self) -> str:
        """Name of the measure by which hyper-parameters are chosen."""
        return self.protocol.chooses or self.task.chooses

    @property
    def _searches(self) -> bool:
        """Whether any hyper-parameter is searched."""
        stages = (stage for solver in self.solvers.values() for stage in solver.search)
        return any(len(values) > 1 for stage in stages for values in stage.choices.values())

    def describe(self) -> Description:
        """Return the description of the task for the results folder."""
        protocol = self.drawn
        return Description(
            kind=protocol.kind,
            setting=protocol.setting,
            protocol=protocol.protocol,
            selection=protocol.selection,
            oracle=protocol.oracle if self._searches else "",
            axis=self.axis,
            measures=(*self.task.measures, *STANDARD),
            chooses=self.chooses,
            published=protocol.published(self.dataset.name),
            not_of_splits=protocol.not_of_splits,
            solvers={key: self._facts(spec) for key, spec in self.solvers.items()},
        )

    def _facts(self, spec: SolverSpec) -> SolverFacts:
        """Return the facts about a solver for the results folder."""
        solver = solver_catalogue.get(spec.kind)
        choices = [item for stage in spec.search for item in stage.choices.items()]
        values = [*spec.params.values(), *itertools.chain(*(grid for _, grid in choices))]
        return SolverFacts(
            told=self.protocol.oracle_data(solver.load(), values),
            ends={name: solver.parameters[name].range.ends for name, _ in choices},
        )

    @field_validator("protocol", mode="before")
    @classmethod
    def _of_task(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        if _stored(info):
            return StoredProtocol.model_validate(value)
        if "kind" not in value:
            raise problem(f"missing key 'kind'; known: {', '.join(tasks.TASKS)}")
        kind = import_path_of(value["kind"])
        if not isinstance(kind, str):
            raise problem(f"must be text (put it in quotes), got {spelled(kind)}", "kind")
        if len(kind) > LONGEST_NAME:
            raise problem(
                f"must have at most {LONGEST_NAME} characters, got {spelled(kind)}", "kind"
            )
        try:
            spec = tasks.get(kind).Spec
        except ConfigError as error:
            raise problem(str(error), "kind", cause=error.__cause__) from None
        return _read_protocol(spec, {**value, "kind": kind})

    @field_validator("sweep", mode="before")
    @classmethod
    def _of_axis(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        task = _task(info)
        if task is None:
            axis, sizes = next(iter(value.items()), (None, []))
            if not isinstance(sizes, list):
                raise problem(f"must be a list, got {spelled(sizes)}", str(axis))
            return SweepSpec(axis=axis, sizes=tuple(sizes)) if _stored(info) else SweepSpec()
        sweep = _sweep(value, task.axes)
        drawn = [axis for axis in task.axes if axis.drawn and axis.name == sweep.axis]
        for axis, (i, size) in itertools.product(drawn, enumerate(sweep.sizes)):
            if why_not := info.data["protocol"].why_not(axis, size):
                raise problem(why_not, axis.name, i)
        return sweep

    @field_validator("solvers", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        return value if _stored(info) else read_solvers(value, info.data.get("protocol"))

    @field_validator("solvers")
    @classmethod
    def _distinct(cls, value: dict[str, SolverSpec]) -> dict[str, SolverSpec]:
        if not value:
            raise problem("must hold at least one solver")
        keys: dict[str, str] = {}
        for key, solver in value.items():
            if not re.fullmatch(r"\w[\w+-]*", key):
                raise problem("a solver's key is made of letters, digits, _, + and -", key)
            if len(key) > LONGEST_NAME:
                raise problem(f"must have at most {LONGEST_NAME} characters", key)
            if solver.label in keys:
                same = keys[solver.label]
                text = f"has the label of {spelled(same)}: {spelled(solver.label)}"
                raise problem(text, key, "label")
            keys[solver.label] = key
        return value

    @model_validator(mode="after")
    def _with_target(self, info: ValidationInfo) -> Experiment:
        """Set a numeric target for a task that predicts numbers, if the config states none."""
        dataset = self.dataset
        has_target = dataset.target is not None or dataset.positive is not None
        if _stored(info) or has_target or self.task.target != "numeric":
            return self
        numbers = dataset.model_copy(update={"target": TargetSpec(numeric=True)})
        return self.model_copy(update={"dataset": numbers})

    @model_validator(mode="after")
    def _within_bounds(self, info: ValidationInfo) -> Experiment:
        """Refuse experiments that would take a day to plan."""
        if not _stored(info) and (cells := self._most_cells()) > MAX_CELLS:
            text = (
                f"{cells:,} fits and searches are planned, and {MAX_CELLS:,} is the most; "
                "lower `trials`, or leave out sizes, solvers or values of grids"
            )
            raise problem(text, "protocol", "trials")
        return self

    def _most_cells(self) -> int:
        """Return the number of cells if no trial lacks rows and no fit is left out."""
        sizes = max(len(self.sweep.sizes), 1)
        searched_at = sizes if self.axis is not None and self.axis.drawn else 1
        shares = sum(solver.shares for solver in self.solvers.values())
        return self.protocol.trials * (sizes * len(self.solvers) + searched_at * shares)

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """Add missing sections that depend on the task, so that they are validated."""
        return {"sweep": {}, "outputs": None, **value} if isinstance(value, dict) else value

    @field_validator("outputs", mode="before")
    @classmethod
    def _of_measures(cls, value: Any, info: ValidationInfo) -> Any:
        task = _task(info)
        if value is None:
            return _with_gains(task.outputs, info) if task else []
        if task is None or not isinstance(value, list):
            return value
        sweep = info.data.get("sweep")  # None if the config's is not valid
        swept = bool(task.axes) if sweep is None else sweep.axis is not None
        known = outputs_of((*task.measures, *STANDARD), swept=swept)
        for i, name in enumerate(value):
            if name not in known:
                raise problem(
                    f"unknown output {spelled(name)}{nearest_or_all(str(name), known)}", i
                )
            if name in value[:i]:
                raise problem(f"{spelled(name)} is listed twice", i)
        return _with_gains(value, info)

    def to_yaml(self) -> str:
        """Return a self-contained config that loads as an equal experiment."""
        data = self.model_dump(mode="json")
        defaults = {name: info.default for name, info in DatasetSpec.model_fields.items()}
        data["dataset"] = {k: v for k, v in data["dataset"].items() if v != defaults[k]}
        if self.dataset.target is not None:
            data["dataset"]["target"] = self.dataset.target.settings
        if self.threads is None:
            del data["threads"]
        return dump(data)


def known_keys(data: Any, key: Sequence[str | int]) -> list[str]:
    """Return the allowed keys at a place of a config."""
    if tuple(key) == ("protocol",):
        return list(tasks.get(data["protocol"]["kind"]).Spec.model_fields)
    if len(key) == 2 and key[0] == "solvers":
        return list(SOLVER_KEYS)
    model: Any = Experiment
    for part in key:
        annotation = model.model_fields[str(part)].annotation
        # of an optional section: the model, without None
        model = next(iter(get_args(annotation)), annotation)
    return list(model.model_fields) if issubclass(model, BaseModel) else []


def _stored(info: ValidationInfo) -> bool:
    """Return whether a config was stored by a run, so that its values are not checked again."""
    return bool(info.context and info.context["stored"])


def _task(info: ValidationInfo) -> type[Task] | None:
    """Return the task of a config; None if the config is stored or has no valid task."""
    protocol = info.data.get("protocol")
    return None if protocol is None or _stored(info) else tasks.get(protocol.kind)


def _with_gains(outputs: Sequence[str], info: ValidationInfo) -> list[str]:
    """Return outputs, with the table of gains appended if there are gains and it is not listed."""
    solvers: Mapping[str, SolverSpec] | None = info.data.get("solvers")
    if solvers is None:  # not valid
        return list(outputs)
    gains = any(solver.against for solver in solvers.values())
    if GAINS in outputs and not gains:
        raise problem("no solver is compared `against` another one", list(outputs).index(GAINS))
    return [*outputs, *[GAINS] * (gains and GAINS not in outputs)]


def _read_protocol(spec: type[ProtocolSpec], value: dict[str, Any]) -> ProtocolSpec:
    """Return the validated ``protocol`` section of a task, which may be user-defined."""
    kind = str(value["kind"])
    if not is_import_path(kind):
        return spec.model_validate(value)
    doing = f"{kind}.Spec"
    rehearse(doing, lambda: spec.model_validate(value))
    with users_code(doing, (DsgError, ValueError)):  # pydantic's errors are ValueErrors
        return spec.model_validate(value)


def _sweep(written: Mapping[str, Any], axes: Sequence[Axis]) -> SweepSpec:
    names = [axis.name for axis in axes]
    for name in written:
        if name not in names:
            hint = nearest_or_all(str(name), names) if names else "; the task has nothing to vary"
            raise problem(f"unknown key {spelled(name)}{hint}", name)
    if len(written) > 1:
        raise problem(f"varies one of {listed(written)} at a time")
    if not written:
        return SweepSpec(axis=names[0], sizes=("all",)) if names else SweepSpec()
    ((axis, sizes),) = written.items()
    if not isinstance(sizes, list):
        raise problem(f"must be a list, got {spelled(sizes)}", axis)
    drawn = next(known.drawn for known in axes if known.name == axis)
    if not sizes:
        raise problem("must hold at least one size" + ("" if drawn else ", or all"), axis)
    for i, size in enumerate(sizes):
        check_size(size, axis, i, words=() if drawn else ("all",))
    numbers = [float("inf") if size == "all" else size for size in sizes]
    for i, (before, after) in enumerate(itertools.pairwise(numbers), start=1):
        if after <= before:
            raise problem("must be ascending without repeats, 'all' last", axis, i)
    return SweepSpec(axis=axis, sizes=tuple(sizes))

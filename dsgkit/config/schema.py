"""An experiment: the shapes of its sections, then the checks that need the task and the solvers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, SerializeAsAny

from dsgkit.config.load import resolve
from dsgkit.config.solvers import SolverSpec, read_solvers
from dsgkit.config.spec import (
    FolderName,
    Problem,
    Size,
    Spec,
    at_key,
    check_key,
    mapping,
    validated,
)
from dsgkit.config.yaml import dump, read_document
from dsgkit.data import catalogue as datasets
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.errors import nearest_or_all, spelled
from dsgkit.tasks import base as tasks
from dsgkit.tasks.base import ProtocolSpec, Task
from dsgkit.tasks.measures import GAINS, STANDARD, Axis, outputs_of
from dsgkit.user_code import import_path_of


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
        """The swept axis."""
        return next((axis for axis in self.task.axes if axis.name in self.sweep), None)

    @property
    def sizes(self) -> list[Size]:
        """The swept sizes; empty if nothing is swept."""
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
    for key, field in Experiment.model_fields.items():
        if field.is_required() and key not in data:
            raise Problem(f"missing key {key!r}")
    written = mapping(data["protocol"], "protocol")
    if "kind" not in written:
        raise Problem(f"missing key 'kind'; known: {', '.join(tasks.TASKS)}", "protocol")
    kind = import_path_of(str(written["kind"]))
    with at_key("protocol", "kind"):
        task = tasks.get(kind)
    protocol = validated(task.Spec, {**written, "kind": kind}, "protocol")
    specs = read_solvers(mapping(data["solvers"], "solvers"), task)
    filled = {
        "sweep": {axis.name: ["all"] for axis in task.axes[:1]},
        "outputs": list(task.outputs),
        **{key: value for key, value in data.items() if value != {}},
        "protocol": protocol,
        "dataset": _dataset(data["dataset"], task),
        "solvers": specs,
    }
    experiment = validated(Experiment, filled)
    _check_sweep(experiment.sweep, protocol, task.axes)
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


def _dataset(written: Any, task: type[Task]) -> DatasetSpec:
    dataset = validated(DatasetSpec, written, "dataset")
    if dataset.path is not None and dataset.name in datasets.DATASETS:
        text = f"{dataset.name!r} is a registered dataset; call the file by another name"
        raise Problem(text, "dataset", "name")
    if dataset.path is None:
        with at_key("dataset", "name"):
            datasets.get(str(dataset.name))
    if task.target == "numeric" and dataset.target is None and dataset.positive is None:
        return dataset.model_copy(update={"target": TargetSpec(numeric=True)})
    return dataset


def _check_sweep(
    sweep: Mapping[str, list[Size]], protocol: ProtocolSpec, axes: Iterable[Axis]
) -> None:
    known = {axis.name: axis for axis in axes}
    for name, sizes in sweep.items():
        check_key(name, known, "sweep")
        if len(sweep) > 1:
            raise Problem(f"varies one of {', '.join(sweep)} at a time", "sweep")
        if not sizes:
            raise Problem("must hold at least one size", "sweep", name)
        numbers = [math.inf if size == "all" else size for size in sizes]
        for i, (before, after) in enumerate(itertools.pairwise(numbers), start=1):
            if after <= before:
                raise Problem("must be ascending without repeats, 'all' last", "sweep", name, i)
        for i, size in enumerate(sizes if known[name].drawn else ()):
            why_not = "must be a whole number, got 'all'" if size == "all" else ""
            if why_not := why_not or protocol.why_not(known[name], int(size)):
                raise Problem(why_not, "sweep", name, i)

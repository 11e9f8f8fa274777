"""The small files of a results folder, each validated by a schema."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, Required

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from dsgkit.config.load import first_difference
from dsgkit.config.schema import Experiment, load_stored
from dsgkit.errors import ResultsError
from dsgkit.experiment.records import (
    Amount,
    CellSchema,
    Code,
    Count,
    First,
    Label,
    Name,
    Point,
    Records,
    Value,
    why,
)
from dsgkit.system.files import open_packed
from dsgkit.tasks.measures import Axis, Description, why_no_columns

CONFIG = "config.yaml"
DATASET = "dataset.json"
TASK = "task.json"
PLAN = "plan.json"
"""Files of a results folder, in addition to the store's."""

MAX_FILE_BYTES = 2**20
"""Bytes of each of these files, and of a line of the plan."""

_RUN_AGAIN = "run the experiment again"
_OTHER_RELEASE = f"these results are from another release: {_RUN_AGAIN}"


Environment = dict[Name, Value | Point]
"""Versions, processor and threads by name; the versions of libraries are a mapping."""


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class _EntrySchema(CellSchema, total=False):
    flops: Required[Amount]
    code: Code | None
    also_at: Annotated[list[Count], First]


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class _LeftOutSchema(TypedDict):
    kind: Literal["left_out"]
    solver: Label
    at: dict[Name, Count]


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class _TooLargeSchema(TypedDict):
    kind: Literal["too_large"]
    sizes: list[Count]
    most: Count
    taken: bool


class PlanEntry(NamedTuple):
    """A planned cell, with its approximate operations and the hash of its solver's code.

    Its result also holds at the sizes ``also_at`` on the swept axis.
    """

    key: str
    kind: str
    solver: str
    trial: int
    at: dict[str, int]
    flops: float
    code: str | None = None
    also_at: tuple[int, ...] = ()


class LeftOutEntry(NamedTuple):
    """Sizes at which the config leaves a solver out."""

    solver: str
    at: dict[str, int]


class TooLargeEntry(NamedTuple):
    """Sizes of the sweep that exceed the data, the largest possible size, and if it is swept."""

    sizes: tuple[int, ...]
    most: int
    taken: bool


class StoredPlan(NamedTuple):
    """The plan of a results folder: its cells, and the points of the sweep without cells."""

    cells: list[PlanEntry]
    left_out: list[LeftOutEntry]
    too_large: list[TooLargeEntry]


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class DatasetFacts(TypedDict, total=False):
    """Facts about a dataset."""

    name: Name | None
    title: Name | None
    content_hash: Name
    target: Name
    n_rows: Count
    n_test_rows: Count
    n_features: Count
    features: Name


@functools.cache
def _schema(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(path: Path, kind: Any) -> Any:
    """Return the validated content of a JSON file; None if there is no such file."""
    try:
        with open_packed(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror}); {_RUN_AGAIN}") from None
    if len(content) > MAX_FILE_BYTES:
        raise ResultsError(
            f"{path}: cannot be read (it is longer than {MAX_FILE_BYTES >> 20} MiB); {_RUN_AGAIN}"
        )
    try:
        return _schema(kind).validate_json(content)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            raise ResultsError(f"{path}: cannot be read ({why(error)}); {_RUN_AGAIN}") from None
        raise ResultsError(f"{path}: unexpected content ({why(error)}); {_OTHER_RELEASE}") from None


def check_settings(folder: Path, experiment: Experiment) -> None:
    """Raise `ResultsError` if a folder has results of other settings."""
    if not (folder / CONFIG).is_file():
        return
    theirs = load_stored(folder / CONFIG).model_dump(mode="json")
    if key := first_difference(experiment.model_dump(mode="json"), theirs):
        raise ResultsError(
            f"{folder}: has results of other settings ({key} differs); use another --name, or "
            "set them aside by --fresh"
        )


def read_dataset(folder: Path) -> dict[str, Any]:
    """Return a results folder's facts about its dataset; empty if the file is missing."""
    return _read(folder / DATASET, DatasetFacts) or {}


def read_environment(path: Path) -> dict[str, Any]:
    """Return an environment; empty if the file is missing."""
    return _read(path, Environment) or {}


def is_environment(content: bytes) -> bool:
    """Return whether the content of a file is an environment."""
    try:
        _schema(Environment).validate_json(content)
    except ValidationError:
        return False
    return True


def read_task(folder: Path) -> Description:
    """Return the description of a results folder's task.

    Raises
    ------
    ResultsError
        If it is missing or unreadable, or two measures have the same name.
    """
    task: Description | None = _read(folder / TASK, Description)
    if task is None:
        raise ResultsError(f"{folder / TASK}: missing; {_OTHER_RELEASE}")
    axes = [task.axis.name] if task.axis else []
    if why_not := why_no_columns(task.measures, axes):
        raise ResultsError(f"{folder / TASK}: unexpected content ({why_not}); {_OTHER_RELEASE}")
    return task


def as_plan(records: Records) -> list[PlanEntry]:
    """Return the entries of a plan that has exactly the cells of these records."""
    names = ("kind", "solver", "trial", "at")
    return [
        PlanEntry(key, **{name: records.entry(key, name) for name in names}, flops=0.0)
        for key in records
    ]


def read_plan(folder: Path, axis: Axis | None) -> StoredPlan | None:
    """Return the plan of a results folder; None if there is none.

    Raises
    ------
    ResultsError
        If it cannot be read, or its cells lack the swept axis.
    """
    path = folder / PLAN
    plan = StoredPlan([], [], [])
    try:
        with open_packed(path) as file:
            for entry in _entries(path, file):
                if isinstance(entry, PlanEntry):
                    plan.cells.append(entry)
                elif isinstance(entry, TooLargeEntry):
                    plan.too_large.append(entry)
                else:
                    plan.left_out.append(entry)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror}); {_RUN_AGAIN}") from None
    every = (entry.at for part in (plan.cells, plan.left_out) for entry in part)
    if axis is not None and not all(axis.name in at for at in every):
        problem = f"unexpected content (a cell has no number of {axis.noun})"
        raise ResultsError(f"{path}: {problem}; {_OTHER_RELEASE}")
    return plan


def _entries(path: Path, file: BinaryIO) -> Iterator[PlanEntry | LeftOutEntry | TooLargeEntry]:
    """Yield the entries of a plan: a JSON list with a line per entry and per bracket.

    Parsed as a whole, it would take ten times the memory of its text.
    """
    schema, shared = _schema(_EntrySchema), dict[Any, dict[str, int]]()
    left_out, too_large = _schema(_LeftOutSchema), _schema(_TooLargeSchema)
    lines = enumerate(iter(lambda: file.readline(MAX_FILE_BYTES), b""), start=1)
    problem = "unexpected content (its first line is not `[`)"
    if next(lines, (1, b""))[1] == b"[\n":
        problem = "cut off"
        for number, line in lines:
            if line == b"]\n":
                return
            text = line.removesuffix(b"\n").removesuffix(b",")
            try:
                if text.startswith(b'{"kind": "left_out"'):
                    point = left_out.validate_json(text)
                    yield LeftOutEntry(point["solver"], point["at"])
                    continue
                if text.startswith(b'{"kind": "too_large"'):
                    beyond = too_large.validate_json(text)
                    yield TooLargeEntry(tuple(beyond["sizes"]), beyond["most"], beyond["taken"])
                    continue
                entry = schema.validate_json(text)
            except ValidationError as error:
                problem = f"unexpected content (line {number}: {why(error)})"
                break
            entry["at"] = shared.setdefault(tuple(entry["at"].items()), entry["at"])
            entry["also_at"] = tuple(entry.get("also_at", ()))
            yield PlanEntry(**entry)
    raise ResultsError(f"{path}: {problem}; {_OTHER_RELEASE}")

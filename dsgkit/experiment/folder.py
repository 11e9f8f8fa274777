"""The small files of a results folder, each read through its schema."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Required

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from dsgkit.errors import ResultsError
from dsgkit.experiment.records import Amount, CellSchema, Count, Name, Value, why
from dsgkit.files import open_regular
from dsgkit.tasks.base import Axis, Description

CONFIG = "config.yaml"
DATASET = "dataset.json"
TASK = "task.json"
PLAN = "plan.json"
"""Files of a results folder beside the store's."""

MOST_BYTES = 2**20
"""Of each of these files, but the plan."""

_MOST_PLAN_BYTES = 2**30
_AGAIN = "run the experiment again"
_OTHER_RELEASE = f"these results are not of this release: {_AGAIN}"


Environment = dict[Name, Value | dict[Name, Value]]
"""Versions, processor, threads: by name, the libraries' under one."""


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class PlanEntry(CellSchema, total=False):
    """A cell that is planned, and about how many operations it takes."""

    flops: Required[Amount]


@with_config(ConfigDict(strict=True, allow_inf_nan=False))
class DatasetFacts(TypedDict, total=False):
    """What is known of a dataset."""

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


def _read(path: Path, kind: Any, most: int = MOST_BYTES) -> Any:
    """Return what a JSON file holds, found to be of its kind; None if there is no such file."""
    try:
        with open_regular(path) as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror}); {_AGAIN}") from None
    if len(content) > most:
        raise ResultsError(f"{path}: cannot be read (it is longer than {most >> 20} MiB); {_AGAIN}")
    try:
        return _schema(kind).validate_json(content)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            raise ResultsError(f"{path}: cannot be read ({why(error)}); {_AGAIN}") from None
        raise ResultsError(f"{path}: of another form ({why(error)}); {_OTHER_RELEASE}") from None


def read_dataset(folder: Path) -> dict[str, Any]:
    """Return what a results folder keeps of its dataset; nothing if it keeps nothing."""
    return _read(folder / DATASET, DatasetFacts) or {}


def read_environment(path: Path) -> dict[str, Any]:
    """Return an environment; empty if its file is not there."""
    return _read(path, Environment) or {}


def read_task(folder: Path) -> Description:
    """Return what a results folder keeps of its task.

    Raises
    ------
    ResultsError
        If it is not there, or cannot be read.
    """
    task = _read(folder / TASK, Description)
    if task is None:
        raise ResultsError(f"{folder / TASK}: not there; {_OTHER_RELEASE}")
    return task


def read_plan(folder: Path, axis: Axis | None) -> list[dict[str, Any]] | None:
    """Return the entries of the plan of a results folder; None if there is none.

    Raises
    ------
    ResultsError
        If it cannot be read, or its cells do not have the axis that is swept.
    """
    plan = _read(folder / PLAN, list[PlanEntry], _MOST_PLAN_BYTES)
    check_axis(folder / PLAN, plan or (), axis)
    return plan


def check_axis(path: Path, cells: Any, axis: Axis | None) -> None:
    """Raise `ResultsError` for a cell of a file that has no size on the axis that is swept."""
    if axis is not None and not all(axis.name in cell["at"] for cell in cells):
        raise ResultsError(
            f"{path}: of another form (a cell has no number of {axis.noun}); {_OTHER_RELEASE}"
        )

"""Registry of the learning settings, which are imported on first use."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any, cast

from dsgkit.errors import ConfigError, nearest_or_all, spelled
from dsgkit.tasks.base import Task
from dsgkit.users_code.own import is_import_path, modules_of, version_of

TASKS = {
    "semi_supervised_auc": "dsgkit.tasks.semi_supervised_auc:TASK",
    "semi_supervised_svm": "dsgkit.tasks.semi_supervised_svm:TASK",
    "ordinal": "dsgkit.tasks.ordinal:TASK",
    "similar_unlabeled": "dsgkit.tasks.similar_unlabeled:TASK",
    "clustering": "dsgkit.tasks.clustering:TASK",
}
"""Import path of the task of each kind."""


def get(kind: str) -> Task:
    """Return the task called ``kind``, or the user-defined one at an import path.

    Raises
    ------
    ConfigError
        If there is none, with the nearest name; or if the user-defined task is invalid.
    """
    if kind in TASKS:
        return cast(Task, pkgutil.resolve_name(TASKS[kind]))
    if is_import_path(kind):
        from dsgkit.tasks.user import load

        return load(kind)
    raise ConfigError(f"unknown task {spelled(kind)}{nearest_or_all(kind, TASKS)}")


def about(kind: str) -> str:
    """Return a sentence on a task: the first line of its module's docstring."""
    module = sys.modules[type(get(kind)).__module__]
    return (module.__doc__ or "").strip().partition("\n")[0]


def version(kind: str) -> int | str:
    """Return the version of a task, part of every cell's identity; a change reruns its cells."""
    task = get(kind)
    return task.version if is_import_path(kind) else version_of(type(task), TASKS[kind])


def modules(kind: str) -> tuple[str, ...]:
    """Return the names of the modules that define a task."""
    task = get(kind)
    if is_import_path(kind):
        known: tuple[str, ...] = cast(Any, task).modules
        return known
    return modules_of(type(task), TASKS[kind])

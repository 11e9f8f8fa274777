"""User-defined tasks: objects outside the package, given by their import path."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast, get_args

from dsgkit.data.targets import Kind
from dsgkit.errors import ConfigError, nearest_or_all, spelled
from dsgkit.tasks.base import Axis, ProtocolSpec, Task
from dsgkit.tasks.columns import why_no_columns
from dsgkit.tasks.measures import STANDARD, Measure, outputs_of
from dsgkit.users_code.own import ask_own, modules_of, version_of

_EXAMPLE = "my_module:MY_TASK"
_BASE = "dsgkit.tasks.base"
_DECLARED = ("Spec", "axes", "measures", "chooses", "outputs", "words", "trial")
_OPTIONAL = ("target", "calls", "gives", "takes", "extra")


def load(import_path: str) -> Task:
    """Return the task at ``module:attribute`` after checking its declarations.

    Raises
    ------
    ConfigError
        If there is none, importing it fails, or the runner cannot use it.
    """
    task = ask_own(
        import_path,
        "task",
        _is_task,
        lambda task: _described(import_path, task),
        _EXAMPLE,
        _BASE,
    )
    return cast(Task, task)


def _is_task(candidate: Any) -> bool:
    return not isinstance(candidate, type) and callable(getattr(candidate, "trial", None))


def _described(path: str, user_task: Any) -> SimpleNamespace:
    """Return a copy of a task's declarations, so that the user's object is read only once."""
    missing = [name for name in _DECLARED if not hasattr(user_task, name)]
    if missing:
        raise ConfigError(f"{path} lacks {', '.join(missing)}; see dsgkit.tasks.base.Task")
    declared = {name: getattr(user_task, name) for name in _DECLARED}
    declared |= {name: getattr(user_task, name, getattr(Task, name)) for name in _OPTIONAL}
    version, modules = version_of(type(user_task), path), modules_of(type(user_task), path)
    task = SimpleNamespace(kind=path, version=version, modules=modules, **declared)
    _check(task, path)
    return task


def _check(task: SimpleNamespace, path: str) -> None:
    if not (isinstance(task.Spec, type) and issubclass(task.Spec, ProtocolSpec)):
        raise ConfigError(
            f"{path}.Spec must be a class derived from dsgkit.tasks.base.ProtocolSpec, "
            f"got {spelled(task.Spec)}"
        )
    for declared in ("only_for_search", "only_for_judging"):
        names = getattr(task.Spec, declared)
        _check_tuple(f"{path}.Spec", declared, names, str)
        for name in names:
            if name not in task.Spec.model_fields:
                hint = nearest_or_all(name, task.Spec.model_fields)
                raise ConfigError(f"{path}.Spec.{declared}: no setting {name!r}{hint}")
    _check_tuple(path, "axes", task.axes, Axis)
    _check_tuple(path, "measures", task.measures, Measure)
    for declared in ("words", "calls", "gives", "takes", "extra"):
        _check_tuple(path, declared, getattr(task, declared), str)
    if task.target not in (None, *get_args(Kind)):
        hint = nearest_or_all(str(task.target), get_args(Kind))
        raise ConfigError(f"{path}.target: no kind of target {spelled(task.target)}{hint}")
    if why_not := why_no_columns((*task.measures, *STANDARD), (axis.name for axis in task.axes)):
        raise ConfigError(f"{path}.measures: {why_not}")
    names = [measure.name for measure in task.measures if measure.better]
    if task.chooses not in names:
        hint = nearest_or_all(str(task.chooses), names)
        raise ConfigError(f"{path}.chooses: no measure {task.chooses!r} with a better side{hint}")
    known = outputs_of((*task.measures, *STANDARD), swept=bool(task.axes))
    for name in task.outputs:
        if name not in known:
            raise ConfigError(f"{path}.outputs: no {name!r}{nearest_or_all(str(name), known)}")


def _check_tuple(path: str, name: str, value: Any, kind: type) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, kind) for item in value):
        raise ConfigError(f"{path}.{name} must be a tuple of {kind.__name__}, got {spelled(value)}")

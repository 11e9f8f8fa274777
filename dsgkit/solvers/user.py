"""Solvers of one's own: classes outside of the package, named by their import path."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from dsgkit.errors import ConfigError
from dsgkit.hints import did_you_mean, nearest_or_all, shown
from dsgkit.origin import one_line, shown_path
from dsgkit.solvers.base import (
    PairwiseAUCEstimator,
    SemiSupervisedClassifier,
    SemiSupervisedEstimator,
)
from dsgkit.solvers.info import SolverInfo

_NAME = r"[^\W\d]\w*"
_IMPORT_PATH = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")
_BASES = " or ".join(
    f"{base.__module__}.{base.__name__}"
    for base in (PairwiseAUCEstimator, SemiSupervisedClassifier)
)
_WRITTEN = ("fit",)
_INHERITED = ("cost", "fit_points", "get_params")


def describe(import_path: str) -> SolverInfo:
    """Return what the runner needs to know of a solver class, having checked the class.

    Parameters
    ----------
    import_path : str
        ``module:class``. The module is looked for on ``sys.path`` and then in the current folder,
        which is added to ``sys.path``.

    Returns
    -------
    SolverInfo
        With the class attribute ``batched`` (by default none), and as version the class attribute
        ``version`` or else a hash of the file that defines the class, as it was when imported.

    Raises
    ------
    ConfigError
        If there is no such class, importing it fails, or it is not one that the runner can use.
    """
    match = _IMPORT_PATH.fullmatch(import_path)
    if match is None:
        raise ConfigError(f"{import_path!r} is not an import path, such as my_module:MySolver")
    module = _import(match[1])
    return _described(import_path, _find_class(module, match[2]))


def _import(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if not {folder, ""} & set(sys.path):
        sys.path.append(folder)  # last, so that no file there takes a library's place
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_error(name, error) from error
        near = did_you_mean(name.removesuffix(".py"), [path.stem for path in Path().glob("*.py")])
        raise ConfigError(
            f"module {name!r} is neither on sys.path nor in {folder}{near}"
        ) from error
    except (Exception, SystemExit) as error:
        raise _import_error(name, error) from error


def _import_error(name: str, error: BaseException) -> ConfigError:
    return ConfigError(f"importing {name!r} raises {one_line(error)}")


def _find_class(module: ModuleType, name: str) -> type:
    found = getattr(module, name, None)
    if isinstance(found, type):
        return found
    place = shown_path(module.__file__) if module.__file__ else module.__name__
    if found is not None:
        raise ConfigError(f"{name!r} in {place} is not a class but {_a(type(found).__name__)}")
    classes = [
        other
        for other, value in vars(module).items()
        if isinstance(value, type) and value.__module__.startswith(module.__name__)
    ]
    hint = nearest_or_all(name, classes) if classes else ""
    raise ConfigError(f"{place} has no class {name!r}{hint}")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@functools.cache  # of the class: its source is read when it is imported, not when edited later
def _described(import_path: str, solver: Any) -> SolverInfo:
    _check_methods(solver)
    _check_defaults(solver)
    params = _parameters(solver)
    return SolverInfo(
        import_path,
        solver.__name__,
        import_path,
        params,
        _batched(solver, params),
        reference="",
        tasks=tuple(solver.tasks),
        version=_version(solver),
    )


def _check_methods(solver: type) -> None:
    """Refuse a class that lacks what the runner calls."""
    missing = [
        name
        for name in (*_WRITTEN, *_INHERITED)
        if not callable(getattr(solver, name, None))
        or (name in _WRITTEN and getattr(solver, name) is getattr(SemiSupervisedEstimator, name))
    ]
    if not getattr(solver, "tasks", ()):
        missing.append("tasks")
    if missing:
        inherit = f"; derive it from {_BASES}, which have all but {_and(_WRITTEN)}"
        hint = inherit if set(missing) - set(_WRITTEN) else ""
        raise ConfigError(f"{solver.__name__} lacks {_and(missing)}{hint}")


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _check_defaults(solver: type) -> None:
    """Refuse a class whose parameters cannot be told apart in the records of results."""
    try:
        defaults = solver().get_params()
    except Exception as error:
        raise ConfigError(
            f"{solver.__name__}().get_params() raises {one_line(error)}"
            "; every parameter needs a default, and an attribute of its name"
        ) from error
    for name, value in defaults.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ConfigError(
                f"the default of {solver.__name__}'s {name!r} must be a finite number, text, true, "
                f"false or null, got {shown(value)}"
            ) from None


def _parameters(solver: type) -> tuple[str, ...]:
    parameters = inspect.signature(solver).parameters.values()
    return tuple(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def _batched(solver: type, params: tuple[str, ...]) -> tuple[str, ...]:
    batched: Any = getattr(solver, "batched", ())
    if not isinstance(batched, tuple | list):
        raise ConfigError(
            f"{solver.__name__}.batched must be a tuple of parameters, got {shown(batched)}"
        )
    for name in batched:
        if name not in params:
            hint = nearest_or_all(str(name), params)
            raise ConfigError(f"{solver.__name__}.batched: no parameter {name!r}{hint}")
    return tuple(batched)


def _version(solver: type) -> int | str:
    version: Any = getattr(solver, "version", None)
    if version is None:
        return _source_hash(solver)
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise ConfigError(
            f"{solver.__name__}.version must be a whole number or text, got {shown(version)}"
        )
    return version


def _source_hash(solver: type) -> str:
    """Return a hash of the file that defines a class."""
    file = getattr(sys.modules.get(solver.__module__), "__file__", None)
    if file is None:
        raise ConfigError(
            f"{solver.__name__} comes from no file that could be watched for changes"
            "; give the class a `version`, a number to raise when its results change"
        )
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]

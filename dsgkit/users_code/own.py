"""User-defined classes and objects, named in configs by ``module:attribute``."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from dsgkit.errors import ConfigError, did_you_mean, nearest_or_all, spelled
from dsgkit.system.sources import Module, code_hash, is_ours
from dsgkit.users_code.origin import is_installed, is_of_library, mentions, shown_path
from dsgkit.users_code.rehearsal import rehearse, users_code

_NAME = r"[^\W\d]\w*"
_IMPORT_PATH = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")

_Facts = TypeVar("_Facts")
_facts: dict[tuple[str, str], tuple[object, Any]] = {}
"""Cached facts by noun and import path, each with the module that defines the object."""


def is_import_path(kind: str) -> bool:
    """Return whether a kind is ``module:attribute`` rather than a name of a catalogue."""
    return ":" in kind


def import_path_of(kind: Any) -> Any:
    """Return ``module:attribute`` for ``module.py:attribute``, and other values unchanged."""
    if not isinstance(kind, str):
        return kind
    module, colon, attribute = kind.partition(":")
    return f"{module.removesuffix('.py')}:{attribute}" if colon else kind


def is_own(kind: str) -> bool:
    """Return whether an import path leads to user code, not to a library."""
    return is_import_path(kind) and not is_installed(kind.partition(":")[0])


def ask_own(
    import_path: str,
    noun: str,
    accepts: Callable[[Any], bool],
    describe: Callable[[Any], _Facts],
    example: str,
    base: str,
) -> _Facts:
    """Import an object that a config names, and return facts about it.

    This is the only place where the main process inspects a user-defined object. It does so once
    per imported module, after a rehearsal: even access to an attribute or a class may run user
    code. Libraries need no rehearsal.

    Parameters
    ----------
    import_path : str
        ``module:attribute``. The module is searched on ``sys.path`` and then in the current
        folder, which is added to ``sys.path``.
    noun : str
        Expected kind of object, such as ``class``.
    accepts : callable
        Returns whether an object is of that kind.
    describe : callable
        Takes the accepted object and returns the facts.
    example : str
        A valid import path, for the error.
    base : str
        The package's module that contains the usual base class.

    Raises
    ------
    ConfigError
        If there is no such object, or importing or describing it fails.
    """
    match = _IMPORT_PATH.fullmatch(import_path)
    if match is None:
        raise ConfigError(f"{import_path!r} is not an import path, such as {example}")
    folder = str(Path.cwd())
    if not {folder, ""} & set(sys.path):
        sys.path.append(folder)  # last, so that no file there shadows a library
    module_name, name = match[1], match[2]
    module_then, facts = _facts.get((noun, import_path), (None, None))
    if module_then is not None and module_then is sys.modules.get(module_name):
        return cast(_Facts, facts)
    if module_name not in sys.modules and mentions(module_name, base):
        importlib.import_module(base)  # before the fork for the rehearsal, which then has it

    def ask() -> tuple[Any, _Facts]:
        with users_code(f"importing {module_name!r}", _NoModuleError):
            module = _import(module_name, folder)
        with users_code(import_path):
            return module, describe(_find(module, module_name, name, noun, accepts))

    if is_own(import_path):
        rehearse(import_path, ask)
    _facts[noun, import_path] = known = ask()
    return known[1]


class _NoModuleError(ConfigError):
    """There is no module of this name; other errors of an import come from the module."""


def _import(name: str, folder: str) -> Any:
    """Import a module; it may have replaced itself in ``sys.modules`` by any object."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        near = did_you_mean(name.removesuffix(".py"), [path.stem for path in Path().glob("*.py")])
        message = f"module {name!r} is neither on sys.path nor in {folder}{near}"
        raise _NoModuleError(message) from error


def _find(
    module: Any, module_name: str, name: str, noun: str, accepts: Callable[[Any], bool]
) -> Any:
    value = getattr(module, name, None)
    if accepts(value):
        return value
    file = getattr(module, "__file__", None)
    place = shown_path(file) if isinstance(file, str) else module_name
    if value is not None:
        kind = "class" if isinstance(value, type) else type(value).__name__
        raise ConfigError(f"{name!r} in {place} is not a {noun} but {_a(kind)}")
    others = [
        other
        for other, candidate in getattr(module, "__dict__", {}).items()
        if accepts(candidate) and str(candidate.__module__).startswith(module_name)
    ]
    hint = nearest_or_all(name, others) if others else ""
    raise ConfigError(f"{place} has no {noun} {name!r}{hint}")


def _a(noun: str) -> str:
    return f"{'an' if noun.startswith(tuple('aeiou')) else 'a'} {noun}"


def modules_of(cls: Any, import_path: str) -> tuple[str, ...]:
    """Return the names of the modules that define a class or object, without libraries.

    Parameters
    ----------
    cls : type
        The class, or the object's class; modules of its base classes count as well.
    import_path : str
        ``module:attribute``, as in the config.
    """
    classes = getattr(cls, "__mro__", (cls,))  # a function has none
    names = [import_path.partition(":")[0], *(base.__module__ for base in classes)]
    return tuple(
        name
        for name in dict.fromkeys(names)
        if (file := _file_of(name)) and (is_ours(name) or not is_of_library(file))
    )


def code_of(modules: Iterable[str], *, package: bool = True) -> str:
    """Return a hash of the code of imported modules, and of their imports from the same folder.

    Parameters
    ----------
    modules : iterable of str
        Full names.
    package : bool
        Whether modules of dsgkit count, too.
    """
    files = {name: _file_of(name) for name in modules}
    start = [Module(name, Path(file)) for name, file in files.items() if file]
    return code_hash(start, package=package)


def version_of(cls: Any, import_path: str) -> int | str:
    """Return the class attribute ``version``, or else a hash of the code that defines a class.

    For a library's class it is a hash of the file. A version inherited from a class of dsgkit does
    not count for a class elsewhere.

    Parameters
    ----------
    cls : type
    import_path : str
        ``module:attribute``, as in the config: the class, or an object of it.

    Raises
    ------
    ConfigError
        If the version is neither an integer nor a text, or the class has no file.
    """
    version: Any = getattr(cls, "version", None)
    if version is None or (_is_of_ours(cls) and not is_ours(import_path)):
        return _source_hash(cls, import_path)
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise ConfigError(
            f"{cls.__name__}.version must be a whole number or text, got {spelled(version)}"
        )
    return version


def _is_of_ours(cls: Any) -> bool:
    """Return whether a class has its version from a class of dsgkit."""
    classes = getattr(cls, "__mro__", ())
    return is_ours(next((base for base in classes if "version" in vars(base)), cls).__module__)


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)


@functools.cache  # of the class: its source is read when it is imported, not when edited later
def _source_hash(cls: Any, import_path: str) -> str:
    file = _file_of(cls.__module__)
    if file is None:
        raise ConfigError(
            f"{cls.__name__} has no source file to detect changes in"
            "; give the class a `version`, a number to raise when its results change"
        )
    modules = [name for name in modules_of(cls, import_path) if not is_ours(name)]
    if modules:
        return code_of(modules, package=False)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]

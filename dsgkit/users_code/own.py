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

from dsgkit.system.sources import Module, code_hash, is_ours
from dsgkit.text.errors import ConfigError
from dsgkit.text.hints import did_you_mean, nearest_or_all, spelled
from dsgkit.users_code.origin import is_installed, is_of_library, mentions, shown_path
from dsgkit.users_code.rehearsal import rehearse, users_code

_NAME = r"[^\W\d]\w*"
_IMPORT_PATH = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")

_Known = TypeVar("_Known")
_answers: dict[tuple[str, str], tuple[object, Any]] = {}
"""Cached answers by noun and import path, each with the module that the object was found in."""


def is_import_path(kind: str) -> bool:
    """Return whether something is meant by ``module:attribute`` rather than by a name."""
    return ":" in kind


def import_path_of(kind: Any) -> Any:
    """Return ``module:attribute`` for ``module.py:attribute``, and anything else as it is."""
    if not isinstance(kind, str):
        return kind
    module, colon, attribute = kind.partition(":")
    return f"{module.removesuffix('.py')}:{attribute}" if colon else kind


def is_own(kind: str) -> bool:
    """Return whether an import path leads to user code, and to no library."""
    return is_import_path(kind) and not is_installed(kind.partition(":")[0])


def ask_own(
    import_path: str,
    noun: str,
    accepts: Callable[[Any], bool],
    describe: Callable[[Any], _Known],
    example: str,
    base: str,
) -> _Known:
    """Import an object that a config names, and return facts about it.

    All that the main process wants to know of a user-defined object is asked here, once for a
    module that is imported, and rehearsed: whatever looks at such an object, be it for an attribute
    or a class, may have code of the user's run. Libraries need no rehearsal.

    Parameters
    ----------
    import_path : str
        ``module:attribute``. The module is looked for on ``sys.path`` and then in the current
        folder, which is added to ``sys.path``.
    noun : str
        What it is to be, such as ``class``.
    accepts : callable
        Tells whether an object is one.
    describe : callable
        Takes the object, having been found to be one.
    example : str
        An import path, for the error.
    base : str
        The package's module that its class is usually derived from.

    Raises
    ------
    ConfigError
        If there is no such thing, or importing or describing it fails.
    """
    match = _IMPORT_PATH.fullmatch(import_path)
    if match is None:
        raise ConfigError(f"{import_path!r} is not an import path, such as {example}")
    folder = str(Path.cwd())
    if not {folder, ""} & set(sys.path):
        sys.path.append(folder)  # last, so that no file there takes a library's place
    module_name, name = match[1], match[2]
    known_in, answer = _answers.get((noun, import_path), (None, None))
    if known_in is not None and known_in is sys.modules.get(module_name):
        return cast(_Known, answer)
    if module_name not in sys.modules and mentions(module_name, base):
        importlib.import_module(base)  # once: the fork that rehearses has it then

    def ask() -> tuple[Any, _Known]:
        with users_code(f"importing {module_name!r}", _NoModuleError):
            module = _import(module_name, folder)
        with users_code(import_path):
            return module, describe(_find(module, module_name, name, noun, accepts))

    if is_own(import_path):
        rehearse(import_path, ask)
    _answers[noun, import_path] = known = ask()
    return known[1]


class _NoModuleError(ConfigError):
    """No module has this name; any other `DsgError` of an import comes from the module."""


def _import(name: str, folder: str) -> Any:
    """Return a module, or whatever it has put into its place."""
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
    found = getattr(module, name, None)
    if accepts(found):
        return found
    file = getattr(module, "__file__", None)
    place = shown_path(file) if isinstance(file, str) else module_name
    if found is not None:
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise ConfigError(f"{name!r} in {place} is not a {noun} but {_a(kind)}")
    others = [
        other
        for other, value in getattr(module, "__dict__", {}).items()
        if accepts(value) and str(value.__module__).startswith(module_name)
    ]
    hint = nearest_or_all(name, others) if others else ""
    raise ConfigError(f"{place} has no {noun} {name!r}{hint}")


def _a(noun: str) -> str:
    return f"{'an' if noun.startswith(tuple('aeiou')) else 'a'} {noun}"


def modules_of(cls: Any, import_path: str) -> tuple[str, ...]:
    """Return the names of the modules that define what a config names, without libraries.

    Parameters
    ----------
    cls : type
        The class that is run, or that of the object. Those that it is derived from count as well.
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
    """Return the class attribute ``version`` or else a hash of the code that defines a class.

    Of a class that a library defines, it is a hash of the file. A version that comes from a class
    of dsgkit says nothing of code elsewhere that is derived from that.

    Parameters
    ----------
    cls : type
    import_path : str
        ``module:attribute``, as in the config: the class, or an object of it.

    Raises
    ------
    ConfigError
        If the version is none, or there is no such file.
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
    """Return whether the version of a class is that of a class of dsgkit."""
    classes = getattr(cls, "__mro__", ())
    return is_ours(next((base for base in classes if "version" in vars(base)), cls).__module__)


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)


@functools.cache  # of the class: its source is read when it is imported, not when edited later
def _source_hash(cls: Any, import_path: str) -> str:
    file = _file_of(cls.__module__)
    if file is None:
        raise ConfigError(
            f"{cls.__name__} comes from no file that could be watched for changes"
            "; give the class a `version`, a number to raise when its results change"
        )
    modules = [name for name in modules_of(cls, import_path) if not is_ours(name)]
    if modules:
        return code_of(modules, package=False)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]

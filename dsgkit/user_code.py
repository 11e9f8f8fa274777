"""User-defined classes and tasks, named in configs by ``module:name`` or ``file.py:name``.

User code is trusted like any Python file that a user runs: it is imported by the main process. What
it raises is reported in one line, with its place in the user's file.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsgkit.errors import (
    ConfigError,
    DsgError,
    did_you_mean,
    is_users_file,
    nearest_or_all,
    one_line,
    spelled,
)


def is_import_path(kind: str) -> bool:
    """Return whether a kind is ``module:name`` rather than a name of a catalogue."""
    return ":" in kind


def import_path_of(kind: str) -> str:
    """Return ``module:name`` for ``module.py:name``, and other kinds unchanged."""
    return kind.replace(".py:", ":", 1)


def load(import_path: str, noun: str, accepts: Callable[[Any], bool], example: str) -> Any:
    """Return the object at ``module:name``; modules of the current folder are found last.

    Parameters
    ----------
    import_path : str
    noun : str
        Expected kind of object, such as ``class``, for messages.
    accepts : callable
        Returns whether an object is of that kind.
    example : str
        A valid import path, for messages.

    Raises
    ------
    ConfigError
        If there is no such object, or importing its module fails.
    """
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", import_path):
        raise ConfigError(f"{import_path!r} is not an import path, such as {example}")
    module_name, _, name = import_path.partition(":")
    folder = str(Path.cwd())
    if not {folder, ""} & set(sys.path):
        sys.path.append(folder)  # last, so that no file there shadows a library
    with calling(f"importing {module_name!r}"):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise
            stem = module_name.removesuffix(".py")
            near = did_you_mean(stem, [path.stem for path in Path().glob("*.py")])
            text = f"module {module_name!r} is neither on sys.path nor in {folder}{near}"
            raise ConfigError(text) from error
    value = getattr(module, name, None)
    if accepts(value):
        return value
    place = Path(getattr(module, "__file__", None) or module_name)
    shown = place.relative_to(folder) if place.is_relative_to(folder) else place
    if value is not None:
        raise ConfigError(f"{name!r} in {shown} is not a {noun}: {spelled(value)}")
    known = [
        other
        for other, candidate in vars(module).items()
        if accepts(candidate) and candidate.__module__ == module_name
    ]
    hint = nearest_or_all(name, known) if known else ""
    raise ConfigError(f"{shown} has no {noun} {name!r}{hint}")


@contextmanager
def calling(doing: str, advice: str = "") -> Iterator[None]:
    """Turn any exception of user code in the block, even `SystemExit`, into a `ConfigError`.

    Errors of the package pass. ``doing`` says what the block does, and ``advice`` what to do about
    an error.
    """
    try:
        yield
    except DsgError:
        raise
    except (Exception, SystemExit) as error:
        hint = f"; {advice}" if advice else ""
        raise ConfigError(f"{doing} raises {one_line(error)}{hint}") from error


def version_of(cls: Any, import_path: str) -> int | str:
    """Return the version of a class: its attribute ``version``, or else a hash of its source.

    A version that a user's class inherits from one of dsgkit does not count. Of a user's class, the
    source is its file with those that it imports from the same folder, whatever else is loaded; of
    a library's class, its file.

    Raises
    ------
    ConfigError
        If the version is neither an integer nor a text, or the class has no file.
    """
    classes = getattr(cls, "__mro__", (cls,))
    stated = next((base for base in classes if "version" in vars(base)), None)
    if stated is not None and (_is_ours(import_path) or not _is_ours(stated.__module__)):
        if isinstance(stated.version, bool) or not isinstance(stated.version, int | str):
            wanted = f"must be a whole number or text, got {spelled(stated.version)}"
            raise ConfigError(f"{cls.__name__}.version {wanted}")
        return stated.version
    names = dict.fromkeys([cls.__module__, *(base.__module__ for base in classes)])
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    file = files[cls.__module__]
    if file is None:
        advice = "give the class a `version`, a number to raise when its results change"
        raise ConfigError(f"{cls.__name__} has no source file to detect changes in; {advice}")
    if not is_users_file(file):
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    sources: dict[Path, bytes] = {}
    for name, path in files.items():
        if path is not None and is_users_file(path):
            _add_sources(Path(path), Path(path).parents[name.count(".")], sources)
    content = b"".join(sources[path] for path in sorted(sources))
    return hashlib.sha256(content).hexdigest()[:16]


def _is_ours(module: str) -> bool:
    return re.match(r"dsgkit\b", module) is not None


def _add_sources(file: Path, root: Path, sources: dict[Path, bytes]) -> None:
    """Add a file and those that it imports from its folder, or from the top folder of its package.

    They are found by its import statements, in functions as well: what is loaded depends on what
    else a config names.
    """
    if file in sources:
        return
    sources[file] = file.read_bytes()
    for node in ast.walk(ast.parse(sources[file])):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names]
            modules += [node.module] if node.module else []
        else:
            continue
        level = getattr(node, "level", 0)
        for start in {file.parents[level - 1]} if level else {file.parent, root}:
            for module in modules:
                path = start.joinpath(*module.split("."))
                for source in (path.with_suffix(".py"), path / "__init__.py"):
                    if source.is_file():
                        _add_sources(source, root, sources)

"""User-defined classes and tasks, named in configs by ``module:name`` or ``file.py:name``.

User code is trusted like any Python file that a user runs: it is imported by the main process. What
it raises is reported in one line, with its place in the user's file.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from dsgkit.errors import ConfigError, DsgError, did_you_mean, nearest_or_all, spelled


def import_path_of(kind: str) -> str:
    """Return ``module:name`` for ``module.py:name``, and other kinds unchanged."""
    return kind.replace(".py:", ":", 1)


def load(import_path: str, noun: str, accepts: Callable[[Any], bool], example: str) -> Any:
    """Return the object at ``module:name``; ``accepts`` says if it is a ``noun``."""
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
            near = did_you_mean(module_name, [path.stem for path in Path().glob("*.py")])
            text = f"module {module_name!r} is neither on sys.path nor in {folder}{near}"
            raise ConfigError(text) from error
    value = getattr(module, name, None)
    if accepts(value):
        return value
    if value is not None:
        raise ConfigError(f"{import_path} is not a {noun}: {spelled(value)}")
    known = [
        other
        for other, candidate in vars(module).items()
        if accepts(candidate) and candidate.__module__ == module_name
    ]
    raise ConfigError(f"module {module_name!r} has no {noun} {name!r}{nearest_or_all(name, known)}")


@contextmanager
def calling(doing: str, advice: str = "") -> Iterator[None]:
    """Turn any exception of user code in the block, even `SystemExit`, into a `ConfigError`."""
    try:
        yield
    except DsgError:
        raise
    except (Exception, SystemExit) as error:
        hint = f"; {advice}" if advice else ""
        raise ConfigError(f"{doing} raises {one_line(error)}{hint}") from error


def version_of(cls: Any) -> int | str:
    """Return the version of a class: its attribute ``version``, or else a hash of its source.

    A version that a user's class inherits from one of dsgkit does not count. Of a user's class, the
    source is its file with all user files that it imports, also in functions, whatever else is
    loaded; of a library's class, its file.
    """
    classes = getattr(cls, "__mro__", (cls,))
    stated = next((base for base in classes if "version" in vars(base)), None)
    ours = [base for base in classes if base.__module__.startswith("dsgkit.")]
    if stated is not None and (cls in ours or stated not in ours):
        if isinstance(stated.version, bool) or not isinstance(stated.version, int | str):
            wanted = f"must be a whole number or text, got {spelled(stated.version)}"
            raise ConfigError(f"{cls.__name__}.version {wanted}")
        return stated.version
    modules = [base.__module__ for base in classes]
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    file = files[cls.__module__]
    if file is None:
        advice = "give the class a `version`, a number to raise when its results change"
        raise ConfigError(f"{cls.__name__} has no source file to detect changes in; {advice}")
    sources = {file}
    for name, file in files.items():
        if file is not None and is_users_file(file):
            folder = Path(file).parents[name.count(".")]
            finder = ModuleFinder(path=[str(folder)], excludes=["dsgkit"])
            finder.import_hook(name)
            found = (getattr(module, "__file__", None) for module in finder.modules.values())
            sources.update(filter(None, found))
    content = b"".join(path.read_bytes() for path in sorted(map(Path, sources)))
    return hashlib.sha256(content).hexdigest()[:16]


_NOT_THE_USERS = "<", str(Path(__file__).parent) + os.sep, sysconfig.get_path("stdlib") + os.sep


def is_users_file(file: str) -> bool:
    """Return whether a file of Python code is the user's: not a library's, nor this package's."""
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return not installed and not file.startswith(_NOT_THE_USERS)


def one_line(error: BaseException) -> str:
    """Return an exception's type and text, and the line of user code that it comes from."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    text = str(error)
    if isinstance(error, SyntaxError):
        text = error.msg
        places.append((error.filename or "<", error.lineno))
    text = " ".join(text[:1000].split())
    users = [_place(file, line) for file, line in places if is_users_file(file)]
    where = f" ({users[-1]})" if users else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def place_of(defined: Any) -> str:
    """Return `` (file:line)`` of a user's class or function; empty for libraries' and ours."""
    try:
        source = inspect.unwrap(defined)
        file, line = inspect.getsourcefile(source) or "<", inspect.getsourcelines(source)[1]
    except (OSError, TypeError):  # compiled, or made at run time
        return ""
    return f" ({_place(file, line)})" if is_users_file(file) else ""


def _place(file: str, line: int | None) -> str:
    """Return ``file:line``, with a path relative to the current folder if it is inside of that."""
    relative = os.path.relpath(file)
    return f"{file if relative.startswith(os.pardir) else relative}:{line}"

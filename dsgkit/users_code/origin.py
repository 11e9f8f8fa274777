"""Exceptions of user code in one line, with the place that they come from."""

from __future__ import annotations

import inspect
import os
import re
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dsgkit.system.signals import is_request

_LIBRARIES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_MAX_TEXT = 1000
"""Characters of an exception's text that are shown."""

_SITES = {"site-packages", "dist-packages"}
"""Names of further folders of libraries, such as the user's or the system's."""

_NOT_THE_USERS = ("<", str(Path(__file__).parent.parent) + os.sep)


def one_line(error: BaseException) -> str:
    """Return an exception's type and text, and the line of user code that it comes from."""
    name = type.__dict__["__name__"].__get__(type(error))  # a metaclass may override it
    words = _joined((text_of(error) or "")[:_MAX_TEXT])
    message = f"{name}: {words}" if words else name
    return message + bracketed(users_place(error))


def _joined(text: str) -> str:
    """Join lines, with a semicolon after those that do not end in punctuation."""
    lines = filter(None, (" ".join(line.split()) for line in text.splitlines()))
    return re.sub(r"(?<![.,:;!?])\n", "; ", "\n".join(lines)).replace("\n", " ")


def is_installed(module: str) -> bool:
    """Return whether a module belongs to an installed library, not to the user."""
    return is_of_library(_file_of(module))


def is_of_library(file: str) -> bool:
    """Return whether a file belongs to an installed library or to Python itself."""
    return file.startswith(_LIBRARIES) or not _SITES.isdisjoint(Path(file).parts)


def mentions(module: str, text: str) -> bool:
    """Return whether the file of a module, or of its top-level package, contains a text."""
    with suppress(OSError):
        return text.encode() in Path(_file_of(module)).read_bytes()
    return False


def _file_of(module: str) -> str:
    """Return the file of a module's top-level package; empty if it has none."""
    with suppress(ImportError, ValueError):  # it may have no spec
        spec = find_spec(module.partition(".")[0])
        return "" if spec is None else str(spec.origin)
    return ""


def text_of(error: BaseException) -> str | None:
    """Return an exception's text; None if its class fails to provide it."""
    if issubclass(type(error), SyntaxError):
        return _unless_it_fails(lambda: str.__str__(vars(SyntaxError)["msg"].__get__(error)))
    return _unless_it_fails(lambda: str.__str__(str(error)))


def users_place(error: BaseException) -> str:
    """Return the last ``file:line`` of user code in a traceback; empty if there is none."""
    return _unless_it_fails(lambda: _place(error)) or ""


def _unless_it_fails(ask: Callable[[], str]) -> str | None:
    """Return the result of calling user code, or None if it raises."""
    try:
        return ask()
    except BaseException as error:
        if is_request(error):
            raise
        return None


def place_of(defined: Any) -> str:
    """Return ``file:line`` of a user's class or function; empty for libraries and this package."""
    return _unless_it_fails(lambda: _defined_at(defined)) or ""


def bracketed(place: str) -> str:
    """Return `` (place)`` for the end of a message; empty without a place."""
    return f" ({place})" if place else ""


def _defined_at(defined: Any) -> str:
    source = inspect.unwrap(defined)
    file = inspect.getsourcefile(source) or ""
    _, line = inspect.getsourcelines(source)
    return f"{shown_path(file)}:{line}" if _is_users(file) else ""


def _is_users(file: str) -> bool:
    """Return whether a file is neither of this package nor of a library."""
    return not (file.startswith(_NOT_THE_USERS) or is_of_library(file))


def shown_path(path: str) -> str:
    """Return a path relative to the current folder, if it is inside of that."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _place(error: BaseException) -> str:
    places = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno or 1))
    users = [place for place in places if _is_users(place[0])]
    return f"{shown_path(users[-1][0])}:{users[-1][1]}" if users else ""

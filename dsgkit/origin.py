"""Exceptions of a user's own code, told in one line."""

from __future__ import annotations

import os
import sysconfig
import traceback
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

_LIBRARIES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_MOST_TEXT = 1000
"""Characters of an exception's text that are told."""

_NOT_THE_USERS = ("<", str(Path(__file__).parent) + os.sep, *_LIBRARIES)


def one_line(error: BaseException) -> str:
    """Return an exception's type and text, and the line of the user's code that it comes from."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # an exception of a user's own
        text = ""
    words = " ".join(text[:_MOST_TEXT].split())
    told = f"{type(error).__name__}: {words}" if words else type(error).__name__
    place = _place(error)
    return f"{told} ({place})" if place else told


def is_installed(module: str) -> bool:
    """Tell whether a module, which is not imported, is of a library rather than of the user."""
    with suppress(ImportError, ValueError):  # it may have no spec
        spec = find_spec(module.partition(".")[0])
        return spec is not None and str(spec.origin).startswith(_LIBRARIES)
    return False


def shown_path(path: str) -> str:
    """Return a path as seen from the current folder, if it is inside of it."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _place(error: BaseException) -> str:
    """Return ``file:line``; nothing where only libraries were at work."""
    places = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno or 1))
    users = [place for place in places if not place[0].startswith(_NOT_THE_USERS)]
    return f"{shown_path(users[-1][0])}:{users[-1][1]}" if users else ""

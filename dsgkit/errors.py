"""Errors whose text is for the user, and how messages quote names and values."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import sysconfig
import traceback
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class DsgError(Exception):
    """Base class of errors for the user: a mistake, or a limit that was met.

    The text says what is wrong, where (file, key or line) and what to do. The command line prints
    it without a traceback and exits with code 1.
    """


class ConfigError(DsgError):
    """A config, an option or a user-defined class that cannot be used."""


class DataError(DsgError, ValueError):
    """A data file, an array or a parameter's value that cannot be used."""


class MissingDataError(DataError):
    """A data file that is not on this machine and could not be downloaded."""


class ResultsError(DsgError):
    """A results folder that cannot be read or written."""


class SolverError(DsgError):
    """A solver class that violates the interface of solvers."""


class FitError(DsgError):
    """A fit that ended without a solution; results record its ``status``."""

    status = "failed"


class MemoryLimitError(FitError):
    """A fit that was refused because its predicted memory is above the limit.

    Parameters
    ----------
    needed, limit : int
        Bytes.
    """

    status = "out_of_memory"

    def __init__(self, needed: int, limit: int) -> None:
        self.needed, self.limit = needed, limit
        super().__init__(f"out of memory limit: needs {_gib(needed)} GiB, limit {_gib(limit)} GiB")

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        """Pickle by the two sizes, so that the error crosses process boundaries."""
        return type(self), (self.needed, self.limit)


class IndefiniteError(FitError):
    """A quadratic problem without a minimum: its stationary point is a saddle point."""

    status = "indefinite"


class DivergedError(FitError):
    """Iterations whose function values left the range of floating point numbers."""

    status = "diverged"


class TimeLimitError(FitError):
    """A fit that took longer than its own limit."""

    status = "time_limit"


class DsgWarning(UserWarning):
    """A result that may be unreliable; the text says why."""


FOREIGN_ERRORS = (ArithmeticError, RuntimeError, TypeError, ValueError)
"""Errors of other libraries for unsuitable parameter values, and for programming mistakes."""


def warn_of_point(point: Mapping[str, object], error: Exception) -> None:
    """Warn that there is no solution at a parameter setting."""
    setting = ", ".join(f"{name} {value}" for name, value in point.items())
    warnings.warn(f"no solution at {setting}: {error}", DsgWarning, stacklevel=3)


def _gib(size: int) -> str:
    gib = size / 2**30
    return f"{gib:.1f}" if gib >= 0.1 else f"{gib:.1g}"


def shown(value: object, most: int = 80) -> str:
    """Return the repr of a user's value for a message: in one printable line, shortened."""
    try:
        text = repr(value[: most + 1] if isinstance(value, str | bytes) else value)
    except Exception:  # a user-defined class, or an integer of too many digits
        text = f"<{type(value).__name__}>"
    return in_a_line(text, most)


def spelled(value: object) -> str:
    """Return a value as a config spells it, shortened to fit in a line."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return shown(value, 60)


def in_a_line(text: str, most: int = 60) -> str:
    """Return a text, without quotes, for a message: printable and shortened."""
    line = printable(text[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def printable(text: str) -> str:
    """Escape unprintable characters, such as line ends and terminal control codes."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def why_no_line(text: str) -> str:
    """Return why a text, such as a name or label, cannot be printed in a line; empty if it can."""
    match = re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", text)
    return "" if match is None else f"must not contain {match[0]!a}, which cannot be printed"


def listed(names: Iterable[str]) -> str:
    """Return names as a comma-separated line, shortened."""
    return in_a_line(", ".join(names), 1000)


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the known name nearest to ``name``, or nothing.

    The similarity must be at least ``likeness``, between 0 and 1.
    """
    close = difflib.get_close_matches(name[:100], list(known), n=1, cutoff=likeness)
    return f" (did you mean {spelled(close[0])}?)" if close else ""


def nearest_or_all(name: str, known: Iterable[str], command: str = "") -> str:
    """Return `did_you_mean`; if no name is near, all known names.

    If these are too many, the hint shows those that contain ``name``; if there are none, it refers
    to ``command``, which lists all names.
    """
    known = list(known)
    if hint := did_you_mean(name, known):
        return hint
    if len(", ".join(known)) <= 200:
        return f"; known: {listed(known)}"
    near = [other for other in known if name and name.lower() in other.lower()]
    if command and not near:
        return f"; `{command}` lists all {len(known)}"
    near = near or difflib.get_close_matches(name[:100], known, n=5, cutoff=0)
    hint = f"; nearest of {len(known)}: {in_a_line(', '.join(near[:5]), 200)}"
    return f"{hint}; `{command}` lists all" if command else hint


_NOT_THE_USERS = (
    "<",
    str(Path(__file__).parent) + os.sep,
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib")),
)
_SITES = {"site-packages", "dist-packages"}
"""Names of further folders of libraries, such as the user's or the system's."""


def is_users_file(file: str) -> bool:
    """Return whether a file of Python code is the user's: not a library's, nor this package's."""
    return not file.startswith(_NOT_THE_USERS) and _SITES.isdisjoint(Path(file).parts)


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

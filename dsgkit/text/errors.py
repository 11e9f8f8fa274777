"""Errors whose text is meant for the user: one clear line, no traceback needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping


def shown(value: object, most: int = 80) -> str:
    """Return the repr of a user's value for a message: in one line, shortened.

    Parameters
    ----------
    value : object
        Only the beginning of a large value is read.
    most : int
        Maximum number of characters; longer texts end in dots.

    Returns
    -------
    str
        Printable: control characters are escaped.
    """
    text = ""
    for piece in _pieces(value, most):
        text += piece[: most + 1]
        if len(text) > most:
            break
    return in_a_line(text, most)


def in_a_line(text: str, most: int = 60) -> str:
    """Return a text, without quotes, for a message: printable and shortened."""
    line = printable(text[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def printable(text: str) -> str:
    """Escape unprintable characters, such as line ends and terminal control codes."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _pieces(value: object, most: int) -> Iterator[str]:
    """Yield the repr of a value in pieces, so that a huge one is never built as a whole."""
    if type(value) in (list, tuple):
        assert isinstance(value, list | tuple)
        start, end = ("[", "]") if isinstance(value, list) else ("(", ",)"[len(value) != 1 :])
        yield start
        for i, item in enumerate(value):
            yield from [", "] * (i > 0)
            yield from _pieces(item, most)
        yield end
    elif isinstance(value, Mapping):
        yield "{"
        for i, (key, item) in enumerate(value.items()):
            yield from [", "] * (i > 0)
            yield from _pieces(key, most)
            yield ": "
            yield from _pieces(item, most)
        yield "}"
    elif isinstance(value, str | bytes):
        yield repr(value[: most + 1])
    else:
        yield _repr(value)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # a user-defined class, or an integer of too many digits
        return f"<{type(value).__name__}>"


class DsgError(Exception):
    """Base class of errors for the user: a mistake, or a limit that was met.

    The text says what is wrong, where (file, key or line) and what to do. The command line prints
    it without a traceback and exits with code 1.
    """


class ConfigError(DsgError):
    """A config file, an override or a profile that cannot be used."""


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


def _gib(size: int) -> str:
    gib = size / 2**30
    return f"{gib:.1f}" if gib >= 0.1 else f"{gib:.1g}"


class MemoryLimitError(FitError):
    """A fit that was refused because its predicted memory is above the limit.

    Parameters
    ----------
    needed, limit : int
        Bytes.
    """

    status = "out_of_memory"

    def __init__(self, needed: int, limit: int) -> None:
        self.needed = needed
        self.limit = limit
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

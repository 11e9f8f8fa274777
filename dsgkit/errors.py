"""Errors whose text is for the user, and how messages quote names and values."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping
from unicodedata import category


class DsgError(Exception):
    """Base class of errors for the user: a mistake, or a limit that was met.

    The text says what is wrong, where (file, key or line) and what to do. The command line prints
    it without a traceback and exits with code 1.
    """


class ConfigError(DsgError):
    """A config, an option or a user-defined class that cannot be used."""


class DataError(DsgError, ValueError):
    """A data file, an array or a parameter's value that cannot be used."""


class NotFiniteError(DataError):
    """Rows with NaN or infinite values, before it is known which."""

    def __init__(
        self, text: str = "features hold NaN or infinite values; remove or replace those rows"
    ) -> None:
        super().__init__(text)


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
    """A fit that was refused because its predicted memory is above the limit, both in bytes."""

    status = "out_of_memory"

    def __init__(self, needed: int, limit: int) -> None:
        super().__init__(needed, limit)  # by these it is pickled for another process
        self.needed, self.limit = needed, limit

    def __str__(self) -> str:
        sizes = (f"{n / 2**30:{'.1f' if n > 2**27 else '.1g'}} GiB" for n in self.args)
        return "out of memory limit: needs {}, limit {}".format(*sizes)


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


# of other libraries: for unsuitable parameter values, and for programming mistakes
FOREIGN_ERRORS = (ArithmeticError, RuntimeError, TypeError, ValueError)


def warn(text: str) -> None:
    """Warn at the line that called the package, by itself or by scikit-learn."""
    frame, level, passed = sys._getframe(1), 2, ("dsgkit.", "sklearn.", "joblib.")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(passed):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, DsgWarning, stacklevel=level)


def warn_of_point(point: Mapping[str, object], error: Exception) -> None:
    """Warn that there is no solution at a parameter setting."""
    setting = ", ".join(f"{name} {value}" for name, value in point.items())
    warn(f"no solution at {setting}: {error}")


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


def in_a_line(text: str, most: int | None = 60) -> str:
    """Return a text with line ends and terminal codes escaped, of at most ``most`` letters."""
    letters = text if most is None else text[: most + 1]
    safe = (x if x.isprintable() or category(x) == "Zs" else ascii(x)[1:-1] for x in letters)
    line = "".join(safe)
    return line if most is None or len(line) <= most else f"{line[: most - 3]}..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name nearest to ``name``, or nothing."""
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    return f" (did you mean {spelled(close[0])}?)" if close else ""


def nearest_or_all(name: str, known: Iterable[str], command: str = "") -> str:
    """Return the nearest known name, else all; of very many, the command that lists them."""
    known = list(known)
    hint, names = did_you_mean(name, known), ", ".join(known)
    if hint or not known:
        return hint
    if command and len(names) > 200:
        return f"; `{command}` lists all {len(known)}"
    return f"; known: {in_a_line(names, 200)}"

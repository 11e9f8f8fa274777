"""Errors whose text is meant for the user: one clear line, no traceback needed."""


class DsgError(Exception):
    """A user's mistake, or a limit that was met.

    The text says what is wrong, where (file, key or line) and what to do. The command line prints
    it alone and exits with code 1; in a notebook it is an ordinary exception.
    """


class ConfigError(DsgError):
    """A config file, an override or a profile that cannot be used."""


class DataError(DsgError, ValueError):
    """A data file, an array or a parameter's value that cannot be used."""


class MissingDataError(DataError):
    """A data file that is neither on this machine nor could be downloaded."""


class ResultsError(DsgError):
    """A results folder that cannot be read or written."""


class FitError(DsgError):
    """A fit that ended without a solution; ``status`` is the name results record for it."""

    status = "failed"


def _gib(size: int) -> str:
    gib = size / 2**30
    return f"{gib:.1f}" if gib >= 0.1 else f"{gib:.1g}"


class MemoryLimitError(FitError):
    """A fit refused because the memory it predicts is above the limit.

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
    """A quadratic problem without a minimum: the closed form would be a saddle point."""

    status = "indefinite"


class DivergedError(FitError):
    """Iterations whose function values left the range of floating point numbers."""

    status = "diverged"


class TimeLimitError(FitError):
    """A fit that took longer than its own limit."""

    status = "time_limit"


class DsgWarning(UserWarning):
    """A result that can be had but should not be trusted; the text says why."""

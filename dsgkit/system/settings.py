"""Global settings of a process that solvers and user code may change."""

from __future__ import annotations

import locale
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def kept_settings() -> Iterator[None]:
    """Restore the settings of the process after the block.

    These are numpy's handling of floating-point errors and print options, the warning filters,
    the locale, the environment variables, the current folder and the umask.
    """
    import numpy as np  # not every process that imports this module needs it

    errors, callback, buffer = np.geterr(), np.geterrcall(), np.getbufsize()
    language, variables, mask = locale.setlocale(locale.LC_ALL), dict(os.environ), os.umask(0)
    os.umask(mask)
    folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
    try:
        with np.printoptions(), warnings.catch_warnings():
            yield
    finally:
        np.seterr(**errors)
        np.seterrcall(callback)
        np.setbufsize(buffer)
        locale.setlocale(locale.LC_ALL, language)
        if dict(os.environ) != variables:
            os.environ.clear()
            os.environ.update(variables)
        with suppress(OSError):  # closed by a solver
            os.fchdir(folder)
            os.close(folder)
        os.umask(mask)

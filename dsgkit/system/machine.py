"""Threads (of which one per process may train), memory and signals of this process."""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_CGROUP = Path("/sys/fs/cgroup")
_CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_MEMORY_SHARE = 0.8
SAME_SECONDS = 2.0  # signals within this time are one request to stop

_processes = 1
_most = math.inf
_request: Interrupted | None = None


@functools.lru_cache(maxsize=1)
def _pools(n_modules: int) -> Any:
    """Return the thread pools of all loaded libraries; further imports renew the cache (5 ms)."""
    import scipy.linalg.cython_blas  # noqa: F401  numba's np.dot calls this library's BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: its threads and numba's would compete for the cores."""
    with _pools(len(sys.modules)).select(user_api="blas").limit(limits=1):
        yield


@contextmanager
def threads_for(work: float, per_thread: float) -> Iterator[None]:
    """Limit numba to as many threads as an amount of work justifies.

    Waking idle threads takes about 50 microseconds, so that one thread is faster for little work.
    ``per_thread`` is the work that occupies one thread for about 0.1 ms.
    """
    import numba  # not at once: the main process, which only hands out cells, saves 60 MiB

    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(before, int(work / per_thread))))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def set_threads(numba_threads: int, blas_threads: int) -> None:
    import numba

    numba.set_num_threads(min(numba_threads, numba.config.NUMBA_NUM_THREADS))
    _pools(len(sys.modules)).select(user_api="blas").limit(limits=blas_threads)


@contextmanager
def kept_threads() -> Iterator[None]:
    """Restore the numbers of threads of numba and all loaded libraries after the block."""
    import numba

    before = numba.get_num_threads()
    try:
        with _pools(len(sys.modules)).limit(limits=None):
            yield
    finally:
        numba.set_num_threads(before)


def hold_openmp(threads: int) -> None:
    """Limit the OpenMP threads of all loaded libraries, such as scikit-learn."""
    _pools(len(sys.modules)).select(user_api="openmp").limit(limits=threads)


def available_threads() -> int:
    """Return the number of threads that this process can run at the same time."""
    threads = len(os.sched_getaffinity(0))
    most = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(threads, int(most)) if most.isdecimal() and int(most) else threads


def constrain_memory(processes: int, most: int | None) -> None:
    """Let this process use its part of the memory of some processes, up to a limit in bytes."""
    global _processes, _most
    _processes = processes
    _most = math.inf if most is None else most


def memory_limit() -> int:
    """Return the bytes that one computation may take: 80% of what is available now, or less."""
    import psutil

    available: float = psutil.virtual_memory().available
    try:  # in a container
        used = int((_CGROUP / "memory.current").read_text())
        available = min(available, int((_CGROUP / "memory.max").read_text()) - used)
    except (OSError, ValueError):  # none, or "max"
        pass
    return max(0, int(min(_MEMORY_SHARE * available / _processes, _most)))


@functools.cache
def cache_size() -> int:
    """Return the bytes of a core's second-level cache; 1 MiB if unknown."""
    try:
        return 1024 * int(_CACHE.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        return 2**20


class Interrupted(BaseException):
    """Asked to stop, with the exit code that shells expect; libraries handle KeyboardInterrupt."""

    def __init__(self, number: int) -> None:
        self.exit_code, self.at = 128 + number, time.monotonic()
        by = signal.Signals(number).name
        super().__init__("interrupted" if number == signal.SIGINT else f"stopped by {by}")


def stop_if_asked() -> None:
    """Raise a signal's exception again: Python drops exceptions raised in a ``__del__``."""
    if _request is not None:
        raise _request


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `Interrupted` on Ctrl-C, SIGTERM, and SIGHUP when the terminal is closed."""
    global _request
    before = {
        number: signal.signal(number, _stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # set by nohup
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            # once stopped, the process is about to end: no second signal breaks that
            signal.signal(number, handler if _request is None else signal.SIG_IGN)
        _request = None


def _stop(number: int, _frame: FrameType | None) -> None:
    """Stop once: a second signal would break the orderly end."""
    global _request
    if _request is None or time.monotonic() - _request.at > SAME_SECONDS:
        _request = Interrupted(number)
        raise _request

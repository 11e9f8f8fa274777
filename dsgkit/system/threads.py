"""How many threads numba and BLAS use: many of the one, then one of the other.

Both counts are those of the process: its threads must not train at the same time. numba is imported
where it is needed: the process that only gives out cells does without it, and its 60 MiB.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


@functools.cache
def _blas() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401  numba's np.dot calls this library's BLAS

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold BLAS at one thread: its threads under numba's threads would fight for the cores."""
    with _blas().limit(limits=1):
        yield


@contextmanager
def threads_for(work: float, per_thread: float) -> Iterator[None]:
    """Hold numba at the threads that an amount of work is worth.

    Idle threads sleep, and waking them takes about 50 microseconds: small work is done faster by
    one.

    Parameters
    ----------
    work, per_thread : float
        The work, and what occupies one thread for about 0.1 ms, in any unit.
    """
    import numba

    before = numba.get_num_threads()
    wanted = max(1, min(before, int(work / per_thread)))
    if wanted == before:
        yield
        return
    numba.set_num_threads(wanted)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def set_threads(numba_threads: int, blas_threads: int) -> None:
    """Hold numba and BLAS in this process at some numbers of threads, for good."""
    import numba

    numba.set_num_threads(min(numba_threads, numba.config.NUMBA_NUM_THREADS))
    _blas().limit(limits=blas_threads)


def hold_openmp(threads: int) -> None:
    """Hold the OpenMP of all libraries that are loaded, such as scikit-learn, at some threads."""
    _pools(len(sys.modules)).select(user_api="openmp").limit(limits=threads)


@contextmanager
def kept_threads() -> Iterator[None]:
    """Restore, after the block, how many threads numba and the libraries that are loaded use."""
    import numba

    before = numba.get_num_threads()
    try:
        with _pools(len(sys.modules)).limit(limits=None):
            yield
    finally:
        numba.set_num_threads(before)


@functools.lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """Return the thread pools of all libraries, looked for again once modules were imported."""
    return ThreadpoolController()


def available_threads() -> int:
    """Return how many threads this process can run at the same time."""
    threads = len(os.sched_getaffinity(0))
    most = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(threads, int(most)) if most.isdecimal() and int(most) else threads


def thread_counts() -> tuple[int, int]:
    """Return the numbers of threads that numba and BLAS use at present."""
    import numba

    blas = max((library["num_threads"] for library in _blas().info()), default=1)
    return numba.get_num_threads(), blas

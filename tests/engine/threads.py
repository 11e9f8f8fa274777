"""Compiled code on a number of threads."""

from contextlib import contextmanager

import numba


@contextmanager
def threads(number):
    before = numba.get_num_threads()
    numba.set_num_threads(min(number, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)

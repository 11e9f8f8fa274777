"""Comparable times, and the machine's limits: matrix products, cosines and sines, all threads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from timeit import timeit

import numba
import numpy as np

from dsgkit.features.tiles import tile_features
from dsgkit.system.jit import fast_parallel, prange
from dsgkit.system.machine import single_blas_thread

PAUSE_SECONDS = 0.3  # before each timed call: BLAS threads spin for a while after a product
COLUMNS = 256  # projections of a row for timing cosines and sines


def medians(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each call; the calls are made in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(timeit(run, number=1))
    return {name: statistics.median(values) for name, values in times.items()}


@fast_parallel
def _products(A, B, out, calls):  # type: ignore[no-untyped-def]
    for part in prange(out.shape[0]):
        for _ in range(calls):
            np.dot(A[part], B, out[part])


@fast_parallel
def _sincos(Z, out, calls):  # type: ignore[no-untyped-def]
    for part in prange(out.shape[0]):
        for _ in range(calls):
            tile_features(Z[part], out[part])


def product_seconds(inner: int, columns: int) -> float:
    """Return the least seconds per row of a float32 product (rows, inner) x (inner, columns)."""
    rng = np.random.default_rng(0)
    B = rng.random((inner, columns), dtype=np.float32)
    threads = numba.get_num_threads()
    per_row = []
    with single_blas_thread():  # tiles of several sizes, one per thread and in its cache
        for rows in (24, 64, 216, 256, 512):
            A = rng.random((threads, rows, inner), dtype=np.float32)
            out = np.empty((threads, rows, columns), np.float32)
            calls = max(1, int(1e9 / (rows * inner * columns)))
            _products(A, B, out, 1)
            taken = timeit(partial(_products, A, B, out, calls), number=1)
            per_row.append(taken / (calls * threads * rows))
    # one large BLAS product with all threads
    A, out = rng.random((8192, inner), dtype=np.float32), np.empty((8192, columns), np.float32)
    np.dot(A, B, out=out)
    return min(*per_row, timeit(lambda: np.dot(A, B, out=out), number=1) / len(A))


def sincos_seconds() -> float:
    """Return the seconds per cosine and sine of one projection, by the engine's loop."""
    threads, calls, times = numba.get_num_threads(), 2000, []
    for rows in (16, 64):  # of tiles in the cache
        Z = np.random.default_rng(0).normal(size=(threads, rows, COLUMNS)).astype(np.float32)
        out = np.empty((threads, rows, 2 * COLUMNS), np.float32)
        _sincos(Z, out, 1)
        times.append(timeit(partial(_sincos, Z, out, calls), number=1) / (calls * Z.size))
    return min(times)


def feature_seconds(n_inputs: int, n_features: int) -> float:
    """Return the least seconds for the projections of a row in one block, with cosine and sine."""
    return product_seconds(n_inputs, n_features) + n_features * sincos_seconds()

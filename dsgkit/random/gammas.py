"""Gamma-distributed numbers of any shape from the counter-based stream.

The rejection method of Marsaglia & Tsang (2000), which accepts nearly all normal proposals.
Acceptance is computed in float64 by additions, multiplications, divisions and square roots alone:
as in `dsgkit.random.stream`, no compiler or library release can change it.
"""

from __future__ import annotations

import numpy as np

from dsgkit.numerics.arrays import Array
from dsgkit.random.stream import NORMALS_PER_THREAD, SCALES, key_words, normal, philox
from dsgkit.system.jit import exact, exact_parallel, prange
from dsgkit.system.machine import threads_for

_LN2 = 0.6931471805599453
_MIN_LOGARITHM = -600.0
"""The smallest logarithm of a number that differs from e^-600."""


@exact
def log(x: float) -> float:
    """Return the natural logarithm of a positive float64, to some 1e-15 (absolute and relative)."""
    exponent = 0
    while x > 1.5:
        x *= 0.5
        exponent += 1
    while x < 0.75:
        x *= 2.0
        exponent -= 1
    s = (x - 1.0) / (x + 1.0)  # log x = 2 (s + s^3/3 + s^5/5 + ..), |s| <= 1/5
    total = 0.0
    for k in range(12, -1, -1):
        total = total * s * s + 1.0 / (2 * k + 1)
    return 2.0 * s * total + exponent * _LN2


@exact
def exp(x: float) -> float:
    """Return the exponential of a float64 of at most 0, to a relative error of some 1e-13."""
    halvings = 0
    while x < -0.5:
        x *= 0.5
        halvings += 1
    total = 1.0
    for k in range(14, 0, -1):
        total = 1.0 + total * x / k
    for _ in range(halvings):
        total *= total
    return total


@exact
def _uniform(u):  # type: ignore[no-untyped-def]
    return (np.float64(u) + 0.5) / 4294967296.0


@exact
def _gamma(shape, j, block, stream, k0, k1):  # type: ignore[no-untyped-def]
    """Return entry ``j`` of a block; proposal i has counter (j, i, block, stream)."""
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    proposal = np.uint32(0)
    while True:
        w0, w1, w2, w3 = philox(j, proposal, block, stream, k0, k1)
        x = np.float64(normal(w0, w1))
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if log(_uniform(w2)) < 0.5 * x * x + d - d * v + d * log(v):
                break
        proposal = np.uint32(proposal + np.uint32(1))
    if shape >= 1.0:
        return d * v
    return d * v * exp(max(log(_uniform(w3)) / shape, _MIN_LOGARITHM))


@exact_parallel
def _fill_gammas(out, shape, first, stream, k0, k1):  # type: ignore[no-untyped-def]
    count, m = out.shape
    for task in prange(count * m):
        t, j = task // m, task % m
        out[t, j] = _gamma(shape, np.uint32(j), np.uint32(first + t), stream, k0, k1)


def gamma_blocks(seed: int, first: int, count: int, n_columns: int, shape: float) -> Array:
    """Return blocks number ``first`` to ``first + count`` of the gamma numbers of a seed.

    An entry depends only on the seed, the shape, the block and its column.

    Parameters
    ----------
    seed, first, count : int
        As in `dsgkit.random.stream.normal_blocks`.
    n_columns : int
        Length of each block.
    shape : float
        Parameter of the distribution, > 0, which is also its mean. Numbers below ``e^-600`` are
        returned as about that.

    Returns
    -------
    ndarray of float64, shape (count, n_columns)
    """
    out = np.empty((count, n_columns))
    with threads_for(out.size, NORMALS_PER_THREAD / 8):
        _fill_gammas(out, float(shape), first, np.uint32(SCALES), *key_words(seed))
    return out

"""Steps of ordinal support vector machines in all free variables of the dual at once.

Over the variables that are not at a bound the dual (`dsgkit.exact.svor`) is a concave quadratic,
which a Newton step maximises (Moré & Toraldo 1991 alternate projected gradients with such moves). A
Newton direction keeps the sum of the variables over the cuts up to each one whose slack is 0. It is
followed up to the first bound or slack that it meets, which then joins the constraints, and so on
until a full step fits. A constraint ``c'd = 0`` is a rank-one update of the matrix W that maps
gradients to directions, ``W - (W c)(W c)' / (c'W c)``; so only the inverse takes cubic time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dsgkit.linalg import Array
from dsgkit.system.jit import fast

MAX_FREE_VARIABLES = 1500
"""Largest number of free variables that are moved at once; beyond, only pairs are."""

_JITTER = 1e-6
"""Added to the diagonal before inversion: float32 columns have eigenvalues down to about minus
this. It only affects the direction; the step along it is exact."""

_JITTER_GROWTH = 100.0
"""Factor on the jitter after a failed factorisation."""


def maximise_free(
    K: Array, gradient: Array, cuts: NDArray[np.int64], low: Array, high: Array, x: Array,
    slacks: Array,
) -> None:  # fmt: skip
    """Maximise ``gradient'd - 1/2 d'K d`` approximately over moves d of the free variables.

    ``x`` are the variables, strictly within their bounds ``low`` and ``high``, and ``cuts`` their
    cuts. They and the slacks are updated in place, and so is the gradient.
    """
    _ascend(K, _inverse(K), gradient, cuts, low, high, x, slacks)


def _inverse(K: Array) -> Array:
    """Return the inverse of a kernel matrix plus the jitter that makes it positive definite."""
    jitter, failed = _JITTER, 1
    while failed:
        factor, failed = lapack.dpotrf(K + jitter * np.eye(len(K)), lower=True, overwrite_a=True)
        jitter *= _JITTER_GROWTH
    half, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    # dpotri writes only the lower triangle; dpotrf has cleared the upper one
    return np.ascontiguousarray(half + np.tril(half, -1).T)


@fast
def _ascend(K, W, gradient, cuts, low, high, x, slacks):  # type: ignore[no-untyped-def]
    """Follow Newton directions from bound to bound until a full step fits."""
    n, n_cuts = len(x), len(slacks)
    active = np.ones(n, np.bool_)
    for cut in range(n_cuts):
        if slacks[cut] <= 0.0:
            _keep_sum(W, cuts, cut)
    # each round but the last makes a constraint active
    for _ in range(n + n_cuts):
        direction = _product(W, gradient)
        _keep_sums(direction, cuts, active, slacks)
        change = _product(K, direction)
        slope, curvature = _dot(direction, gradient), _dot(direction, change)
        if not slope > 0.0:
            return
        size, bound = slope / curvature if curvature > 0.0 else np.inf, -1
        for i in range(n):
            if active[i] and direction[i] != 0.0:
                room = (high[i] if direction[i] > 0.0 else low[i]) - x[i]
                if room / direction[i] < size:
                    size, bound = room / direction[i], i
        slack_change = _slack_change(direction, cuts, slacks)
        for cut in range(n_cuts):
            if slack_change[cut] < 0.0 and -slacks[cut] / slack_change[cut] < size:
                size, bound = -slacks[cut] / slack_change[cut], n + cut
        if size == np.inf:
            return
        for i in range(n):
            x[i] = min(max(x[i] + size * direction[i], low[i]), high[i])
            gradient[i] -= size * change[i]
        for cut in range(n_cuts):
            slacks[cut] = max(slacks[cut] + size * slack_change[cut], 0.0)
        if bound < 0:
            return
        if bound < n:
            x[bound] = high[bound] if direction[bound] > 0.0 else low[bound]
            active[bound] = False
            _remove(W, bound)
        else:
            slacks[bound - n] = 0.0
            _keep_sum(W, cuts, bound - n)


@fast
def _product(matrix: Array, vector: Array) -> Array:
    """Return the product of a symmetric matrix and a vector, by rows, so that it is vectorised."""
    out = np.zeros(len(vector))
    for i in range(len(vector)):
        if vector[i] != 0.0:
            row, factor = matrix[i], vector[i]
            for k in range(len(out)):
                out[k] += factor * row[k]
    return out


@fast
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@fast
def _keep_sum(W: Array, cuts: NDArray[np.int64], last: int) -> None:
    """Restrict W to directions that keep the sum of the variables of cuts up to ``last``."""
    normal = np.empty(len(cuts))
    for i in range(len(cuts)):
        normal[i] = 1.0 if cuts[i] <= last else 0.0
    image = _product(W, normal)
    _subtract(W, image, _dot(image, normal))


@fast
def _remove(W: Array, i: int) -> None:
    """Restrict W to directions that keep variable ``i``."""
    _subtract(W, W[i].copy(), W[i, i])
    for k in range(len(W)):
        W[i, k] = W[k, i] = 0.0


@fast
def _subtract(W: Array, image: Array, squared: float) -> None:
    """Subtract ``image image' / squared`` from W, unless ``squared`` is 0."""
    if squared > 0.0:
        for i in range(len(image)):
            if image[i] != 0.0:
                row, factor = W[i], image[i] / squared
                for k in range(len(image)):
                    row[k] -= factor * image[k]


@fast
def _keep_sums(
    direction: Array, cuts: NDArray[np.int64], active: NDArray[np.bool_], slacks: Array
) -> None:
    """Remove the rounding errors of the sums between slacks of 0."""
    n_cuts = len(slacks)
    group = np.zeros(n_cuts, np.int64)
    for cut in range(1, n_cuts):
        group[cut] = group[cut - 1] + (slacks[cut - 1] <= 0.0)
    totals, counts = np.zeros(n_cuts), np.zeros(n_cuts)
    for i in range(len(direction)):
        if active[i]:
            totals[group[cuts[i]]] += direction[i]
            counts[group[cuts[i]]] += 1.0
    for i in range(len(direction)):
        g = group[cuts[i]]
        direction[i] = direction[i] - totals[g] / counts[g] if active[i] else 0.0


@fast
def _slack_change(direction: Array, cuts: NDArray[np.int64], slacks: Array) -> Array:
    """Return the change of the positive slacks per unit of the direction."""
    change = np.zeros(len(slacks))
    for i in range(len(direction)):
        change[cuts[i]] -= direction[i]
    total = 0.0
    for cut in range(len(slacks)):
        total += change[cut]
        change[cut] = total if slacks[cut] > 0.0 else 0.0
    return change

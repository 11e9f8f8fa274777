"""Trajectories of mean shift in many columns, in blocks by matrix products.

Computed point by point, the support vectors are read from memory for every point. Products of 64
points with them read them once, and differ by rounding: kernel values have a relative error of up
to 10^-8, and far less for rows of usual norms.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from dsgkit.linalg import Array
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.kernel_values import exponential
from dsgkit.system.jit import fast_parallel, prange, reducing
from dsgkit.system.machine import single_blas_thread

MIN_INPUTS = 32
"""Least columns for which products are faster."""

MAX_SQUARED_NORM = 2.0**26
"""Largest squared norm times gamma for which exponents, computed as differences, are accurate."""

BLOCK_POINTS = 64
"""Points per product."""


def by_products(domain: Domain) -> bool:
    """Return whether `follow` is accurate and faster."""
    vectors = domain.support_vectors
    if vectors.shape[1] < MIN_INPUTS:
        return False
    centred = vectors - vectors.mean(axis=0)
    return bool(domain.gamma * np.einsum("ij,ij->i", centred, centred).max() <= MAX_SQUARED_NORM)


def products_memory(n_support: int, n_inputs: int) -> int:
    """Return the bytes that `follow` allocates."""
    if n_inputs < MIN_INPUTS:
        return 0
    weights = get_num_threads() * BLOCK_POINTS * (n_support + 2 * n_inputs)
    return 8 * (3 * n_support * n_inputs + weights)


def follow(
    domain: Domain, points: Array, tol: float, most_steps: int, n_steps: NDArray[np.int64]
) -> None:
    """Move every point to the end of its trajectory, and write its number of steps.

    Parameters
    ----------
    domain : Domain
        Must satisfy `by_products`.
    points : ndarray of shape (n, n_inputs)
    tol : float
        Step length at which a trajectory ends.
    most_steps : int
    n_steps : ndarray of int64, shape (n,)
        Negative where a trajectory did not converge.
    """
    centre = domain.support_vectors.mean(axis=0)
    vectors = domain.support_vectors - centre
    columns = np.ascontiguousarray(2 * domain.gamma * vectors.T)
    offsets = domain.gamma * np.einsum("ij,ij->i", vectors, vectors)
    points -= centre
    with single_blas_thread():
        _follow(columns, offsets, vectors, domain.coefficients, tol, most_steps, points, n_steps)
    points += centre


@fast_parallel
def _follow(columns, offsets, vectors, coefficients, tol, most_steps, points, n_steps):  # type: ignore[no-untyped-def]
    """Move points block by block, until the last point of the block has converged."""
    n, n_inputs = points.shape
    for block in prange((n + BLOCK_POINTS - 1) // BLOCK_POINTS):
        first = block * BLOCK_POINTS
        n_left = min(BLOCK_POINTS, n - first)
        which = np.arange(first, first + n_left)
        current, moved = points[first : first + n_left].copy(), np.empty((n_left, n_inputs))
        weights = np.empty((n_left, len(coefficients)))
        for step in range(most_steps):
            np.dot(current[:n_left], columns, weights[:n_left])
            for i in range(n_left):
                _weigh(weights[i], offsets, coefficients)
            np.dot(weights[:n_left], vectors, moved[:n_left])
            n_before, n_left = n_left, 0
            for i in range(n_before):
                row = which[i]
                total = _sum(weights[i])
                if not total > 0.0:
                    points[row], n_steps[row] = current[i], -step - 1
                    continue
                squared = 0.0
                for k in range(n_inputs):
                    moved[i, k] /= total
                    squared += (moved[i, k] - current[i, k]) ** 2
                if squared <= tol * tol:
                    points[row], n_steps[row] = moved[i], step + 1
                    continue
                current[n_left], which[n_left] = moved[i], row
                n_left += 1
            if n_left == 0:
                break
        for i in range(n_left):
            points[which[i]], n_steps[which[i]] = current[i], -most_steps


@reducing
def _weigh(exponents, offsets, coefficients):  # type: ignore[no-untyped-def]
    """Turn exponents into weights, with kernel values relative to the largest one."""
    largest = -np.inf
    for j in range(len(exponents)):
        exponents[j] -= offsets[j]
        largest = max(largest, exponents[j])
    for j in range(len(exponents)):
        exponents[j] = coefficients[j] * exponential(exponents[j] - largest)


@reducing
def _sum(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for value in values:
        total += value
    return total

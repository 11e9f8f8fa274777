"""Basis functions evaluated at rows block by block, and their curvature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from dsgkit.engine.curvature import largest_eigenvalue as largest_of
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.system.machine import single_blas_thread
from dsgkit.trainers.linear import with_constant
from dsgkit.trainers.moments import moments
from dsgkit.trainers.panels import Correlate, Panels, in_single

BLOCK_ENTRIES = 2**21
"""Values of basis functions that `Dense` holds at a time."""


class Basis(Protocol):
    """Basis functions phi, evaluated at rows block by block."""

    def blocks(self, rows: Any, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield ``Phi W`` at blocks of rows, and the map from C to ``Phi' C`` there.

        Parameters
        ----------
        rows : rows of shape (n, n_inputs)
        W : ndarray of shape (n_functions, G)
        """
        ...


class Dense:
    """The basis functions of a map from rows to features in double precision.

    Parameters
    ----------
    features : callable
    """

    def __init__(self, features: Callable[[Any], Array]) -> None:
        self._features = features

    def blocks(self, rows: Any, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield as `Basis.blocks` does."""
        for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(W))):
            Phi = self._features(rows[block])
            yield Phi @ W, functools.partial(np.matmul, Phi.T)


class Kept:
    """Precomputed basis functions: ``rows`` are their values in single precision."""

    def blocks(self, rows: Single, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield as `Basis.blocks` does, for rows of `kept_values`."""
        weights = W.astype(np.float32)
        for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(W))):
            Phi = rows[block]
            yield (Phi @ weights).astype(np.float64), functools.partial(_correlated, Phi)


def _correlated(Phi: Single, C: Array) -> Single:
    return np.asarray(Phi.T @ C.astype(np.float32))


def can_be_kept(kernel: str, centers: Array, sigma: float) -> bool:
    """Return whether the values of ``k(., c)`` fit single precision: powers may overflow it."""
    return kernel_named(kernel).degree is None or in_single(kernel, centers, sigma)


def kept_values(kernel: str, centers: Array, sigma: float, rows: Any) -> Single:
    """Return the values of ``k(., c)`` at some rows, shape (n_rows, n_centers)."""
    out = np.empty((len(rows), len(centers)), np.float32)
    for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(centers))):
        out[block] = kernel_named(kernel).gram(rows[block], centers, sigma)
    return out


def kernel_basis(kernel: str, centers: Array, sigma: float) -> Basis:
    """Return the functions ``k(., c)`` of some centres, in single precision where it suffices."""
    if in_single(kernel, centers, sigma):
        return Panels(kernel, centers, sigma)
    return Dense(lambda rows: kernel_named(kernel).gram(rows, centers, sigma))


def linear_basis() -> Basis:
    """Return the inputs and a constant 1."""
    return Dense(with_constant)


def kernel_curvature(rows: Array, kernel: str, centers: Array, sigma: float) -> float:
    """Return the largest eigenvalue of ``Phi'Phi/n`` of ``k(., c)`` at some rows.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs)
        Their Gram matrix, n x n, is held.
    kernel : str
    centers : ndarray of shape (n_centers, n_inputs)
    sigma : float
    """

    def values(block: Array) -> Array:
        return kernel_named(kernel).gram(block, rows, sigma)

    with single_blas_thread():  # under numba's threads BLAS's are slow
        return _largest(moments(values, centers).gram) / len(rows)


def linear_curvature(rows: Array) -> float:
    """Return the largest eigenvalue of ``Phi'Phi/n`` of the inputs and a constant 1 at rows."""
    return _largest(moments(with_constant, rows).gram) / len(rows)


def _largest(gram: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix, given its lower triangle."""
    return largest_of(np.tril(gram) + np.tril(gram, -1).T)

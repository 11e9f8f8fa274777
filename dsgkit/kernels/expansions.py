"""Expansions of exact kernels, block by block of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import row_blocks

BLOCK_ENTRIES = 2**20
"""Kernel values that an expansion holds at a time."""

KernelFunction = Callable[[Array, Array], Array]
"""Maps two sets of rows to the kernel of all pairs."""


def finite_rows(rows: Any) -> Array:
    """Return rows in float64.

    Raises
    ------
    DataError
        If a feature is NaN or infinite.
    """
    rows = np.asarray(rows, np.float64)
    if not np.isfinite(rows).all():
        raise DataError("features hold NaN or infinite values; remove or replace those rows")
    return rows


def expansion_memory(n_centers: int, n_inputs: int) -> int:
    """Return the bytes that `expansion_of` allocates, beyond its result."""
    n_rows = max(1, BLOCK_ENTRIES // max(1, n_centers))
    return 8 * (4 * n_rows * n_centers + n_inputs * (n_centers + n_rows))


def expansion_of(
    kernel: KernelFunction, X: Any, centers: NDArray[Any], coefficients: NDArray[Any]
) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``.

    Parameters
    ----------
    kernel : callable
    X : rows of shape (n, n_inputs)
        Read block by block.
    centers : ndarray of shape (n_centers, n_inputs)
    coefficients : ndarray of shape (n_centers,) or (n_centers, n_functions)

    Returns
    -------
    ndarray of float64, shape (n,) or (n, n_functions)
    """
    out = np.empty((len(X), *coefficients.shape[1:]))
    centers = finite_rows(centers)
    for block in row_blocks(len(X), max(1, BLOCK_ENTRIES // max(1, len(centers)))):
        out[block] = kernel(finite_rows(X[block]), centers) @ coefficients
    return out

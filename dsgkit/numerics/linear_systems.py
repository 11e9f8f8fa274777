"""Dense symmetric systems with a penalty on the diagonal: solved once, or for many penalties."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dsgkit.errors import FitError
from dsgkit.numerics.arrays import Array

EIGH_FLOPS = 5.0
"""Time of an eigendecomposition of size n, in n^3 operations of a matrix product."""


def solve_penalised(matrix: Array, penalty: float, right: Array, *, singular: str) -> Array:
    """Solve ``(matrix + penalty I) x = right``; reads the lower triangle, overwrites the matrix.

    Raises
    ------
    FitError
        With the message ``singular``, if the system is singular to rounding.
    """
    np.einsum("ii->i", matrix)[:] += penalty
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise FitError(singular) from None
    solution: Array = linalg.cho_solve(factor, right, check_finite=False)
    return solution


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Return the eigendecomposition of a positive semi-definite matrix, which is overwritten."""
    spectrum, vectors = linalg.eigh(
        matrix, lower=True, overwrite_a=True, check_finite=False, driver="evd"
    )
    return np.maximum(spectrum, 0), vectors


def eigh_memory(n: int) -> int:
    """Return the bytes of the eigendecomposition of an n x n matrix, including work space."""
    return 3 * 8 * n * n

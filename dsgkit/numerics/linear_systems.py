"""Dense symmetric systems with a penalty on the diagonal: solved once, or for many penalties."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dsgkit.numerics.arrays import Array
from dsgkit.text.errors import FitError

EIGH_FLOPS = 5.0
"""An eigendecomposition of size n takes as long as about so many n^3 operations of a product."""


def solve_penalised(matrix: Array, penalty: float, right: Array, *, singular: str) -> Array:
    """Solve ``(matrix + penalty I) x = right`` in the memory of the matrix, its lower triangle.

    Raises
    ------
    FitError
        With the text ``singular``, if the system is singular to rounding.
    """
    np.einsum("ii->i", matrix)[:] += penalty
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise FitError(singular) from None
    solution: Array = linalg.cho_solve(factor, right, check_finite=False)
    return solution


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Eigendecomposition of a positive semi-definite matrix, in its own memory."""
    spectrum, vectors = linalg.eigh(
        matrix, lower=True, overwrite_a=True, check_finite=False, driver="evd"
    )
    return np.maximum(spectrum, 0), vectors


def eigh_memory(n: int) -> int:
    """Return the bytes of an n x n matrix under eigendecomposition, work space included."""
    return 3 * 8 * n * n

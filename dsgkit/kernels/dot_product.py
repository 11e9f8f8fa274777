"""Dot-product kernels: exact values. Their random features are in `dsgkit.features.sketch`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dsgkit.errors import DataError
from dsgkit.kernels.base import Kernel
from dsgkit.kernels.expansions import expansion_memory, expansion_of, finite_rows
from dsgkit.numerics.arrays import Array

LARGEST_DEGREE = 20

LARGEST_VALUE = 2.0**80
"""Largest ``k(x, x)`` of labelled rows: the engine sums values in float32."""

FARTHEST_VALUE = 2.0**126
"""Largest ``k(x, x)`` of all other rows: products of their features stay within float32."""


def dot_product(degree: int) -> Kernel:
    """Return the kernel ``(sigma <x, x'>)^p``; of degree 1 it is the linear one.

    Parameters
    ----------
    degree : int
        p, in 1..20.

    Raises
    ------
    ValueError
        If it is out of range.
    """
    if not 1 <= degree <= LARGEST_DEGREE:
        raise ValueError(f"p must be in 1..{LARGEST_DEGREE}, got {degree}")

    def values(A: Array, B: Array, sigma: float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            powers = (sigma * (A @ B.T)) ** degree
        if not np.isfinite(powers).all():
            raise DataError(f"features too large for sigma={sigma:g}: scale them, e.g. to [0, 1]")
        return powers

    def gram(A: Any, B: Any, sigma: float) -> Array:
        return values(finite_rows(A), finite_rows(B), sigma)

    def expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
        return expansion_of(lambda A, B: values(A, B, sigma), X, centers, coefficients)

    return Kernel(
        name=f"dot_product({degree})",
        formula="(sigma <x, x'>)^p",
        gram=gram,
        expansion=expansion,
        memory=expansion_memory,
        longest=lambda sigma: math.sqrt(LARGEST_VALUE ** (1 / degree) / sigma),
        farthest=lambda sigma: math.sqrt(FARTHEST_VALUE ** (1 / degree) / sigma),
        degree=degree,
    )

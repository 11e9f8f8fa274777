"""The linear kernel: exact values. It needs no random features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dsgkit.errors import DataError
from dsgkit.kernels.base import Kernel
from dsgkit.kernels.expansions import expansion_memory, finite_rows
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import row_blocks

BLOCK_ROWS = 4096
"""Rows that an expansion reads at a time."""


def linear_gram(A: Any, B: Any, sigma: float) -> Array:
    """Return ``<a, b> + 1`` of all pairs of rows; sigma is not used."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(finite_rows(A) @ finite_rows(B).T + 1)


def linear_expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
    """Return ``sum_j coefficients[j] k(centers[j], x)`` at the rows x of ``X``."""
    out = np.empty((len(X), *coefficients.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):
        slope, bias = finite_rows(centers).T @ coefficients, coefficients.sum(axis=0)
        for block in row_blocks(len(X), BLOCK_ROWS):
            out[block] = finite_rows(X[block]) @ slope + bias
    return _finite(out)


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise DataError("features too large for the linear kernel: scale them, e.g. to [0, 1]")
    return values


LINEAR = Kernel(
    name="linear",
    formula="<x, x'> + 1",
    gram=linear_gram,
    expansion=linear_expansion,
    memory=expansion_memory,
    longest=lambda sigma: math.inf,
    farthest=lambda sigma: math.inf,
)

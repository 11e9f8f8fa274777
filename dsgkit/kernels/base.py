"""What a kernel is: its formula, its exact values and the law of its random features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Normals = Callable[[int], NDArray[np.float32]]
"""Takes a number of rows to independent standard normals, shape (n_blocks, n_rows, m).

A new array at every call, but of the same numbers: more rows begin with those of fewer.
"""


@dataclass(frozen=True)
class Kernel:
    """A kernel function of pairs of rows.

    Attributes
    ----------
    name, formula : str
    gram : callable
        ``(A, B, sigma)`` to the exact values of all pairs of rows, float64 of shape (n_a, n_b).
    expansion : callable
        ``(X, centers, coefficients, sigma)`` to ``sum_j coefficients[j] k(centers[j], x)`` at the
        rows x of X, float64 of shape (n,).
    frequencies : callable or None
        The law of w in ``k(x, x') = E[cos(w.(x - x'))]`` (Bochner), where the kernel has one:
        ``(normals, n_inputs, sigma)`` to frequencies in radians, a new array of float32 of shape
        (n_blocks, n_inputs, m), made of standard normals.
    """

    name: str
    formula: str
    gram: Callable[[Any, Any, float], NDArray[np.float64]]
    expansion: Callable[[Any, NDArray[np.float64], NDArray[np.float64], float], NDArray[np.float64]]
    frequencies: Callable[[Normals, int, float], NDArray[np.float32]] | None = None

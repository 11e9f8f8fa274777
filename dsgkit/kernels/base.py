"""Base class of kernels: formula, exact values and distribution of random frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dsgkit.numerics.arrays import Array, Single


class Draws(Protocol):
    """Random numbers for the frequencies of some blocks, m per block.

    Every call returns a new array with the same numbers.
    """

    def normals(self, n_rows: int) -> Single:
        """Return independent standard normals, shape (n_blocks, n_rows, m).

        The first rows do not depend on ``n_rows``. Rows 2k and 2k + 1 are the two coordinates of
        points in a plane.
        """
        ...

    def gammas(self, shape: float) -> Array:
        """Return independent gamma-distributed numbers, shape (n_blocks, m)."""
        ...


@dataclass(frozen=True)
class Spectrum:
    """Distribution of w in ``k(x, x') = E[cos(w.(x - x'))]`` (Bochner).

    Attributes
    ----------
    frequencies : callable
        Maps ``(draws, n_inputs, sigma)`` to frequencies in radians, a new array of float32 of shape
        (n_blocks, n_inputs, m).
    heavy_tailed : bool
        Whether projections may be of any size; else those of accepted rows are below 2^22 half
        turns.
    """

    frequencies: Callable[[Draws, int, float], Single]
    heavy_tailed: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel function of pairs of rows.

    Attributes
    ----------
    name : str
        Name including parameters, such as ``matern(1.5)``.
    gram : callable
        Maps ``(A, B, sigma)`` to the exact values of all pairs of rows, float64 of shape
        (n_a, n_b).
    expansion : callable
        Maps ``(X, centers, coefficients, sigma)`` to ``sum_j coefficients[j] k(centers[j], x)`` at
        the rows x of X, float64 of shape (n,) or (n, n_functions).
    memory : callable
        Maps ``(n_centers, n_inputs)`` to the bytes that ``expansion`` allocates, beyond its result.
    longest : callable
        Maps ``sigma`` to the largest norm of labelled rows with accurate random features.
    farthest : callable
        Maps ``sigma`` to the largest norm of all other rows.
    norm : {1, 2}
        The norm of a row in both: the sum of absolute values, or the Euclidean one.
    spectrum : Spectrum or None
        None without Fourier features.
    degree : int or None
        p of ``(sigma <x, x'>)^p``; None for other kernels.
    """

    name: str
    formula: str
    gram: Callable[[Any, Any, float], Array]
    expansion: Callable[[Any, Array, Array, float], Array]
    memory: Callable[[int, int], int]
    longest: Callable[[float], float]
    farthest: Callable[[float], float]
    norm: Literal[1, 2] = 2
    spectrum: Spectrum | None = None
    degree: int | None = None

    @property
    def has_random_features(self) -> bool:
        """Whether the kernel has random features, Fourier features or sketches."""
        return self.spectrum is not None or self.degree is not None

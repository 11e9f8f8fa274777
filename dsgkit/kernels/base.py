"""Base class of kernels: formula, exact values and the law of the random features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dsgkit.numerics.arrays import Array, Single


class Draws(Protocol):
    """The random numbers that the frequencies of some blocks, m to a block, are made of.

    A new array at every call, but of the same numbers.
    """

    def normals(self, n_rows: int) -> Single:
        """Return independent standard normals, shape (n_blocks, n_rows, m).

        More rows begin with those of fewer. Rows 2k and 2k + 1 are the two coordinates of points
        of a plane.
        """
        ...

    def gammas(self, shape: float) -> Array:
        """Return independent numbers of a gamma law, shape (n_blocks, m)."""
        ...


@dataclass(frozen=True)
class Spectrum:
    """The law of w in ``k(x, x') = E[cos(w.(x - x'))]`` (Bochner).

    Attributes
    ----------
    frequencies : callable
        ``(draws, n_inputs, sigma)`` to frequencies in radians, a new array of float32 of shape
        (n_blocks, n_inputs, m).
    heavy_tailed : bool
        Whether projections may be of any size; else those of rows that the kernel takes are below
        2^22 half turns.
    """

    frequencies: Callable[[Draws, int, float], Single]
    heavy_tailed: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel function of pairs of rows.

    Attributes
    ----------
    name : str
        With its own parameters, such as ``matern(1.5)``.
    gram : callable
        ``(A, B, sigma)`` to the exact values of all pairs of rows, float64 of shape (n_a, n_b).
    expansion : callable
        ``(X, centers, coefficients, sigma)`` to ``sum_j coefficients[j] k(centers[j], x)`` at the
        rows x of X, float64 of shape (n,) or (n, n_functions).
    memory : callable
        ``(n_centers, n_inputs)`` to the bytes that ``expansion`` allocates, beyond its result.
    longest : callable
        ``sigma`` to the largest norm of the labelled rows that random features are made of.
    farthest : callable
        ``sigma`` to that of all other rows: beyond, their features would be wrong.
    norm : {1, 2}
        Which norm of a row that is: the sum of the absolute values, or the Euclidean one.
    spectrum : Spectrum or None
        Where the kernel has one.
    degree : int or None
        The p of ``(sigma <x, x'>)^p`` where it is that.
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
        """Whether random features approximate it: Fourier features, or sketches."""
        return self.spectrum is not None or self.degree is not None

"""Random Fourier features of shift-invariant kernels, block by block from the stream.

``k(x, x') = E[cos(w.(x - x'))]`` over the law of w that belongs to the kernel (Bochner; Rahimi &
Recht 2007), so ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]`` has
``E <phi(x), phi(x')> = k(x, x')``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.features.tiles import cos_sin
from dsgkit.mapped import read_rows
from dsgkit.random.stream import normal_blocks
from dsgkit.threads import single_blas_thread


def gaussian_frequencies(
    seed: int, first: int, count: int, n_inputs: int, n_frequencies: int, sigma: float
) -> NDArray[np.float32]:
    """Return blocks of N(0, 2 sigma I) frequencies, those of ``exp(-sigma ||x - x'||^2)``."""
    normals = normal_blocks(seed, first, count, n_inputs, n_frequencies)
    normals *= np.float32(np.sqrt(2 * sigma))
    return normals


@dataclass(frozen=True)
class ShiftInvariantKernel:
    """A kernel and the law of the frequencies that belongs to it.

    Attributes
    ----------
    name, formula : str
    frequencies : callable
        ``(seed, first, count, n_inputs, n_frequencies, sigma)`` to ``count`` blocks of
        frequencies in radians, a new array of float32 of shape (count, n_inputs, n_frequencies).
    """

    name: str
    formula: str
    frequencies: Callable[[int, int, int, int, int, float], NDArray[np.float32]]


KERNELS = {
    kernel.name: kernel
    for kernel in (
        ShiftInvariantKernel("gaussian", "exp(-sigma ||x - x'||^2)", gaussian_frequencies),
    )
}
"""The kernels that features can be drawn for, by name."""


@dataclass(frozen=True)
class FourierFeatures:
    """The blocks of random Fourier features that a kernel, its parameter and a seed stand for.

    Parameters
    ----------
    kernel : str
        A name in `KERNELS`.
    sigma : float
        Parameter of the kernel, as in ``exp(-sigma ||x - x'||^2)``.
    n_frequencies : int
        Frequencies m of a block; it has 2m features.
    seed : int
        Seed of the stream; blocks are numbered from 0.
    """

    kernel: str
    sigma: float
    n_frequencies: int
    seed: int

    def frequencies(self, first: int, count: int, n_inputs: int) -> NDArray[np.float32]:
        """Return the frequencies w of blocks ``first`` to ``first + count``.

        Returns
        -------
        ndarray of float32, shape (count, n_inputs, n_frequencies)
        """
        law = KERNELS[self.kernel].frequencies
        return law(self.seed, first, count, n_inputs, self.n_frequencies, self.sigma)

    def half_turns(self, first: int, count: int, n_inputs: int) -> NDArray[np.float32]:
        """Return ``frequencies / pi``, as the compiled kernels take them."""
        W = self.frequencies(first, count, n_inputs)
        W *= np.float32(1 / np.pi)
        return W

    def transform(self, X: Any, block: int) -> NDArray[np.float32]:
        """Return the features of a block at the rows of ``X``.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
        block : int

        Returns
        -------
        ndarray of float32, shape (n, 2 * n_frequencies)
        """
        X = read_rows(X, slice(None))
        with single_blas_thread():
            features = cos_sin(X, self.half_turns(block, 1, X.shape[1])[0])
        features *= np.float32(np.sqrt(1 / self.n_frequencies))
        return features

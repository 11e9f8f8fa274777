"""Blocks of random features, and the random Fourier features of shift-invariant kernels.

``k(x, x') = E[cos(w.(x - x'))]`` over the spectral distribution of w (Bochner; Rahimi & Recht
2007), so ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]`` has
``E <phi(x), phi(x')> = k(x, x')``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features.tiles import add_blocks, correlate, cos_sin
from dsgkit.kernels import check_projections
from dsgkit.linalg import Array, Single, read_rows, row_blocks
from dsgkit.random import normal_blocks
from dsgkit.system.machine import single_blas_thread

BLOCK_BYTES = 2**22
"""Bytes of frequencies and coefficients per call: they stay in the last-level cache."""


class Blocks:
    """Blocks t = 0, 1, .. of random features of a kernel, defined by its parameters and a seed.

    Block t is ``phi_t(x) = scale psi_t(x)`` with ``E <phi_t(x), phi_t(x')> = k(x, x')``.
    Coefficients belong to ``psi_t``: they include the scale twice, of the features from which they
    were computed and of those with which they are multiplied.

    Here ``psi`` is a cosine and a sine for each of ``n_frequencies``: a subclass has ``draw(block,
    n_inputs)``, the random numbers of a block, and ``cos_sin(X, drawn)``, its ``psi`` at rows; or
    else its own `transform`, ``width`` (the number of features) and ``scale``.
    """

    kernel: str
    sigma: float
    seed: int
    n_frequencies: int
    draw: Any
    cos_sin: Any

    @property
    def width(self) -> int:
        return 2 * self.n_frequencies

    @property
    def scale(self) -> float:
        return float(np.sqrt(1 / self.n_frequencies))

    def read(self, table: Any, index: slice | NDArray[np.integer]) -> Single:
        """Copy rows of a table as the other methods take them; refuse rows too far out, and NaN."""
        with np.errstate(over="ignore"):  # a number beyond single precision becomes infinite
            rows = read_rows(table, index)
        check_projections(rows, self.sigma, self.kernel, labeled=False)
        return rows

    def in_order(self, n_inputs: int, n_blocks: int) -> Blocks:
        """Return the same blocks for access in order, which may be drawn many at a time."""
        return self

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        """Add ``sum_t psi_{first + t}(x) coefficients[t]`` to the values at rows x, in place.

        Coefficients are of shape (n_blocks, width, G), values (n, G).
        """
        raise NotImplementedError

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        """Return the coefficients of ``factor * sum_i C[i] k(x_i, .)`` in the features of a block.

        They are ``scale^2 sum_i psi(x_i) C[i] * factor``, shape (width, G); C is of shape (n, G).
        """
        raise NotImplementedError

    def transform(self, X: Any, block: int) -> Single:
        """Return the features ``phi`` of a block at rows, shape (n, width)."""
        X = read_rows(X, slice(None))
        with single_blas_thread():
            features: Single = self.cos_sin(X, self.draw(block, X.shape[1]))
        features *= np.float32(self.scale)
        return features

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block's features at one row, as counted in `Cost`."""
        raise NotImplementedError


@dataclass
class FourierFeatures(Blocks):
    """Random Fourier features of the Gaussian or the Laplacian kernel."""

    kernel: str
    sigma: float
    n_frequencies: int
    seed: int

    def __post_init__(self) -> None:
        self._wide = self.kernel != "gaussian"  # heavy tails: products may exceed 2^22 half turns

    def row_flops(self, n_inputs: int) -> float:
        return self.n_frequencies * (2 * n_inputs + FUNCTION_FLOPS)

    def frequencies(self, first: int, count: int, n_inputs: int) -> Single:
        """Return the frequencies w of some blocks, float32 of shape (count, n_inputs, m).

        Those of the Gaussian kernel are from N(0, 2 sigma I). Those of the Laplacian have
        independent Cauchy coordinates of scale sigma: cotangents of random angles, as quotients of
        two normals with a common radius. A coordinate is 0 if the radius is 0 (one in 2^25) or the
        cotangent undefined (one in 2^32).
        """
        m = self.n_frequencies
        if self.kernel == "gaussian":
            W = normal_blocks(self.seed, first, count, n_inputs, m)
            W *= np.float32(np.sqrt(2 * self.sigma))
            return W
        N = normal_blocks(self.seed, first, count, 2 * n_inputs, m)
        cosines, sines = N[:, ::2], N[:, 1::2]
        W = np.zeros_like(cosines)
        np.divide(cosines, sines, out=W, where=sines != 0)
        W *= np.float32(self.sigma)
        return W

    def half_turns(self, first: int, count: int, n_inputs: int) -> Single:
        W = self.frequencies(first, count, n_inputs)
        W *= np.float32(1 / np.pi)
        return W

    def draw(self, block: int, n_inputs: int) -> Single:
        return self.half_turns(block, 1, n_inputs)[0]

    def in_order(self, n_inputs: int, n_blocks: int) -> FourierFeatures:
        return _InOrder(self, n_inputs, n_blocks)

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        n_inputs = X.shape[1]
        length = blocks_at_once(n_inputs, self.n_frequencies, values.shape[1])
        for run in row_blocks(len(coefficients), length):
            part = coefficients[run]
            W = self.half_turns(first + run.start, len(part), n_inputs)
            add_blocks(X, W, part, values, wide=self._wide)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        out = correlate(X, self.draw(block, X.shape[1]), C, wide=self._wide)
        out *= (factor / self.n_frequencies).astype(np.float32)
        return out

    def cos_sin(self, X: Single, W: Single) -> Single:
        return cos_sin(X, W, wide=self._wide)


class _InOrder(FourierFeatures):
    """The same blocks, drawn many at a time."""

    def __init__(self, blocks: FourierFeatures, n_inputs: int, n_blocks: int) -> None:
        super().__init__(blocks.kernel, blocks.sigma, blocks.n_frequencies, blocks.seed)
        self.n_blocks, self.first = n_blocks, 0
        self.drawn = np.empty((0, n_inputs, self.n_frequencies), np.float32)

    def half_turns(self, first: int, count: int, n_inputs: int) -> Single:
        if not self.first <= first <= self.first + len(self.drawn) - count:
            ahead = min(blocks_at_once(n_inputs, self.n_frequencies, 0), self.n_blocks - first)
            self.drawn = super().half_turns(first, max(count, ahead), n_inputs)
            self.first = first
        return self.drawn[first - self.first :][:count]


def blocks_at_once(n_inputs: int, n_frequencies: int, n_models: int) -> int:
    """Return how many blocks are drawn or added in one call, within `BLOCK_BYTES`."""
    return max(1, BLOCK_BYTES // (4 * n_frequencies * (n_inputs + 2 * n_models)))

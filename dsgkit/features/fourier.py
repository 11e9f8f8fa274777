"""Random Fourier features of shift-invariant kernels, block by block from the stream.

``k(x, x') = E[cos(w.(x - x'))]`` over the spectral distribution of w (Bochner; Rahimi & Recht
2007), so ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]`` has
``E <phi(x), phi(x')> = k(x, x')``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features.cosines import CosinesAndSines, frequencies_of
from dsgkit.features.tiles import add_blocks, correlate, cos_sin
from dsgkit.kernels import Spectrum, kernel_named, read_within
from dsgkit.linalg import Array, Single
from dsgkit.random import gamma_blocks, normal_blocks

BLOCK_BYTES = 2**22
"""Bytes of frequencies and coefficients per call.

Many blocks, but few enough that they stay in the last-level cache for all tiles of rows.
"""


def blocks_at_once(n_inputs: int, n_frequencies: int, n_models: int) -> int:
    """Return how many blocks are added in one call, within `BLOCK_BYTES`."""
    return max(1, BLOCK_BYTES // (4 * n_frequencies * (n_inputs + 2 * n_models)))


@dataclass(frozen=True)
class _BlockDraws:
    """The `Draws` of a run of blocks."""

    seed: int
    first: int
    count: int
    n_columns: int

    def normals(self, n_rows: int) -> Single:
        return normal_blocks(self.seed, self.first, self.count, n_rows, self.n_columns)

    def gammas(self, shape: float) -> Array:
        return gamma_blocks(self.seed, self.first, self.count, self.n_columns, shape)


@dataclass(frozen=True)
class FourierFeatures(CosinesAndSines):
    """`FeatureBlocks` of random Fourier features, for kernels with a `Spectrum`.

    Parameters
    ----------
    kernel : str
        See `kernel_named`.
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

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], width: int) -> FourierFeatures:
        """Return the features with these `entries` and ``width`` features per block."""
        return cls(
            kernel=str(entries["kernel"]),
            sigma=float(entries["sigma"]),
            n_frequencies=frequencies_of(width),
            seed=int(entries["seed"]),
        )

    def entries(self) -> dict[str, Any]:
        """Return the entries of a model file."""
        return {"kernel": self.kernel, "sigma": self.sigma, "seed": np.uint64(self.seed)}

    @property
    def _spectrum(self) -> Spectrum:
        spectrum = kernel_named(self.kernel).spectrum
        assert spectrum is not None
        return spectrum

    @property
    def _wide(self) -> bool:
        return self._spectrum.heavy_tailed

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block's projections, cosines and sines at one row."""
        return self.n_frequencies * (2 * n_inputs + FUNCTION_FLOPS)

    def frequencies(self, first: int, count: int, n_inputs: int) -> Single:
        """Return the frequencies w of blocks ``first`` to ``first + count``.

        Returns
        -------
        ndarray of float32, shape (count, n_inputs, n_frequencies)
        """
        draws = _BlockDraws(self.seed, first, count, self.n_frequencies)
        return self._spectrum.frequencies(draws, n_inputs, self.sigma)

    def half_turns(self, first: int, count: int, n_inputs: int) -> Single:
        """Return ``frequencies / pi``, the unit of the compiled kernels."""
        W = self.frequencies(first, count, n_inputs)
        W *= np.float32(1 / np.pi)
        return W

    def draw(self, block: int, n_inputs: int) -> Single:
        """Return the frequencies of a block in half turns, as for `cos_sin`."""
        return self.half_turns(block, 1, n_inputs)[0]

    def read(self, table: Any, index: slice | NDArray[np.integer]) -> Single:
        """Copy rows of a table; raise for those whose features would be wrong."""
        return read_within(table, index, self.kernel, self.sigma)

    def in_order(self, n_inputs: int, n_blocks: int) -> _InOrder:
        """Return the sums for access in order; blocks are drawn many at a time."""
        return _InOrder(self, n_inputs, n_blocks)

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        """Add a run of blocks at the rows of ``X`` to ``values``; see `BlockSums`."""
        n_inputs = X.shape[1]
        length = blocks_at_once(n_inputs, self.n_frequencies, values.shape[1])
        for start in range(0, len(coefficients), length):
            part = coefficients[start : start + length]
            W = self.half_turns(first + start, len(part), n_inputs)
            add_blocks(X, W, part, values, wide=self._wide)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        """Return the coefficients of an expansion in a block's features; see `BlockSums`."""
        return self._correlate(X, self.draw(block, X.shape[1]), C, factor)

    def cos_sin(self, X: Single, W: Single) -> Single:
        """Return the cosines and sines ``psi`` of a block's `half_turns`, shape (n, width)."""
        return cos_sin(X, W, wide=self._wide)

    def _correlate(self, X: Single, W: Single, C: Single, factor: Array) -> Single:
        out = correlate(X, W, C, wide=self._wide)
        out *= (factor / self.n_frequencies).astype(np.float32)
        return out


class _InOrder:
    """Sums of Fourier features in order; frequencies are drawn for many blocks in advance."""

    def __init__(self, features: FourierFeatures, n_inputs: int, n_blocks: int) -> None:
        self._features = features
        self._n_inputs = n_inputs
        self._n_blocks = n_blocks
        self._first = 0
        self._half_turns = np.empty((0, n_inputs, features.n_frequencies), np.float32)

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        add_blocks(X, self._block(first)[None], coefficients, values, wide=self._features._wide)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        return self._features._correlate(X, self._block(block), C, factor)

    def _block(self, t: int) -> Single:
        """Return the frequencies of block t, in half turns."""
        if t - self._first >= len(self._half_turns):
            length = blocks_at_once(self._n_inputs, self._features.n_frequencies, 0)
            count = min(length, self._n_blocks - t)
            self._half_turns = self._features.half_turns(t, count, self._n_inputs)
            self._first = t
        return self._half_turns[t - self._first]

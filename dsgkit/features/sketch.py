"""Random features of dot product kernels: TensorSketch, block by block from the stream.

A count sketch adds the entries of x, each with a random sign, into D random places. The p-fold
circular convolution of p independent ones is a count sketch of all products of p entries, which has
``E <psi(x), psi(x')> = <x, x'>^p`` [1]_; its variance is at most ``(2 + 3^p) / D`` times
``||x||^(2p) ||x'||^(2p)`` [2]_. The convolution is a product in the frequency domain. There the
features stay: the discrete Fourier transform is a rotation (times a constant), and changes neither
products of features nor functions.

References
----------
.. [1] Pham & Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.
.. [2] Avron, Nguyen & Woodruff, "Subspace embeddings for the polynomial kernel", NIPS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import fft

from dsgkit._jit import exact_parallel, prange
from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import row_blocks
from dsgkit.mapped import read_rows
from dsgkit.random.stream import SKETCHES, words
from dsgkit.threads import single_blas_thread

TILE_BYTES = 2**21
"""Of the sketches of a tile of rows: they stay in cache between the transforms."""


@exact_parallel
def _count_sketch(X, scale, places, signs, out):  # type: ignore[no-untyped-def]
    for i in prange(X.shape[0]):
        row, x = out[i], X[i]
        row[:] = 0.0
        for k in range(X.shape[1]):
            row[places[k]] += signs[k] * (scale * np.float64(x[k]))


@dataclass(frozen=True)
class SketchFeatures:
    """The blocks of TensorSketch that a dot product kernel, its parameter and a seed stand for.

    The `FeatureBlocks` of the kernels ``(sigma <x, x'>)^p``. Features are made and summed in
    float64: at sigma 1 and p 5 the kernel of raw images is in the billions.

    Parameters
    ----------
    kernel : str
        Such as ``dot_product(3)``.
    sigma : float
    n_features : int
        Size D of the sketch of a block.
    seed : int
        Seed of the stream; blocks are numbered from 0.
    """

    kernel: str
    sigma: float
    n_features: int
    seed: int

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], width: int) -> SketchFeatures:
        """Return the features whose `entries` these are, with ``width`` features to a block."""
        return cls(str(entries["kernel"]), float(entries["sigma"]), width, int(entries["seed"]))

    def entries(self) -> dict[str, Any]:
        """Return what a model file says of the features."""
        return {"kernel": self.kernel, "sigma": self.sigma, "seed": np.uint64(self.seed)}

    @property
    def width(self) -> int:
        """Features of a block: the size of its sketch."""
        return self.n_features

    @property
    def degree(self) -> int:
        """The p of the kernel."""
        degree = kernel_named(self.kernel).degree
        assert degree is not None
        return degree

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block's sketches and transforms at one row."""
        transform = 2.5 * self.n_features * np.log2(self.n_features + 1)
        double = 2  # costs count in single precision
        return double * self.degree * (2.0 * n_inputs + transform + 3.0 * self.n_features)

    def hashes(self, block: int, n_inputs: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the places and the signs of a block's count sketches.

        Returns
        -------
        places : ndarray of int64, shape (p, n_inputs)
            In 0..D-1.
        signs : ndarray of float64, shape (p, n_inputs)
        """
        count = self.degree * n_inputs
        random = words(self.seed, block * count, count, SKETCHES).reshape(self.degree, n_inputs)
        high = random >> np.uint64(32)
        places = (high * np.uint64(self.n_features)) >> np.uint64(32)
        signs = 1.0 - 2.0 * (random & np.uint64(1)).astype(np.float64)
        return places.astype(np.int64), signs

    def in_order(self, n_inputs: int, n_blocks: int) -> SketchFeatures:
        """Return itself: blocks share no work."""
        return self

    def add(
        self,
        X: NDArray[np.float32],
        first: int,
        coefficients: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        """Add a run of blocks at the rows of ``X`` to ``values``; see `BlockSums`."""
        for t, part in enumerate(coefficients):
            A = part.astype(np.float64)
            for rows, psi in self._tiles(X, first + t):
                values[rows] += (psi @ A).astype(np.float32)

    def correlate(
        self,
        X: NDArray[np.float32],
        block: int,
        C: NDArray[np.float32],
        factor: NDArray[np.float64],
    ) -> NDArray[np.float32]:
        """Return the coefficients of an expansion at rows by a block; see `BlockSums`."""
        out = np.zeros((self.width, C.shape[1]))
        for rows, psi in self._tiles(X, block):
            out += psi.T @ C[rows].astype(np.float64)
        out *= factor
        return out.astype(np.float32)

    def transform(self, X: Any, block: int) -> NDArray[np.float32]:
        """Return the features of a block at the rows of ``X``.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
        block : int

        Returns
        -------
        ndarray of float32, shape (n, n_features)
        """
        X = read_rows(X, slice(None))
        out = np.empty((len(X), self.width), np.float32)
        with single_blas_thread():
            for rows, psi in self._tiles(X, block):
                out[rows] = psi
        return out

    def _tiles(
        self, X: NDArray[np.float32], block: int
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield runs of rows and their features in float64, shape (n_rows, D)."""
        places, signs = self.hashes(block, X.shape[1])
        D, root = self.n_features, np.sqrt(self.sigma)
        threads = get_num_threads()
        length = max(1, threads * TILE_BYTES // (16 * D))
        sketches = np.empty((min(length, len(X)), D))
        for rows in row_blocks(len(X), length):
            sketch = sketches[: rows.stop - rows.start]
            spectrum = None
            for q in range(self.degree):
                _count_sketch(X[rows], root, places[q], signs[q], sketch)
                factor = fft.rfft(sketch, axis=1, workers=threads)
                spectrum = factor if spectrum is None else np.multiply(spectrum, factor, spectrum)
            yield rows, _as_real(spectrum, D)


def _as_real(spectrum: NDArray[np.complex128] | None, size: int) -> NDArray[np.float64]:
    """Return half spectra as real rows with the products of the sequences themselves.

    A frequency and its mirror image hold the same, so that both count twice; the first has none,
    and the last of an even number of entries.
    """
    assert spectrum is not None
    mirrored = slice(1, (size + 1) // 2)
    spectrum *= np.sqrt(1 / size)
    spectrum[:, mirrored] *= np.sqrt(2)
    return np.hstack([spectrum.real, spectrum[:, mirrored].imag])

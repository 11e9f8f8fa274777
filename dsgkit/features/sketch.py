"""Random features of dot product kernels: TensorSketch, block by block from the stream.

A count sketch adds the entries of x, each with a random sign, into D random places. The circular
convolution of p independent ones is a count sketch of all products of p entries, which has
``E <psi(x), psi(x')> = <x, x'>^p`` (Pham & Pagh, "Fast and scalable polynomial kernels via explicit
feature maps", KDD 2013); its variance is at most ``(2 + 3^p) / D`` times ``||x||^(2p) ||x'||^(2p)``
(Avron, Nguyen & Woodruff, "Subspace embeddings for the polynomial kernel", NIPS 2014). The
convolution is a product in the frequency domain, where the features are left: the discrete Fourier
transform is a rotation (times a constant), and preserves products of features.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import fft

from dsgkit.features.fourier import Blocks
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, Single, read_rows, row_blocks
from dsgkit.random import SKETCHES, words
from dsgkit.system.jit import exact_parallel, prange
from dsgkit.system.machine import single_blas_thread

TILE_BYTES = 2**21  # of the spectra of a tile of rows, which stay in cache between the factors
DIRECT_INPUTS = 100  # columns up to which a matrix product is faster than an FFT


@exact_parallel
def _count_sketch(
    X: Single, scale: float, places: NDArray[np.int64], signs: Array, out: Array
) -> None:
    for i in prange(X.shape[0]):
        row, x = out[i], X[i]
        row[:] = 0.0
        for k in range(X.shape[1]):
            row[places[k]] += signs[k] * (scale * np.float64(x[k]))


@dataclass
class SketchFeatures(Blocks):
    """TensorSketch, for the kernels ``(sigma <x, x'>)^p``; ``n_features`` D is a sketch's size.

    Features are computed and summed in float64: with sigma 1 and p 5, kernel values of raw images
    are in the billions.
    """

    kernel: str
    sigma: float
    n_features: int
    seed: int

    def __post_init__(self) -> None:
        self.degree = kernel_named(self.kernel).degree or 0

    @property
    def width(self) -> int:
        return self.n_features

    @property
    def scale(self) -> float:
        return 1.0  # psi includes its weights

    def row_flops(self, n_inputs: int) -> float:
        D, double = self.n_features, 2  # costs count in single precision
        if n_inputs <= DIRECT_INPUTS:
            spectrum = 2.0 * n_inputs * D
        else:  # an operation of an FFT takes some four times as long as one of a matrix product
            spectrum = 2.0 * n_inputs + 4 * 2.5 * D * math.log2(D + 1)
        return double * self.degree * (spectrum + 3.0 * D)

    def hashes(self, block: int, n_inputs: int) -> tuple[NDArray[np.int64], Array]:
        """Return places in 0..D-1 and signs of a block's p count sketches, shape (p, n_inputs)."""
        count = self.degree * n_inputs
        random = words(self.seed, block * count, count, SKETCHES).reshape(self.degree, n_inputs)
        high = random >> np.uint64(32)
        places = (high * np.uint64(self.n_features)) >> np.uint64(32)
        signs = 1.0 - 2.0 * (random & np.uint64(1)).astype(np.float64)
        return places.astype(np.int64), signs

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        kept, weights = _layout(self.n_features)
        A = np.zeros((self.n_features // 2 * 2 + 2, coefficients.shape[2]))
        for t, part in enumerate(coefficients):
            A[kept] = weights[:, None] * part
            for rows, spectra in self._tiles(X, first + t):
                values[rows] += (spectra @ A).astype(np.float32)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        kept, weights = _layout(self.n_features)
        total = np.zeros((self.n_features // 2 * 2 + 2, C.shape[1]))
        for rows, spectra in self._tiles(X, block):
            total += spectra.T @ C[rows].astype(np.float64)
        return (weights[:, None] * total[kept] * factor).astype(np.float32)

    def transform(self, X: Any, block: int) -> Single:
        X = read_rows(X, slice(None))
        kept, weights = _layout(self.n_features)
        out = np.empty((len(X), self.width), np.float32)
        with single_blas_thread():
            for rows, spectra in self._tiles(X, block):
                out[rows] = spectra[:, kept] * weights
        return out

    def _tiles(self, X: Single, block: int) -> Iterator[tuple[slice, Array]]:
        """Yield runs of rows and their sketches' half spectra.

        The real and imaginary parts of a frequency are adjacent columns.
        """
        hashes = [*zip(*self.hashes(block, X.shape[1]), strict=True)]
        of_inputs: list[Array] = []  # half spectra, where a real matrix product combines them
        if X.shape[1] <= DIRECT_INPUTS:
            inputs = np.eye(X.shape[1], dtype=np.float32)
            of_inputs = [self._spectra(inputs, *of_one).view(np.float64) for of_one in hashes]
        for rows in row_blocks(len(X), max(1, TILE_BYTES // (16 * self.n_features))):
            product: Any = None
            for k, of_one in enumerate(hashes):
                if of_inputs:
                    spectra = (X[rows].astype(np.float64) @ of_inputs[k]).view(np.complex128)
                else:
                    spectra = self._spectra(X[rows], *of_one)
                product = spectra if product is None else np.multiply(product, spectra, out=product)
            yield rows, product.view(np.float64)

    def _spectra(
        self, X: Single, places: NDArray[np.int64], signs: Array
    ) -> NDArray[np.complex128]:
        """Return the half spectra of a count sketch of rows."""
        sketches = np.empty((len(X), self.n_features))
        _count_sketch(X, np.sqrt(self.sigma), places, signs, sketches)
        return fft.rfft(sketches, axis=1, workers=get_num_threads())


def _layout(size: int) -> tuple[NDArray[np.int64], Array]:
    """Return which columns of half spectra are features, and their weights.

    A half spectrum omits the mirror images of its frequencies, so these count twice. The first has
    none, nor has the last if ``size`` is even; their imaginary parts are 0 and dropped.
    """
    weights = np.full(size // 2 * 2 + 2, np.sqrt(2 / size))
    unpaired = [0] if size % 2 else [0, size]
    weights[unpaired] = np.sqrt(1 / size)
    kept = np.setdiff1d(np.arange(len(weights)), np.add(unpaired, 1))
    return kept, weights[kept]

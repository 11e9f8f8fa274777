"""Structured random frequencies of the Gaussian kernel, for rows of many columns.

The frequencies of a block are the rows of ``L H D_3 H D_2 H D_1``: Hadamard matrices H, diagonals D
of random signs, and lengths L of Gaussian vectors (Yu, Suresh, Choromanski, Holtmann-Rice & Kumar,
"Orthogonal random features", NIPS 2016). A product with a row of d columns takes O(log d) additions
for each frequency, where independent frequencies take d products. Frequencies of one matrix are
orthogonal, which halves the error of the kernel's estimate.

H has the size q, a power of two of at least 32, and at least the number of columns, or of
frequencies if that is less. Columns beyond q form further vectors, whose products are summed;
frequencies beyond q use further matrices. So blocks with at least as many frequencies as columns
gain most.

64 rows are transformed at a time, stored as columns: one instruction then adds entries of many
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import get_num_threads

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features.fourier import CosineBlocks
from dsgkit.features.tiles import TERMS_PER_THREAD, sincos
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.random import SCALES, SIGNS, normal_blocks, words
from dsgkit.system.jit import fast, fast_parallel, prange
from dsgkit.system.machine import threads_for

TILE_ROWS = 64
"""Rows that are transformed together."""

TRANSPOSE_TILE = 16
"""Columns that are transposed at a time, so that the entries stay in a core's cache."""

MIN_SIZE = 32
"""Smallest size of H. Smaller ones have too few signs: with 8 columns the error is 0.04."""

PASS_BLOCKS, PASS_ROWS = 16, 512
"""Blocks per transposition of rows, and rows whose features are held at a time."""

N_FACTORS = 3
"""Products of signs and a Hadamard matrix."""


class Drawn(NamedTuple):
    """The frequencies of a block.

    Attributes
    ----------
    signs : ndarray of float32, shape (n_matrices, n_parts, 3, q)
        1 or -1.
    lengths : ndarray of float32, shape (n_matrices, n_parts, q)
        Lengths of the frequencies in half turns, without the factor ``q^(3/2)`` of the matrices.
    """

    signs: Single
    lengths: Single


@fast
def _four(a, b, c, d):  # type: ignore[no-untyped-def]
    """Return the products of four entries and the Hadamard matrix of size 4."""
    ab, a_b, cd, c_d = a + b, a - b, c + d, c - d
    return ab + cd, a_b + c_d, ab - cd, a_b - c_d


@fast
def _eight(a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]
    """Return the products of eight entries and the Hadamard matrix of size 8."""
    p, q, r, s = _four(a, b, c, d)
    t, u, v, w = _four(e, f, g, h)
    return p + t, q + u, r + v, s + w, p - t, q - u, r - v, s - w


@fast
def _signed_eights(T: Single, signs: Single) -> None:
    """Multiply the rows of ``T`` by signs, and each eight of them by a Hadamard matrix."""
    for j in range(0, len(T), 8):
        a, b, c, d = T[j], T[j + 1], T[j + 2], T[j + 3]
        e, f, g, h = T[j + 4], T[j + 5], T[j + 6], T[j + 7]
        A, B, C, D = signs[j], signs[j + 1], signs[j + 2], signs[j + 3]
        E, F, G, H = signs[j + 4], signs[j + 5], signs[j + 6], signs[j + 7]
        for r in range(TILE_ROWS):
            a[r], b[r], c[r], d[r], e[r], f[r], g[r], h[r] = _eight(
                A * a[r], B * b[r], C * c[r], D * d[r], E * e[r], F * f[r], G * g[r], H * h[r]
            )


@fast
def _eights(T: Single, w: int) -> None:
    """Multiply each eight runs of ``w`` entries by a Hadamard matrix."""
    for i in range(0, len(T), 8 * w):
        a, b, c, d = T[i : i + w], T[i + w :], T[i + 2 * w :], T[i + 3 * w :]
        e, f, g, h = T[i + 4 * w :], T[i + 5 * w :], T[i + 6 * w :], T[i + 7 * w :]
        for r in range(w):
            a[r], b[r], c[r], d[r], e[r], f[r], g[r], h[r] = _eight(
                a[r], b[r], c[r], d[r], e[r], f[r], g[r], h[r]
            )


@fast
def _hadamard(T: Single, signs: Single) -> None:
    """Multiply the columns of ``T`` by signs and a Hadamard matrix, in place.

    ``T`` has q rows, a power of two of at least 8. A stage combines eight runs of adjacent entries;
    three stages of pairs would read and write memory three times.
    """
    _signed_eights(T, signs)
    F, w = T.reshape(T.size), 8 * TILE_ROWS
    while 8 * w <= len(F):
        _eights(F, w)
        w *= 8
    if 4 * w == len(F):
        a, b, c, d = F[:w], F[w:], F[2 * w :], F[3 * w :]
        for r in range(w):
            a[r], b[r], c[r], d[r] = _four(a[r], b[r], c[r], d[r])
    elif 2 * w == len(F):
        a, b = F[:w], F[w:]
        for r in range(w):
            a[r], b[r] = a[r] + b[r], a[r] - b[r]


@fast
def _columns(x: Single, out: Single) -> None:
    """Write rows to ``out`` as columns, shape (n_inputs, TILE_ROWS); missing ones become 0."""
    n, d = x.shape
    if n < TILE_ROWS:
        out[:] = 0
    for lo in range(0, d, TRANSPOSE_TILE):
        for r in range(n):
            for j in range(lo, min(lo + TRANSPOSE_TILE, d)):
                out[j, r] = x[r, j]


@fast
def _project(columns: Single, signs: Single, lengths: Single, T: Single, z: Single) -> None:
    """Write the products of some rows and all frequencies to ``z``, shape (m, TILE_ROWS).

    ``T`` is scratch, (q, TILE_ROWS).
    """
    d, q, m = columns.shape[0], T.shape[0], z.shape[0]
    z[:] = 0
    for matrix in range(signs.shape[0]):
        first = matrix * q
        for part in range(signs.shape[1]):
            start = part * q
            here = min(q, d - start)
            T[here:] = 0
            T[:here] = columns[start : start + here]
            for factor in range(N_FACTORS):
                _hadamard(T, signs[matrix, part, factor])
            for j in range(min(q, m - first)):
                row, to, length = T[j], z[first + j], lengths[matrix, part, j]
                for r in range(TILE_ROWS):
                    to[r] += row[r] * length


@fast_parallel
def _fill_features(X, signs, lengths, x, T, z, out):  # type: ignore[no-untyped-def]
    """Write cosines and sines of blocks to ``out``, shape (n_blocks, 2m, n)."""
    parts, m, n = z.shape[0], z.shape[1], X.shape[0]
    tiles = (n + TILE_ROWS - 1) // TILE_ROWS
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * TILE_ROWS, min((tile + 1) * TILE_ROWS, n)
            _columns(X[lo:hi], x[part])
            for block in range(len(out)):
                _project(x[part], signs[block], lengths[block], T[part], z[part])
                for j in range(m):
                    row, cosines, sines = z[part, j], out[block, j], out[block, m + j]
                    for r in range(hi - lo):
                        cosines[lo + r], sines[lo + r] = sincos(row[r])


def matrix_size(n_inputs: int, n_frequencies: int) -> int:
    """Return the size q of a Hadamard matrix."""
    return max(MIN_SIZE, 1 << (min(n_inputs, n_frequencies) - 1).bit_length())


@dataclass
class StructuredFeatures(CosineBlocks):
    """Random Fourier features of the Gaussian kernel with structured frequencies."""

    kernel = "gaussian"
    sigma: float
    n_frequencies: int
    seed: int

    def row_flops(self, n_inputs: int) -> float:
        q = matrix_size(n_inputs, self.n_frequencies)
        n_vectors = -(-n_inputs // q) * -(-self.n_frequencies // q)
        transform = n_vectors * N_FACTORS * q * (np.log2(q) + 1)
        return float(transform + self.n_frequencies * FUNCTION_FLOPS)

    def draw(self, block: int, n_inputs: int) -> Drawn:
        """Return the frequencies of a block.

        A squared length is chi-squared with q degrees of freedom, by the cube of a normal number
        (Wilson & Hilferty 1931): its mean is exact to 1e-7, its quantiles to some 1e-4.
        """
        q = matrix_size(n_inputs, self.n_frequencies)
        shape = -(-self.n_frequencies // q), -(-n_inputs // q)
        n_signs = shape[0] * shape[1] * N_FACTORS * q
        n_words = -(-n_signs // 64)
        drawn = words(self.seed, block * n_words, n_words, SIGNS)
        bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), bitorder="little")[:n_signs]
        signs = (1 - 2 * bits.astype(np.float32)).reshape(*shape, N_FACTORS, q)
        normals = normal_blocks(self.seed, block, 1, 1, shape[0] * shape[1] * q, SCALES)
        roots = 1 - 2 / (9 * q) + np.sqrt(2 / (9 * q)) * normals.astype(np.float64)
        lengths = np.sqrt(2 * self.sigma * roots**3) / (np.pi * q)
        return Drawn(signs, lengths.reshape(*shape, q).astype(np.float32))

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        for run in row_blocks(len(coefficients), PASS_BLOCKS):
            A = coefficients[run].reshape(-1, values.shape[1])
            blocks = [self.draw(first + t, X.shape[1]) for t in range(run.start, run.stop)]
            for rows in row_blocks(len(X), PASS_ROWS):
                values[rows] += self._features(X[rows], blocks).T @ A

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        drawn = [self.draw(block, X.shape[1])]
        out = np.zeros((self.width, C.shape[1]), np.float32)
        for rows in row_blocks(len(X), PASS_ROWS):
            out += self._features(X[rows], drawn) @ C[rows]
        out *= (factor / self.n_frequencies).astype(np.float32)
        return out

    def cos_sin(self, X: Single, drawn: Drawn) -> Single:
        return np.ascontiguousarray(self._features(X, [drawn]).T)

    def _features(self, X: Single, blocks: list[Drawn]) -> Single:
        """Return cosines and sines of some blocks, below one another, at rows as columns."""
        n, n_inputs = X.shape
        signs, lengths = (np.stack(parts) for parts in zip(*blocks, strict=True))
        out = np.empty((len(blocks), self.width, n), np.float32)
        with threads_for(len(blocks) * n * self.row_flops(n_inputs) / 2, TERMS_PER_THREAD):
            sizes = n_inputs, signs.shape[-1], self.n_frequencies
            scratch = (np.empty((get_num_threads(), k, TILE_ROWS), np.float32) for k in sizes)
            _fill_features(X, signs, lengths, *scratch, out)
        return out.reshape(-1, n)

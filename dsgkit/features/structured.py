"""Structured random frequencies of the Gaussian kernel, for rows of many columns.

The frequencies of a block are the rows of ``L H D_3 H D_2 H D_1``: Hadamard matrices H, diagonals D
of random signs, and lengths L of Gaussian vectors (Yu, Suresh, Choromanski, Holtmann-Rice & Kumar,
"Orthogonal random features", NIPS 2016). A product with a row of d columns takes O(log d) additions
for each frequency, where independent frequencies take d products. Frequencies of one matrix are
orthogonal, which halves the error of the kernel's estimate.

H has the size q, a power of two of at least 32, and at least the number of columns, or of
frequencies if that is less. Columns beyond q form further vectors, whose products are summed;
frequencies beyond q use further matrices. So blocks with as many frequencies as columns gain most.
64 rows are transformed at a time, stored as columns: an instruction adds entries of many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features.fourier import Blocks
from dsgkit.features.tiles import TERMS_PER_THREAD, scratch, sincos
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.random import SCALES, SIGNS, normal_blocks, words
from dsgkit.system.jit import fast, fast_parallel, prange
from dsgkit.system.machine import threads_for

TILE_ROWS = 64  # rows that are transformed together
MIN_SIZE = 32  # of H: with 8 columns, which have too few signs, the error is 0.04
PASS_BLOCKS = 16  # blocks that are added per transposition of rows
N_FACTORS = 3  # products of signs and a Hadamard matrix


class Drawn(NamedTuple):
    """Frequencies of a block."""

    signs: Single  # shape (n_matrices, n_parts, 3, q)
    lengths: Single  # without the 3; in half turns, without the matrices' factor ``q^(3/2)``


@fast
def _four(a, b, c, d):  # type: ignore[no-untyped-def]
    ab, a_b, cd, c_d = a + b, a - b, c + d, c - d
    return ab + cd, a_b + c_d, ab - cd, a_b - c_d


@fast
def _eight(a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]
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
    """Multiply the q rows of ``T`` by signs and a Hadamard matrix, in place.

    A stage combines eight runs of adjacent entries: stages of pairs would read memory three times.
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
    out[:, len(x) :] = 0
    for j in range(len(out)):
        for r in range(len(x)):
            out[j, r] = x[r, j]


@fast
def _project(columns: Single, signs: Single, lengths: Single, T: Single, z: Single) -> None:
    """Write products of rows and frequencies to ``z`` (m, TILE_ROWS), by scratch ``T`` (q, ..)."""
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


@fast
def _features(z: Single, out: Single) -> None:
    """Write the cosines and sines of projections (m, TILE_ROWS) to ``out`` (2m, TILE_ROWS)."""
    m = len(z)
    for j in range(m):
        row, cosines, sines = z[j], out[j], out[m + j]
        for r in range(TILE_ROWS):
            cosines[r], sines[r] = sincos(row[r])


@fast_parallel
def _fill(X, drawn, x, T, z, out):  # type: ignore[no-untyped-def]
    """Write the features of tiles of rows to ``out``, shape (n_tiles, 2m, TILE_ROWS)."""
    parts, tiles = len(z), len(out)
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            _columns(X[tile * TILE_ROWS : (tile + 1) * TILE_ROWS], x[part])
            _project(x[part], drawn.signs, drawn.lengths, T[part], z[part])
            _features(z[part], out[tile])


@fast_parallel
def _accumulate(X, drawn, A, F, x, T, z, phi, v):  # type: ignore[no-untyped-def]
    """Add the products of blocks' features and coefficients ``A`` to the values ``F``."""
    parts, n = len(z), len(X)
    tiles = (n + TILE_ROWS - 1) // TILE_ROWS
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * TILE_ROWS, min((tile + 1) * TILE_ROWS, n)
            _columns(X[lo:hi], x[part])
            for block in range(len(A)):
                _project(x[part], drawn.signs[block], drawn.lengths[block], T[part], z[part])
                _features(z[part], phi[part])
                np.dot(phi[part].T, A[block], v[part])
                for i in range(hi - lo):
                    for g in range(v.shape[2]):
                        F[lo + i, g] += v[part, i, g]


def matrix_size(n_inputs: int, n_frequencies: int) -> int:
    """Return the size q of a Hadamard matrix."""
    return max(MIN_SIZE, 1 << (min(n_inputs, n_frequencies) - 1).bit_length())


@dataclass
class StructuredFeatures(Blocks):
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
        random = words(self.seed, block * n_words, n_words, SIGNS).astype("<u8")
        bits = np.unpackbits(random.view(np.uint8), bitorder="little")[:n_signs]
        signs = (1 - 2 * bits.astype(np.float32)).reshape(*shape, N_FACTORS, q)
        normals = normal_blocks(self.seed, block, 1, 1, shape[0] * shape[1] * q, SCALES)
        roots = 1 - 2 / (9 * q) + np.sqrt(2 / (9 * q)) * normals.astype(np.float64)
        lengths = np.sqrt(2 * self.sigma * roots**3) / (np.pi * q)
        return Drawn(signs, lengths.reshape(*shape, q).astype(np.float32))

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        n_inputs, n_models = X.shape[1], values.shape[1]
        terms = self.row_flops(n_inputs) / 2 + self.width * n_models
        for run in row_blocks(len(coefficients), PASS_BLOCKS):
            A = coefficients[run]
            blocks = [self.draw(first + t, n_inputs) for t in range(run.start, run.stop)]
            drawn = Drawn(*(np.stack(parts) for parts in zip(*blocks, strict=True)))
            with threads_for(len(A) * len(X) * terms, TERMS_PER_THREAD):
                products = scratch(self.width, TILE_ROWS), scratch(TILE_ROWS, n_models)
                _accumulate(X, drawn, A, values, *self._buffers(n_inputs), *products)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        features = self._tiles(X, self.draw(block, X.shape[1]))
        padded = np.zeros((len(features), TILE_ROWS, C.shape[1]), np.float32)
        padded.reshape(-1, C.shape[1])[: len(C)] = C
        out: Single = (features @ padded).sum(axis=0)
        out *= (factor / self.n_frequencies).astype(np.float32)
        return out

    def cos_sin(self, X: Single, drawn: Drawn) -> Single:
        features = self._tiles(X, drawn).transpose(0, 2, 1)
        return features.reshape(-1, self.width)[: len(X)]

    def _tiles(self, X: Single, drawn: Drawn) -> Single:
        """Return a block's features ``psi`` of tiles of rows, shape (n_tiles, width, TILE_ROWS)."""
        out = np.empty((-(-len(X) // TILE_ROWS), self.width, TILE_ROWS), np.float32)
        with threads_for(len(X) * self.row_flops(X.shape[1]) / 2, TERMS_PER_THREAD):
            _fill(X, drawn, *self._buffers(X.shape[1]), out)
        return out

    def _buffers(self, n_inputs: int) -> tuple[Single, ...]:
        """Return buffers of each thread for rows as columns, their transform and projections."""
        q = matrix_size(n_inputs, self.n_frequencies)
        return tuple(scratch(size, TILE_ROWS) for size in (n_inputs, q, self.n_frequencies))

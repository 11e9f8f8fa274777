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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features.cosines import CosinesAndSines, frequencies_of
from dsgkit.features.tiles import TERMS_PER_THREAD, cosine, sincos
from dsgkit.kernels import read_within
from dsgkit.linalg import Array, Single
from dsgkit.random import SIGNS, gamma_blocks, words
from dsgkit.system.jit import fast, fast_parallel, prange
from dsgkit.system.machine import threads_for

KERNEL = "gaussian"

NAME = f"structured({KERNEL})"
"""Name of the kernel in model files: releases without these features reject it."""

BLOCK_ROWS = 64
"""Rows that are transformed together."""

TRANSPOSE_TILE = 16
"""Columns that are transposed at a time, so that the entries stay in a core's cache."""

MIN_SIZE = 32
"""Smallest size of H. Smaller ones have too few signs: with 8 columns the error is 0.04."""

PASS_BLOCKS = 16
"""Blocks that are added per transposition of rows."""

SHARE_ROWS = 256
"""Rows per partial sum, so that sums do not depend on the number of threads."""

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
        for r in range(BLOCK_ROWS):
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
    F, w = T.reshape(T.size), 8 * BLOCK_ROWS
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
    """Write rows to ``out`` as columns, shape (n_inputs, BLOCK_ROWS); missing ones become 0."""
    n, d = x.shape
    if n < BLOCK_ROWS:
        out[:] = 0
    for lo in range(0, d, TRANSPOSE_TILE):
        for r in range(n):
            for j in range(lo, min(lo + TRANSPOSE_TILE, d)):
                out[j, r] = x[r, j]


@fast
def _scaled(source: Single, factors: Single, out: Single) -> None:
    for j in range(len(factors)):
        row, to, factor = source[j], out[j], factors[j]
        for r in range(BLOCK_ROWS):
            to[r] = row[r] * factor


@fast
def _project(columns: Single, signs: Single, lengths: Single, T: Single, z: Single) -> None:
    """Write the products of some rows and all frequencies to ``z``, shape (m, BLOCK_ROWS).

    ``T`` is scratch, (q, BLOCK_ROWS).
    """
    d, q, m = columns.shape[0], T.shape[0], z.shape[0]
    for matrix in range(signs.shape[0]):
        first = matrix * q
        count = min(q, m - first)
        for part in range(signs.shape[1]):
            start = part * q
            here = min(q, d - start)
            T[here:] = 0
            T[:here] = columns[start : start + here]
            for factor in range(N_FACTORS):
                _hadamard(T, signs[matrix, part, factor])
            length = lengths[matrix, part, :count]
            if part == 0:
                _scaled(T, length, z[first:])
            else:
                for j in range(count):
                    row, to, factor = T[j], z[first + j], length[j]
                    for r in range(BLOCK_ROWS):
                        to[r] += row[r] * factor


@fast
def _features(z: Single, phi: Single) -> None:
    """Write the cosines and sines of projections (m, BLOCK_ROWS) to ``phi`` (2m, BLOCK_ROWS)."""
    m = z.shape[0]
    for j in range(m):
        row, cosines, sines = z[j], phi[j], phi[m + j]
        for r in range(BLOCK_ROWS):
            cosines[r], sines[r] = sincos(row[r])


@fast_parallel
def _cos_sin(X, signs, lengths, x, T, z, phi, out):  # type: ignore[no-untyped-def]
    parts, n = len(T), X.shape[0]
    tiles = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * BLOCK_ROWS, min((tile + 1) * BLOCK_ROWS, n)
            _columns(X[lo:hi], x[part])
            _project(x[part], signs, lengths, T[part], z[part])
            _features(z[part], phi[part])
            for i in range(hi - lo):
                for j in range(phi.shape[1]):
                    out[lo + i, j] = phi[part, j, i]


@fast_parallel
def _correlate(X, signs, lengths, C, x, T, z, phi, S, out):  # type: ignore[no-untyped-def]
    parts, shares, n = len(T), out.shape[0], X.shape[0]
    for part in prange(parts):
        for share in range(shares * part // parts, shares * (part + 1) // parts):
            for lo in range(share * SHARE_ROWS, min((share + 1) * SHARE_ROWS, n), BLOCK_ROWS):
                hi = min(lo + BLOCK_ROWS, n)
                _columns(X[lo:hi], x[part])
                _project(x[part], signs, lengths, T[part], z[part])
                _features(z[part], phi[part])
                c = S[part, :BLOCK_ROWS]
                c[: hi - lo] = C[lo:hi]
                c[hi - lo :] = 0
                sums = S[part, BLOCK_ROWS:]
                np.dot(phi[part], c, sums)
                for j in range(sums.shape[0]):
                    for g in range(sums.shape[1]):
                        out[share, j, g] += sums[j, g]


@fast_parallel
def _accumulate(X, signs, lengths, A, F, x, T, z, phi, v):  # type: ignore[no-untyped-def]
    parts, n = len(T), X.shape[0]
    tiles = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
    for part in prange(parts):
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * BLOCK_ROWS, min((tile + 1) * BLOCK_ROWS, n)
            _columns(X[lo:hi], x[part])
            for block in range(len(A)):
                _project(x[part], signs[block], lengths[block], T[part], z[part])
                _features(z[part], phi[part])
                np.dot(phi[part].T, A[block], v[part])
                for i in range(hi - lo):
                    for g in range(v.shape[2]):
                        F[lo + i, g] += v[part, i, g]


@fast_parallel
def _accumulate_one(X, signs, lengths, amplitude, phase, f, x, T, z):  # type: ignore[no-untyped-def]
    parts, n = len(T), X.shape[0]
    tiles = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
    for part in prange(parts):
        total = np.empty(BLOCK_ROWS, np.float32)
        for tile in range(tiles * part // parts, tiles * (part + 1) // parts):
            lo, hi = tile * BLOCK_ROWS, min((tile + 1) * BLOCK_ROWS, n)
            _columns(X[lo:hi], x[part])
            for block in range(len(amplitude)):
                _project(x[part], signs[block], lengths[block], T[part], z[part])
                total[:] = 0
                for j in range(z.shape[1]):
                    row, a, p = z[part, j], amplitude[block, j], phase[block, j]
                    for r in range(BLOCK_ROWS):
                        total[r] += a * cosine(row[r] - p)
                for i in range(hi - lo):
                    f[lo + i] += total[i]


def matrix_size(n_inputs: int, n_frequencies: int) -> int:
    """Return the size q of a Hadamard matrix."""
    return max(MIN_SIZE, 1 << (min(n_inputs, n_frequencies) - 1).bit_length())


@dataclass(frozen=True)
class StructuredFeatures(CosinesAndSines):
    """Blocks of random Fourier features of the Gaussian kernel with structured frequencies.

    The `FeatureBlocks` of ``frequencies: structured``.

    Parameters
    ----------
    sigma : float
        Parameter of the kernel ``exp(-sigma ||x - x'||^2)``.
    n_frequencies : int
        Frequencies m of a block; it has 2m features.
    seed : int
        Seed of the stream; blocks are numbered from 0.
    """

    sigma: float
    n_frequencies: int
    seed: int

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], width: int) -> StructuredFeatures:
        """Return the features with these `entries` and ``width`` features per block."""
        return cls(float(entries["sigma"]), frequencies_of(width), int(entries["seed"]))

    def entries(self) -> dict[str, Any]:
        """Return the entries of a model file."""
        return {"kernel": NAME, "sigma": self.sigma, "seed": np.uint64(self.seed)}

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block's projections, cosines and sines at one row."""
        q = matrix_size(n_inputs, self.n_frequencies)
        n_vectors = -(-n_inputs // q) * -(-self.n_frequencies // q)
        transform = n_vectors * N_FACTORS * q * (np.log2(q) + 1)
        return float(transform + self.n_frequencies * FUNCTION_FLOPS)

    def draw(self, block: int, n_inputs: int) -> Drawn:
        """Return the frequencies of a block."""
        q = matrix_size(n_inputs, self.n_frequencies)
        shape = -(-self.n_frequencies // q), -(-n_inputs // q)
        n_signs = shape[0] * shape[1] * N_FACTORS * q
        n_words = -(-n_signs // 64)
        drawn = words(self.seed, block * n_words, n_words, SIGNS)
        bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), bitorder="little")[:n_signs]
        signs = (1 - 2 * bits.astype(np.float32)).reshape(*shape, N_FACTORS, q)
        squares = 2 * gamma_blocks(self.seed, block, 1, shape[0] * shape[1] * q, q / 2)
        lengths = np.sqrt(2 * self.sigma * squares) / (np.pi * q**1.5)
        return Drawn(signs, lengths.reshape(*shape, q).astype(np.float32))

    def frequencies(self, block: int, n_inputs: int) -> Array:
        """Return the frequencies w of a block, shape (n_inputs, n_frequencies)."""
        drawn = self.draw(block, n_inputs)
        unit = np.eye(n_inputs, dtype=np.float32)
        W = np.empty((n_inputs, self.n_frequencies))
        x, T, z = (scratch[0] for scratch in self._scratch(n_inputs))
        for lo in range(0, n_inputs, BLOCK_ROWS):
            rows = unit[lo : lo + BLOCK_ROWS]
            _columns(rows, x)
            _project(x, *drawn, T, z)
            W[lo : lo + BLOCK_ROWS] = np.pi * z.T[: len(rows)]
        return W

    def read(self, table: Any, index: slice | NDArray[np.integer]) -> Single:
        """Copy rows of a table; raise for those whose features would be wrong."""
        return read_within(table, index, KERNEL, self.sigma)

    def in_order(self, n_inputs: int, n_blocks: int) -> StructuredFeatures:
        """Return itself: drawing is cheap."""
        return self

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        """Add a run of blocks at the rows of ``X`` to ``values``; see `BlockSums`."""
        m, n_inputs, n_models = self.n_frequencies, X.shape[1], coefficients.shape[2]
        terms = self.row_flops(n_inputs) / 2 + 2 * m * n_models
        for start in range(0, len(coefficients), PASS_BLOCKS):
            A = coefficients[start : start + PASS_BLOCKS]
            drawn = [self.draw(first + start + number, n_inputs) for number in range(len(A))]
            signs, lengths = (np.stack(parts) for parts in zip(*drawn, strict=True))
            with threads_for(len(A) * len(X) * terms, TERMS_PER_THREAD):
                scratch = self._scratch(n_inputs)
                if n_models > 1:
                    products = _each_thread(2 * m, BLOCK_ROWS), _each_thread(BLOCK_ROWS, n_models)
                    _accumulate(X, signs, lengths, A, values, *scratch, *products)
                    continue
                a, b = A[:, :m, 0], A[:, m:, 0]
                amplitude, phase = np.hypot(a, b), np.arctan2(b, a) * np.float32(1 / np.pi)
                _accumulate_one(X, signs, lengths, amplitude, phase, values[:, 0], *scratch)

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        """Return the coefficients of an expansion in a block's features; see `BlockSums`."""
        m, n_models = self.n_frequencies, C.shape[1]
        drawn = self.draw(block, X.shape[1])
        shares = np.zeros((-(-len(X) // SHARE_ROWS), 2 * m, n_models), np.float32)
        terms = self.row_flops(X.shape[1]) / 2 + 2 * m * n_models
        with threads_for(len(X) * terms, TERMS_PER_THREAD):
            products = _each_thread(2 * m, BLOCK_ROWS), _each_thread(BLOCK_ROWS + 2 * m, n_models)
            _correlate(X, *drawn, C, *self._scratch(X.shape[1]), *products, shares)
        out: Single = shares.sum(axis=0)
        out *= (factor / m).astype(np.float32)
        return out

    def cos_sin(self, X: Single, drawn: Drawn) -> Single:
        """Return the cosines and sines ``psi`` of a drawn block, shape (n, width)."""
        out = np.empty((len(X), self.width), np.float32)
        with threads_for(len(X) * self.row_flops(X.shape[1]) / 2, TERMS_PER_THREAD):
            scratch = self._scratch(X.shape[1])
            _cos_sin(X, *drawn, *scratch, _each_thread(self.width, BLOCK_ROWS), out)
        return out

    def _scratch(self, n_inputs: int) -> tuple[Single, ...]:
        """Return per-thread buffers for rows as columns, their transform and projections."""
        q = matrix_size(n_inputs, self.n_frequencies)
        return tuple(_each_thread(size, BLOCK_ROWS) for size in (n_inputs, q, self.n_frequencies))


def _each_thread(*shape: int) -> Single:
    """Return one buffer per thread."""
    return np.empty((get_num_threads(), *shape), np.float32)

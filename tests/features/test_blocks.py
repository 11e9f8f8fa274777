"""Random features of all kinds against their kernels, laws and definitions; pinned bits."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import hadamard

from dsgkit.errors import DataError
from dsgkit.features import (
    FourierFeatures,
    SketchFeatures,
    StructuredFeatures,
    fourier,
    random_features,
    sketch,
    structured,
)
from dsgkit.kernels import kernel_named
from dsgkit.system.machine import threads_for

COSINES = [("gaussian", "independent"), ("laplacian", "independent"), ("gaussian", "structured")]
KINDS = [*COSINES, ("dot_product(3)", "independent")]
SHAPES = [(5, 3), (8, 8), (8, 24), (20, 6), (20, 40), (1, 4), (7, 1), (100, 70)]
"""Columns, and frequencies of a block: fewer, as many and more than a matrix has."""


def made(kind, sigma, m, seed):
    return random_features(kind[0], sigma, m, seed, kind[1])


def frequencies_of(features, block, n_inputs):
    """Return frequencies; structured ones as the products of matrices that define them."""
    if isinstance(features, FourierFeatures):
        return features.frequencies(block, 1, n_inputs)[0].astype(float)
    signs, lengths = features.draw(block, n_inputs)
    n_matrices, n_parts, _, q = signs.shape
    H, W = hadamard(q).astype(float), np.empty((n_parts * q, n_matrices * q))
    for part, matrix in np.ndindex(n_parts, n_matrices):
        D1, D2, D3 = map(np.diag, signs[matrix, part])
        rows = np.pi * np.diag(lengths[matrix, part]) @ H @ D3 @ H @ D2 @ H @ D1
        W[part * q : (part + 1) * q, matrix * q : (matrix + 1) * q] = rows.T
    return W[:n_inputs, : features.n_frequencies]


@pytest.mark.parametrize(
    ("kind", "n_inputs", "m", "sigma"),
    [
        *product(COSINES, (4, 30), (16, 64), (0.2, 5.0)),
        *(((f"dot_product({p})", "independent"), 5, 64, 2.0) for p in (1, 2, 3, 5)),
    ],
)
def test_the_gram_matrix_is_the_kernel(kind, n_inputs, m, sigma):
    """In the mean of the blocks, within 5 standard errors for all pairs of rows."""
    X = np.random.default_rng(0).normal(size=(25, n_inputs)).astype(np.float32) / n_inputs**0.5
    exact = kernel_named(kind[0]).gram(X, X, sigma)

    def errors(features):
        return np.array([(p := features.transform(X, t)) @ p.T - exact for t in range(300)], float)

    found = errors(made(kind, sigma, m, 11))
    assert (np.abs(found.mean(axis=0)) < 5 * found.std(axis=0) / np.sqrt(300) + 1e-5).all()
    if kind not in COSINES:
        most = (2 + 3 ** kernel_named(kind[0]).degree) / m  # of Avron et al.
        assert (found.var(axis=0) < most * np.outer(exact.diagonal(), exact.diagonal())).all()
    elif kind[1] == "structured" and sigma < 1:  # as near as with independent ones, or nearer
        orthogonal = n_inputs > 8 and m > structured.matrix_size(n_inputs, m) / 2
        others = errors(FourierFeatures("gaussian", sigma, m, 11))
        assert (found**2).mean() < (0.8 if orthogonal else 1.05) * (others**2).mean()


def test_blocks_never_change():
    """The first frequencies and hashes of a seed, as the first version drew them."""
    for kernel, expected in {
        "gaussian": "bf8c8443 be03d749 407d8ce2 bf92ab81 3eb39334 3fd4bb9d",
        "laplacian": "3f75428c bebbf36f 40188f42 bfea8731 bebf3a72 3f8e61ba",
    }.items():
        W = FourierFeatures(kernel, 1.0, 3, seed=7).frequencies(1, 1, 2)[0]
        assert " ".join(f"{bits:08x}" for bits in W.ravel().view(np.uint32)) == expected
    signs, lengths = StructuredFeatures(0.5, 4, seed=5).draw(1, 6)
    assert signs[0, 0, :, :4].tolist() == [[1, 1, 1, -1], [-1, 1, 1, 1], [1, 1, -1, -1]]
    first = [0.009045678190886974, 0.007751678582280874, 0.01053555216640234, 0.009306995]
    np.testing.assert_allclose(lengths[0, 0, :4], first, rtol=1e-6)
    places, signs = SketchFeatures("dot_product(2)", 1.0, 100, seed=5).hashes(1, 4)
    assert places.tolist() == [[73, 36, 22, 17], [16, 95, 71, 15]]
    assert signs.tolist() == [[1, -1, -1, -1], [-1, 1, 1, -1]]


@pytest.mark.parametrize("G", [1, 3])
@pytest.mark.parametrize(
    ("kind", "n_inputs", "m"),
    [*((kind, 5, 24) for kind in KINDS), *((COSINES[2], *shape) for shape in SHAPES)],
)
def test_sums_over_blocks_and_rows_are_those_of_the_features(kind, n_inputs, m, G, monkeypatch):
    monkeypatch.setattr(fourier, "BLOCK_BYTES", 4 * m * (n_inputs + 2 * G) * 3)  # three blocks
    monkeypatch.setattr(structured, "PASS_BLOCKS", 3)
    monkeypatch.setattr(structured, "TERMS_PER_THREAD", 1)
    monkeypatch.setattr(sketch, "TILE_BYTES", 16 * m * 7)
    rng, n = np.random.default_rng(0), 150
    X, C = rng.random((n, n_inputs), np.float32), rng.normal(size=(n, G)).astype(np.float32)
    features, factor = made(kind, 0.5, m, 2**63 + 7), rng.normal(size=G)
    in_order, root = features.in_order(n_inputs, 10), features.scale
    Phis, coefficients = [], []
    for t in range(10):
        Phis.append(features.transform(X, t).astype(np.float64))
        if kind in COSINES:
            assert (features.width, root) == (2 * m, m**-0.5)
            Z = X.astype(float) @ frequencies_of(features, t, n_inputs)
            np.testing.assert_allclose(Phis[t] / root, np.hstack([np.cos(Z), np.sin(Z)]), atol=1e-4)
        expected, close = root * Phis[t].T @ C * factor, {"rtol": 1e-4, "atol": 1e-4}
        coefficients.append(in_order.correlate(X, t, C, factor))
        np.testing.assert_allclose(coefficients[t], expected, **close)
        with threads_for(1, 1):
            np.testing.assert_array_equal(features.correlate(X, t, C, factor), coefficients[t])
        values = np.ones((n, G), np.float32)
        in_order.add(X, t, coefficients[t][None], values)
        np.testing.assert_allclose(values, 1 + Phis[t] @ expected / root, **close)
    if isinstance(features, FourierFeatures):  # drawn three at a time
        assert in_order.first < 9 < in_order.first + len(in_order.drawn)
    values, again = np.zeros((2, n, G), np.float32)
    with threads_for(1, 1):
        features.add(X, 1, np.array(coefficients[1:8]), values)
    expected = sum(P @ (P.T @ C) for P in Phis[1:8]) * factor
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-3)
    in_order.add(X, 1, np.array(coefficients[1:8]), again)  # from the first block once more
    np.testing.assert_array_equal(again, values)


@pytest.mark.parametrize(("kernel", "d"), [("gaussian", 1), ("gaussian", 784), ("laplacian", 3)])
def test_features_of_the_longest_rows_are_accurate_and_those_of_the_farthest_no_noise(kernel, d):
    """The documented bounds of what rounding projections to float32 moves them by."""
    known, sigma, m = kernel_named(kernel), 2.0, 20_000 if kernel == "laplacian" else 2000
    X = np.random.default_rng(0).random((5, d))
    X /= np.linalg.norm(X, known.norm, axis=1, keepdims=True)
    features = FourierFeatures(kernel, sigma, m, seed=0)
    for length, most in ((known.longest(sigma), 2.0**-11), (known.farthest(sigma), 0.03)):
        rows = features.read(X * length * 0.999, slice(None))
        assert rows.dtype == np.float32
        Z = rows.astype(np.float64) @ frequencies_of(features, 0, d)
        errors = features.transform(rows, 0) * np.sqrt(m) - np.hstack([np.cos(Z), np.sin(Z)])
        assert np.abs(errors).mean() < most
        assert np.abs(errors).max() < (0.1 if kernel == "gaussian" else 2.001)
    for refused, text in (
        (rows * np.float32(1.01), "features too large for sigma=2: subtract the mean"),
        (X * 1e41, "too large for float32"),
        (X * np.nan, "NaN or infinite values"),
    ):
        with pytest.raises(DataError, match=text):
            features.read(refused, slice(None))


def test_a_kernel_has_its_kind_of_features():
    assert made(KINDS[1], 0.5, 8, 3) == FourierFeatures("laplacian", 0.5, 8, 3)
    assert made(KINDS[2], 0.5, 8, 3) == StructuredFeatures(0.5, 8, 3)
    assert made(KINDS[3], 0.5, 9, 3) == SketchFeatures("dot_product(3)", 0.5, 9, 3)
    for words, kernel, sigma, *frequencies in (
        ("structured frequencies exist for the gaussian", "laplacian", 1.0, "structured"),
        ("structured frequencies exist for the gaussian", "dot_product(2)", 1.0, "structured"),
        *(("is too small for random features", "gaussian", sigma) for sigma in (0.0, 1e-80)),
        *(("is too large for random features", "gaussian", sigma) for sigma in (1e80, np.inf)),
    ):
        with pytest.raises(DataError, match=words):
            random_features(kernel, sigma, 8, 0, *frequencies)


# TensorSketch


def textbook(features, X, block):
    """Convolutions of count sketches, as Pham & Pagh state them."""
    places, signs = features.hashes(block, X.shape[1])
    out = np.zeros((len(X), features.width))
    for i, x in enumerate(X.astype(np.float64)):
        product = 1
        for h, s in zip(places, signs, strict=True):
            count = np.zeros(features.width)
            np.add.at(count, h, s * np.sqrt(features.sigma) * x)
            product = product * np.fft.fft(count)
        out[i] = np.fft.ifft(product).real
    return out


@pytest.mark.parametrize("D", [1, 2, 7, 16])
@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("direct", [6, 5])
def test_products_of_features_are_those_of_the_textbook(p, D, direct, monkeypatch):
    monkeypatch.setattr(sketch, "DIRECT_INPUTS", direct)
    X = np.random.default_rng(0).random((9, 6), np.float32)
    features = SketchFeatures(f"dot_product({p})", 0.7, D, seed=3)
    Phi, expected = features.transform(X, 4), textbook(features, X, 4)
    assert Phi.shape == (9, D)
    np.testing.assert_allclose(Phi @ Phi.T, expected @ expected.T, rtol=1e-5, atol=1e-5)


def test_values_in_the_billions_keep_their_digits():
    """Raw images: ``||x||^2`` is about 90, and the kernel of degree 5 some 6e9."""
    X = np.random.default_rng(0).choice([-1, 1], (20, 780), p=[0.3, 0.7])
    X = (X * np.sqrt(90 / 780)).astype(np.float32)
    features = SketchFeatures("dot_product(5)", 1.0, 512, seed=0)
    Phi = textbook(features, X, 0)
    c = np.random.default_rng(0).normal(size=(20, 1)).astype(np.float32)
    expected, values = Phi @ (Phi.T @ c), np.zeros((20, 1), np.float32)
    assert np.abs(expected).max() > 1e9
    features.add(X, 0, features.correlate(X, 0, c, np.ones(1))[None], values)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())

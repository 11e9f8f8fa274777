"""TensorSketch against the textbook's, and its Gram matrix against the exact kernel."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import polynomial_kernel

from dsgkit.features import SketchFeatures, sketch


def rows_of(n, d, seed=0):
    return np.random.default_rng(seed).random((n, d)).astype(np.float32)


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
    X = rows_of(9, 6)
    features = SketchFeatures(f"dot_product({p})", 0.7, D, seed=3)
    Phi, expected = features.transform(X, 4), textbook(features, X, 4)
    assert Phi.shape == (9, D)
    np.testing.assert_allclose(Phi @ Phi.T, expected @ expected.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_gram_matrix_is_the_kernel(p):
    """Means over blocks: 5 of their standard errors bound all 78 pairs, but one time in 10^4."""
    X, sigma, D, n_blocks = rows_of(12, 5), 0.7, 64, 600
    features = SketchFeatures(f"dot_product({p})", sigma, D, seed=1)
    grams = np.array([(P := features.transform(X, t)) @ P.T for t in range(n_blocks)], np.float64)
    exact = polynomial_kernel(X, degree=p, gamma=sigma, coef0=0)
    error = grams.std(axis=0) / np.sqrt(n_blocks)
    assert (np.abs(grams.mean(axis=0) - exact) < 5 * error + 1e-5).all()
    norms = (sigma * (X.astype(np.float64) ** 2).sum(axis=1)) ** p
    bound = (2 + 3**p) / D * np.outer(norms, norms)
    assert (grams.var(axis=0) < bound).all()
    if p == 1:  # that of a count sketch is known
        X = X.astype(np.float64)
        squares = (X**2) @ (X**2).T
        known = sigma**2 / D * (np.outer(norms, norms) / sigma**2 + (X @ X.T) ** 2 - 2 * squares)
        np.testing.assert_allclose(grams.var(axis=0), known, rtol=0.35)


def test_hashes_are_uniform_and_independent():
    """Each test fails by chance one time in 10^4; the seed is fixed."""
    features = SketchFeatures("dot_product(3)", 1.0, 10, seed=5)
    draws = [features.hashes(t, 40) for t in range(50)]
    places, signs = (np.array(arrays) for arrays in zip(*draws, strict=True))
    assert stats.chisquare(np.bincount(places.ravel(), minlength=10)).pvalue > 1e-4
    assert set(np.unique(signs)) == {-1.0, 1.0}
    together = np.bincount((places[:, 0] * 10 + places[:, 1]).ravel(), minlength=100)
    assert stats.chisquare(together).pvalue > 1e-4
    with_signs = np.bincount((places * 2 + (signs > 0)).ravel().astype(int), minlength=20)
    assert stats.chisquare(with_signs).pvalue > 1e-4


@pytest.mark.parametrize("G", [1, 3])
def test_sums_over_blocks_and_rows_are_those_of_the_features(G, monkeypatch):
    monkeypatch.setattr(sketch, "TILE_BYTES", 16 * 24 * 7)  # several tiles
    rng = np.random.default_rng(0)
    X, C = rows_of(40, 5), rng.normal(size=(40, G)).astype(np.float32)
    features, factor = SketchFeatures("dot_product(3)", 0.5, 24, seed=7), rng.normal(size=G)
    coefficients = np.array([features.correlate(X, t, C, factor) for t in range(4)])
    Phis = [features.transform(X, t).astype(np.float64) for t in range(4)]
    for Phi, part in zip(Phis, coefficients, strict=True):
        np.testing.assert_allclose(part, Phi.T @ C * factor, rtol=1e-5, atol=1e-5)
    values = np.ones((40, G), np.float32)
    features.in_order(5, 4).add(X, 1, coefficients[1:], values)
    expected = 1 + sum(P @ (P.T @ C) for P in Phis[1:]) * factor
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)


def test_a_block_is_the_same_alone_and_whatever_the_rows():
    features, X = SketchFeatures("dot_product(3)", 1.0, 32, seed=2**64 - 1), rows_of(300, 4)
    whole = [features.transform(X, t) for t in (3, 0, 2)]
    close = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(features.transform(X[17:19], 3), whole[0][17:19], **close)
    again = SketchFeatures("dot_product(3)", 1.0, 32, seed=2**64 - 1)
    np.testing.assert_allclose(again.transform(X[::-1], 2), whole[2][::-1], **close)
    assert not np.array_equal(whole[0], whole[1])
    assert (SketchFeatures("dot_product(3)", 1.0, 32, 0).transform(X, 3) != whole[0]).any()


def test_values_in_the_billions_keep_their_digits():
    """Raw images: ``||x||^2`` is about 90, and the kernel of degree 5 some 6e9."""
    X = np.sqrt(np.float32(90 / 780)) * np.sign(rows_of(20, 780) - 0.3)
    features = SketchFeatures("dot_product(5)", 1.0, 512, seed=0)
    Phi = textbook(features, X, 0)
    c = np.random.default_rng(0).normal(size=(20, 1)).astype(np.float32)
    coefficients = features.correlate(X, 0, c, np.ones(1))
    expected = Phi @ (Phi.T @ c)
    assert np.abs(expected).max() > 1e9
    values = np.zeros((20, 1), np.float32)
    features.add(X, 0, coefficients[None], values)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())

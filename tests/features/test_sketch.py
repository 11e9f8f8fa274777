"""TensorSketch against the textbook's, and its Gram matrix against the exact kernel."""

import numpy as np
import pytest
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

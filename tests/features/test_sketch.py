"""TensorSketch against the textbook's."""

import numpy as np
import pytest

from dsgkit.features import SketchFeatures, sketch


def rows_of(n, d):
    return np.random.default_rng(0).random((n, d)).astype(np.float32)


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


def test_values_in_the_billions_keep_their_digits():
    """Raw images: ``||x||^2`` is about 90, and the kernel of degree 5 some 6e9."""
    X = np.sqrt(np.float32(90 / 780)) * np.sign(rows_of(20, 780) - 0.3)
    features = SketchFeatures("dot_product(5)", 1.0, 512, seed=0)
    Phi = textbook(features, X, 0)
    c = np.random.default_rng(0).normal(size=(20, 1)).astype(np.float32)
    expected, values = Phi @ (Phi.T @ c), np.zeros((20, 1), np.float32)
    assert np.abs(expected).max() > 1e9
    features.add(X, 0, features.correlate(X, 0, c, np.ones(1))[None], values)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())

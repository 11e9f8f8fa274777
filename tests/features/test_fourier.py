import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.kernels import KERNELS


def gaussian_kernel(X, Z, sigma):
    return np.exp(-sigma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


EXACT_KERNELS = {"gaussian": gaussian_kernel}


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("sigma", [0.2, 1.0, 5.0])
def test_the_gram_matrix_is_the_kernel(kernel, sigma):
    """Hoeffding: each of the averaged terms is in [-1, 1], so 5 standard errors bound all pairs."""
    X = np.random.default_rng(0).random((25, 4)).astype(np.float32)
    m, n_blocks = 512, 40
    features = FourierFeatures(kernel, sigma, m, seed=11)
    gram = np.mean([(p := features.transform(X, t)) @ p.T for t in range(n_blocks)], axis=0)
    exact = EXACT_KERNELS[kernel](X, X, sigma)
    assert np.abs(gram - exact).max() < 5 * np.sqrt(0.5 / (m * n_blocks))
    np.testing.assert_allclose(gram.diagonal(), 1.0, atol=1e-5)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("d", [1, 7, 130])
def test_features_of_any_number_of_rows(n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)).astype(np.float32)
    features = FourierFeatures("gaussian", 0.5, 24, seed=0)
    W = features.frequencies(3, 1, d)[0]
    Z = X.astype(np.float64) @ W
    expected = np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(24)
    np.testing.assert_allclose(features.transform(X, 3), expected, atol=2e-5)

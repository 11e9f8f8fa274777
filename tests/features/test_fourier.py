import numpy as np
import pytest

from dsgkit.features import KERNELS, FourierFeatures, tiles


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
    W = features.frequencies(3, d)
    Z = X.astype(np.float64) @ W
    expected = np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(24)
    np.testing.assert_allclose(features.transform(X, 3), expected, atol=2e-5)


@pytest.mark.parametrize("n_models", [1, 2, 40, 200])
@pytest.mark.parametrize("n", [1, 64, 300, 777])
def test_adding_a_block(n, n_models):
    rng = np.random.default_rng(n)
    X = rng.random((n, 5), dtype=np.float32)
    W = rng.normal(size=(5, 19)).astype(np.float32)
    A = rng.normal(size=(38, n_models)).astype(np.float32)
    values = rng.normal(size=(n, n_models)).astype(np.float32)
    Z = X.astype(np.float64) @ W
    expected = values + np.hstack([np.cos(Z), np.sin(Z)]) @ A
    tiles.add_block(X, W, A, values)
    np.testing.assert_allclose(values, expected, atol=1e-4)


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (70, 19), (300, 64)])
def test_correlating_rows_with_a_block(n, m, n_models):
    rng = np.random.default_rng(n)
    X = rng.random((n, 5), dtype=np.float32)
    W = rng.normal(size=(5, m)).astype(np.float32)
    C = rng.normal(size=(n, n_models)).astype(np.float32)
    Z = X.astype(np.float64) @ W
    expected = np.hstack([np.cos(Z), np.sin(Z)]).T @ C
    np.testing.assert_allclose(tiles.correlate(X, W, C), expected, atol=1e-4)


def test_sincos_over_the_range_it_meets():
    x = np.concatenate(
        [
            np.linspace(-5000, 5000, 400_001),
            np.random.default_rng(0).normal(size=100_000) * 10,
            np.arange(-4000, 4000) * np.pi / 4,
        ]
    ).astype(np.float32)
    out = tiles.cos_sin(x[:, None], np.ones((1, 1), np.float32))
    exact = np.column_stack([np.cos(x.astype(np.float64)), np.sin(x.astype(np.float64))])
    assert np.abs(out - exact).max() < 2e-6


def test_sincos_passes_on_what_is_not_finite():
    x = np.array([[np.nan], [np.inf], [-np.inf]], np.float32)
    assert np.isnan(tiles.cos_sin(x, np.ones((1, 1), np.float32))).all()

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.features import FourierFeatures, load_features
from dsgkit.kernels import KERNELS, Kernel


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


@pytest.mark.parametrize("G", [1, 3])
def test_sums_over_blocks_and_rows_are_those_of_the_features(G):
    rng = np.random.default_rng(0)
    X, C = rng.random((40, 5), np.float32), rng.normal(size=(40, G)).astype(np.float32)
    features, factor = FourierFeatures("gaussian", 0.5, 24, seed=7), rng.normal(size=G)
    in_order = features.in_order(5, 10)
    coefficients = []
    for t in range(10):
        Phi = features.transform(X, t).astype(np.float64)
        expected = Phi.T @ C * factor / np.sqrt(24)
        coefficients.append(in_order.correlate(X, t, C, factor))
        np.testing.assert_allclose(coefficients[-1], expected, atol=1e-5)
        np.testing.assert_array_equal(features.correlate(X, t, C, factor), coefficients[-1])
        values = np.ones((40, G), np.float32)
        in_order.add(X, t, coefficients[-1][None], values)
        np.testing.assert_allclose(values, 1 + Phi @ expected * np.sqrt(24), atol=1e-5)
    values = np.zeros((40, G), np.float32)
    features.add(X, 3, np.array(coefficients[3:8]), values)
    Phis = [features.transform(X, t).astype(np.float64) for t in range(3, 8)]
    expected = sum(P @ (P.T @ C) for P in Phis) * factor
    np.testing.assert_allclose(values, expected, atol=1e-4)


def laplacian(A, B, sigma):
    return np.exp(-sigma * np.abs(A[:, None] - B[None]).sum(axis=2))


def cauchy(normals, n_inputs, sigma):
    """Quotients of independent normals: the law of ``exp(-sigma ||x - x'||_1)``."""
    N = normals(2 * n_inputs)
    return np.float32(sigma) * N[:, :n_inputs] / N[:, n_inputs:]


def test_a_kernel_of_another_law_brings_only_its_law(monkeypatch):
    kernel = Kernel("laplacian", "exp(-sigma ||x - x'||_1)", laplacian, None, cauchy)
    monkeypatch.setitem(KERNELS, "laplacian", kernel)
    X = np.random.default_rng(0).random((25, 4)).astype(np.float32)
    features = FourierFeatures("laplacian", 0.5, 512, seed=11)
    gram = np.mean([(p := features.transform(X, t)) @ p.T for t in range(40)], axis=0)
    assert np.abs(gram - laplacian(X, X, 0.5)).max() < 5 * np.sqrt(0.5 / (512 * 40))


def test_features_go_through_the_entries_of_a_model_file():
    features = FourierFeatures("gaussian", 0.7, 12, seed=2**63 + 1)
    assert features.width == 24
    assert load_features(features.entries(), 24) == features
    with pytest.raises(DataError, match="unknown kernel 'sinc'; known: gaussian"):
        load_features({**features.entries(), "kernel": "sinc"}, 24)

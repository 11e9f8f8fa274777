import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import Matern

from dsgkit.errors import DataError
from dsgkit.features import FourierFeatures, load_features
from dsgkit.kernels import kernel_named


def gaussian_kernel(X, Z, sigma):
    return np.exp(-sigma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def laplacian_kernel(X, Z, sigma):
    return np.exp(-sigma * np.abs(X[:, None] - Z[None]).sum(axis=2))


def matern_kernel(nu):
    return lambda X, Z, sigma: Matern(1 / sigma, nu=nu)(X, Z)


EXACT_KERNELS = {
    "gaussian": gaussian_kernel,
    "laplacian": laplacian_kernel,
    "matern(0.5)": matern_kernel(0.5),
    "matern(0.8)": matern_kernel(0.8),
    "matern(1.5)": matern_kernel(1.5),
    "matern(2.5)": matern_kernel(2.5),
}
FIRST = {
    "gaussian": "bf8c8443 be03d749 407d8ce2 bf92ab81 3eb39334 3fd4bb9d",
    "laplacian": "3f75428c bebbf36f 40188f42 bfea8731 bebf3a72 3f8e61ba",
    "matern(1.5)": "bf1c003d bdf6f0f5 400acea7 bf22d511 3ea82c93 3f68ec4f",
    "matern(0.8)": "bf12ff38 bd9f372d 3fddc26b bf196f1c 3e58dc5a 3f3a0f4f",
}
"""Bits of frequencies, in hexadecimal digits."""


@pytest.mark.parametrize("kernel", sorted(EXACT_KERNELS))
@pytest.mark.parametrize("sigma", [0.2, 5.0])
def test_the_gram_matrix_is_the_kernel(kernel, sigma):
    """Hoeffding: each of the averaged terms is in [-1, 1], so 5 standard errors bound all pairs."""
    X = np.random.default_rng(0).random((25, 4)).astype(np.float32)
    m, n_blocks = 512, 40
    features = FourierFeatures(kernel, sigma, m, seed=11)
    gram = np.mean([(p := features.transform(X, t)) @ p.T for t in range(n_blocks)], axis=0)
    exact = EXACT_KERNELS[kernel](X, X, sigma)
    assert np.abs(gram - exact).max() < 5 * np.sqrt(0.5 / (m * n_blocks))
    np.testing.assert_allclose(gram.diagonal(), 1.0, atol=1e-5)


def same_law(sample, law):
    """Kolmogorov-Smirnov; by chance one in 10^4 samples fails, and the seed is fixed."""
    assert stats.kstest(sample.ravel(), law).pvalue > 1e-4


def test_frequencies_of_the_laplacian_are_independent_of_cauchys_law():
    W = FourierFeatures("laplacian", 0.7, 500, seed=1).frequencies(0, 20, 3)
    same_law(W, stats.cauchy(0, 0.7).cdf)
    # a sum of independent ones adds their scales, |a|_1; of dependent ones it would be another
    same_law(np.einsum("tkm,k->tm", W, [1, -2, 0.5]), stats.cauchy(0, 0.7 * 3.5).cdf)


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.5, 2.5, 7.2])
def test_frequencies_of_matern_kernels_are_of_a_multivariate_t_law(nu):
    W = FourierFeatures(f"matern({nu})", 0.7, 500, seed=1).frequencies(0, 20, 3)
    same_law(W[:, 1], stats.t(2 * nu, scale=0.7).cdf)
    same_law((W.astype(np.float64) ** 2).sum(axis=1) / (3 * 0.7**2), stats.f(3, 2 * nu).cdf)
    same_law(W[:, 0] / W[:, 2], stats.cauchy.cdf)  # directions are uniform


FOURIER = sorted(EXACT_KERNELS)


@pytest.mark.parametrize("kernel", FOURIER)
def test_a_block_is_the_same_alone_and_in_any_run_of_blocks_and_rows(kernel):
    features = FourierFeatures(kernel, 0.7, 30, seed=2**63 + 5)
    run = features.frequencies(2, 5, 4)
    for t in (6, 2, 4):
        np.testing.assert_array_equal(features.frequencies(t, 1, 4)[0], run[t - 2])
        np.testing.assert_array_equal(features.frequencies(t, 1, 3)[0], run[t - 2, :3])
    wider = FourierFeatures(kernel, 0.7, 50, seed=2**63 + 5).frequencies(2, 5, 4)
    np.testing.assert_array_equal(wider[:, :, :30], run)
    X = np.random.default_rng(0).random((70, 4), np.float32)
    order = np.random.default_rng(1).permutation(70)
    whole = features.transform(X, 3)
    np.testing.assert_allclose(features.transform(X[order], 3), whole[order], atol=1e-6)


def test_blocks_never_change():
    """The first frequencies of some seeds, as the first version drew them."""
    for kernel, expected in FIRST.items():
        W = FourierFeatures(kernel, 1.0, 3, seed=7).frequencies(1, 1, 2)[0]
        assert " ".join(f"{bits:08x}" for bits in W.ravel().view(np.uint32)) == expected


@pytest.mark.parametrize("kernel", ["laplacian", "matern(0.5)", "matern(1.5)", "matern(0.8)"])
def test_features_of_the_longest_rows_are_accurate_on_average(kernel):
    """Projections have no bound; what a cosine is off by has the documented mean."""
    known, sigma, m = kernel_named(kernel), 0.7, 100_000
    X = np.random.default_rng(0).normal(size=(4, 3))
    norms = np.linalg.norm(X, known.norm, axis=1, keepdims=True)
    X = (X / norms * known.longest(sigma)).astype(np.float32)
    features = FourierFeatures(kernel, sigma, m, seed=0)
    Z = X.astype(np.float64) @ features.frequencies(0, 1, 3)[0]
    exact = np.hstack([np.cos(Z), np.sin(Z)])
    errors = np.abs(features.transform(X, 0) * np.sqrt(m) - exact)
    assert abs(Z).max() > 1e5
    assert errors.max() <= 2 + 1e-5
    # the rounding of a projection, of 1/pi, and of the products: some units of the last place
    assert errors.mean() < 3 * 2.0**-12


@pytest.mark.parametrize("G", [1, 3])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern(1.5)"])
def test_sums_over_blocks_and_rows_are_those_of_the_features(kernel, G):
    rng = np.random.default_rng(0)
    X, C = rng.random((40, 5), np.float32), rng.normal(size=(40, G)).astype(np.float32)
    features, factor = FourierFeatures(kernel, 0.5, 24, seed=7), rng.normal(size=G)
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


def test_entries_of_an_unknown_kernel_are_refused():
    entries = FourierFeatures("gaussian", 0.7, 12, seed=0).entries()
    with pytest.raises(DataError, match="unknown kernel 'sinc'; known: gaussian, laplacian"):
        load_features({**entries, "kernel": "sinc"}, 24)


@pytest.mark.parametrize("d", [1, 6, 54, 784])
def test_features_of_the_farthest_rows_are_right(d):
    """The documented bound of what rounding projections to float32 moves them by."""
    sigma, m = 2.0, 2000
    X = np.random.default_rng(0).random((5, d))
    X *= kernel_named("gaussian").farthest(sigma) / np.linalg.norm(X, axis=1, keepdims=True)
    X = X.astype(np.float32)
    features = FourierFeatures("gaussian", sigma, m, seed=0)
    Z = X.astype(np.float64) @ features.frequencies(0, 1, d)[0]
    exact = np.hstack([np.cos(Z), np.sin(Z)])
    errors = np.abs(features.transform(X, 0) * np.sqrt(m) - exact)
    assert errors.max() < 0.1
    assert np.sqrt((errors**2).mean()) < 0.01

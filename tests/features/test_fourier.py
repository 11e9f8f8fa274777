"""Random Fourier features against their kernels and laws, and which features a kernel has."""

import pickle

import numpy as np
import pytest
from scipy import stats

from dsgkit.errors import DataError
from dsgkit.features import FourierFeatures, SketchFeatures, StructuredFeatures, random_features
from dsgkit.features import fourier as module
from dsgkit.kernels import kernel_named

KERNELS = ["gaussian", "laplacian"]
FIRST = {
    "gaussian": "bf8c8443 be03d749 407d8ce2 bf92ab81 3eb39334 3fd4bb9d",
    "laplacian": "3f75428c bebbf36f 40188f42 bfea8731 bebf3a72 3f8e61ba",
}
"""Bits of frequencies, in hexadecimal digits."""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sigma", [0.2, 5.0])
def test_the_gram_matrix_is_the_kernel(kernel, sigma):
    """Hoeffding: each of the averaged terms is in [-1, 1], so 5 standard errors bound all pairs."""
    X = np.random.default_rng(0).random((25, 4)).astype(np.float32)
    m, n_blocks = 512, 40
    features = FourierFeatures(kernel, sigma, m, seed=11)
    gram = np.mean([(p := features.transform(X, t)) @ p.T for t in range(n_blocks)], axis=0)
    exact = kernel_named(kernel).gram(X, X, sigma)
    assert np.abs(gram - exact).max() < 5 * np.sqrt(0.5 / (m * n_blocks))
    np.testing.assert_allclose(gram.diagonal(), 1.0, atol=1e-5)


def same_law(sample, law):
    """Kolmogorov-Smirnov; by chance one in 10^4 samples fails, and the seed is fixed."""
    assert stats.kstest(sample.ravel(), law).pvalue > 1e-4


def test_frequencies_are_of_their_laws():
    W = FourierFeatures("gaussian", 0.7, 500, seed=1).frequencies(0, 20, 3)
    same_law(W, stats.norm(0, np.sqrt(1.4)).cdf)
    same_law((W**2).sum(axis=1) / 1.4, stats.chi2(3).cdf)
    W = FourierFeatures("laplacian", 0.7, 500, seed=1).frequencies(0, 20, 3)
    same_law(W, stats.cauchy(0, 0.7).cdf)
    # a sum of independent ones adds their scales, |a|_1; of dependent ones it would be another
    same_law(np.einsum("tkm,k->tm", W, [1, -2, 0.5]), stats.cauchy(0, 0.7 * 3.5).cdf)


@pytest.mark.parametrize("kernel", KERNELS)
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
    copy = pickle.loads(pickle.dumps(features))
    assert copy == features
    np.testing.assert_array_equal(copy.transform(X, 3), whole)


def test_blocks_never_change():
    """The first frequencies of some seeds, as the first version drew them."""
    for kernel, expected in FIRST.items():
        W = FourierFeatures(kernel, 1.0, 3, seed=7).frequencies(1, 1, 2)[0]
        assert " ".join(f"{bits:08x}" for bits in W.ravel().view(np.uint32)) == expected


@pytest.mark.parametrize("G", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_over_blocks_and_rows_are_those_of_the_features(kernel, G, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 24 * (5 + 2 * G) * 3)  # three blocks at once
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
    values, again = np.zeros((2, 40, G), np.float32)
    features.add(X, 1, np.array(coefficients[1:8]), values)
    Phis = [features.transform(X, t).astype(np.float64) for t in range(1, 8)]
    expected = sum(P @ (P.T @ C) for P in Phis) * factor
    np.testing.assert_allclose(values, expected, atol=1e-4)
    in_order.add(X, 1, np.array(coefficients[1:8]), again)  # from the first block once more
    np.testing.assert_array_equal(again, values)


def test_blocks_in_order_are_drawn_many_at_a_time(monkeypatch):
    drawn, normal_blocks = [], module.normal_blocks

    def counted(seed, first, count, *shape):
        drawn.append((first, count))
        return normal_blocks(seed, first, count, *shape)

    monkeypatch.setattr(module, "normal_blocks", counted)
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 8 * 5 * 4)  # four blocks of 8 by 5
    in_order = FourierFeatures("gaussian", 1.0, 8, seed=0).in_order(5, 10)
    for t in range(10):
        in_order.correlate(np.ones((3, 5), np.float32), t, np.ones((3, 1), np.float32), np.ones(1))
    assert drawn == [(0, 4), (4, 4), (8, 2)]


@pytest.mark.parametrize(("kernel", "d"), [("gaussian", 1), ("gaussian", 784), ("laplacian", 3)])
def test_features_of_the_longest_rows_are_accurate_and_those_of_the_farthest_no_noise(kernel, d):
    """The documented bounds of what rounding projections to float32 moves them by."""
    known, sigma, m = kernel_named(kernel), 2.0, 20_000 if kernel == "laplacian" else 2000
    X = np.random.default_rng(0).random((5, d))
    X /= np.linalg.norm(X, known.norm, axis=1, keepdims=True)
    features = FourierFeatures(kernel, sigma, m, seed=0)
    for length, most in ((known.longest(sigma), 2.0**-11), (known.farthest(sigma), 0.03)):
        rows = features.read((X * length * 0.999).astype(np.float32), slice(None))
        Z = rows.astype(np.float64) @ features.frequencies(0, 1, d)[0]
        errors = features.transform(rows, 0) * np.sqrt(m) - np.hstack([np.cos(Z), np.sin(Z)])
        assert np.abs(errors).mean() < most
        assert np.abs(errors).max() < (0.1 if kernel == "gaussian" else 2.001)
    with pytest.raises(DataError, match="features too large for sigma=2: subtract the mean"):
        features.read(rows * np.float32(1.01), slice(None))


def test_rows_are_read_as_writable_float32_and_refused_if_they_cannot_be_used():
    features = FourierFeatures("gaussian", 0.5, 4, seed=0)
    table = np.arange(12.0).reshape(6, 2)
    for index in (slice(1, 4), np.array([1, 2, 3])):
        rows = features.read(table, index)
        assert rows.dtype == np.float32 and rows.flags.writeable and rows.flags.c_contiguous
        np.testing.assert_array_equal(rows, table[1:4])
    for value, text in ((np.nan, "NaN or infinite values"), (1e39, "too large for float32")):
        table[3, 1] = value
        with pytest.raises(DataError, match=text):
            features.read(table, slice(2, 5))
        features.read(table, slice(3))


def test_a_kernel_has_its_kind_of_features():
    assert random_features("laplacian", 0.5, 8, 3) == FourierFeatures("laplacian", 0.5, 8, 3)
    assert random_features("dot_product(2)", 0.5, 9, 3) == SketchFeatures(
        "dot_product(2)", 0.5, 9, 3
    )
    structured = random_features("gaussian", 0.5, 8, 3, "structured")
    assert structured == StructuredFeatures(0.5, 8, 3) and structured.kernel == "gaussian"
    assert (structured.width, structured.scale) == (16, 8**-0.5)
    for kernel in ("laplacian", "dot_product(2)"):
        with pytest.raises(DataError, match="structured frequencies exist for the gaussian"):
            random_features(kernel, 1.0, 8, 0, "structured")
    with pytest.raises(DataError, match="the linear kernel has no random features"):
        random_features("linear", 1.0, 8, 0)
    for sigma, size in ((1e-80, "small"), (1e80, "large"), (0.0, "small"), (np.inf, "large")):
        with pytest.raises(DataError, match=f"is too {size} for random features in single"):
            random_features("gaussian", sigma, 8, 0)

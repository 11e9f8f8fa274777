"""Random features of all kinds against their kernels, laws and definitions; pinned bits."""

import pickle

import numpy as np
import pytest
from scipy import stats
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
    H = hadamard(q).astype(float)
    columns = []
    for matrix in range(n_matrices):
        rows = []
        for part in range(n_parts):
            product = np.eye(q)
            for D in signs[matrix, part]:
                product = H @ np.diag(D) @ product
            rows.append(np.pi * np.diag(lengths[matrix, part]) @ product)
        columns.append(np.hstack(rows)[:, :n_inputs].T)
    return np.hstack(columns)[:, : features.n_frequencies]


@pytest.mark.parametrize("sigma", [0.2, 5.0])
@pytest.mark.parametrize(("n_inputs", "m"), [(4, 16), (4, 64), (30, 16), (30, 64)])
@pytest.mark.parametrize("kind", COSINES)
def test_the_gram_matrix_is_the_kernel(kind, n_inputs, m, sigma):
    """Hoeffding: each of the averaged terms is in [-1, 1], so 5 standard errors bound all pairs."""
    X = np.random.default_rng(0).normal(size=(25, n_inputs)) / n_inputs**0.5
    X, n_blocks = X.astype(np.float32), 300
    exact = kernel_named(kind[0]).gram(X, X, sigma)

    def errors(features):
        return np.array([(p := features.transform(X, t)) @ p.T - exact for t in range(n_blocks)])

    found = errors(made(kind, sigma, m, 11))
    assert np.abs(found.mean(axis=0)).max() < 5 * np.sqrt(0.5 / (m * n_blocks))
    np.testing.assert_allclose(found[0].diagonal(), 0, atol=1e-5)
    if kind[1] == "structured" and sigma < 1:  # as near as with independent ones, or nearer
        orthogonal = n_inputs > 8 and m > structured.matrix_size(n_inputs, m) / 2
        others = errors(FourierFeatures("gaussian", sigma, m, 11))
        assert (found**2).mean() < (0.8 if orthogonal else 1.05) * (others**2).mean()


def test_structured_frequencies_are_orthogonal_and_as_long_as_gaussian_vectors():
    features = StructuredFeatures(0.5, 64, seed=1)
    W = np.array([frequencies_of(features, t, 64) for t in range(60)])
    squares = (W**2).sum(axis=1).ravel()  # chi squared, as 2 sigma = 1
    assert stats.kstest(squares, stats.chi2(64).cdf).pvalue > 1e-4
    gram = W[0].T @ W[0]
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_is_the_same_alone_and_whatever_the_rows(kind):
    features = made(kind, 0.7, 30, 2**63 + 5)
    X, order = np.random.default_rng(0).random((70, 4), np.float32), slice(None, None, -1)
    whole = [features.transform(X, t) for t in (6, 3)]
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(features.transform(X[order], 3), whole[1][order], **close)
    np.testing.assert_allclose(features.transform(X[17:19], 6), whole[0][17:19], **close)
    copy = pickle.loads(pickle.dumps(features))
    assert copy == features
    np.testing.assert_array_equal(copy.transform(X, 3), whole[1])
    for other in (whole[0], made(kind, 0.7, 30, 0).transform(X, 3)):
        assert not np.allclose(other, whole[1])
    if isinstance(features, FourierFeatures):
        run = features.frequencies(2, 5, 4)
        for t in (6, 2, 4):
            np.testing.assert_array_equal(features.frequencies(t, 1, 3)[0], run[t - 2, :3])
        wider = made(kind, 0.7, 50, 2**63 + 5).frequencies(2, 5, 4)
        np.testing.assert_array_equal(wider[:, :, :30], run)


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
    monkeypatch.setattr(sketch, "TILE_BYTES", 16 * m * 7)
    rng, n = np.random.default_rng(0), 150
    X, C = rng.random((n, n_inputs), np.float32), rng.normal(size=(n, G)).astype(np.float32)
    features, factor = made(kind, 0.5, m, 7), rng.normal(size=G)
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
        np.testing.assert_array_equal(features.correlate(X, t, C, factor), coefficients[t])
        values = np.ones((n, G), np.float32)
        in_order.add(X, t, coefficients[t][None], values)
        np.testing.assert_allclose(values, 1 + Phis[t] @ expected / root, **close)
    values, again = np.zeros((2, n, G), np.float32)
    features.add(X, 1, np.array(coefficients[1:8]), values)
    expected = sum(P @ (P.T @ C) for P in Phis[1:8]) * factor
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-3)
    in_order.add(X, 1, np.array(coefficients[1:8]), again)  # from the first block once more
    np.testing.assert_array_equal(again, values)


def test_structured_features_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    features, X = StructuredFeatures(0.7, 64, seed=3), rng.random((5000, 64), np.float32)
    C, found = rng.random((5000, 2), np.float32), []
    for number in (1, 2):
        with threads_for(number, 1):
            values = np.zeros((5000, 2), np.float32)
            features.add(X, 0, np.ones((2, 128, 2), np.float32), values)
            found.append((values, features.correlate(X, 1, C, np.ones(2))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kernel", "d"), [("gaussian", 1), ("gaussian", 784), ("laplacian", 3)])
def test_features_of_the_longest_rows_are_accurate_and_those_of_the_farthest_no_noise(kernel, d):
    """The documented bounds of what rounding projections to float32 moves them by."""
    known, sigma, m = kernel_named(kernel), 2.0, 20_000 if kernel == "laplacian" else 2000
    X = np.random.default_rng(0).random((5, d))
    X /= np.linalg.norm(X, known.norm, axis=1, keepdims=True)
    features = FourierFeatures(kernel, sigma, m, seed=0)
    for length, most in ((known.longest(sigma), 2.0**-11), (known.farthest(sigma), 0.03)):
        rows = features.read((X * length * 0.999).astype(np.float32), slice(None))
        Z = rows.astype(np.float64) @ frequencies_of(features, 0, d)
        errors = features.transform(rows, 0) * np.sqrt(m) - np.hstack([np.cos(Z), np.sin(Z)])
        assert np.abs(errors).mean() < most
        assert np.abs(errors).max() < (0.1 if kernel == "gaussian" else 2.001)
    with pytest.raises(DataError, match="features too large for sigma=2: subtract the mean"):
        features.read(rows * np.float32(1.01), slice(None))


def test_rows_are_read_as_writable_float32_and_refused_if_they_cannot_be_used():
    features, table = FourierFeatures("gaussian", 0.5, 4, seed=0), np.arange(12.0).reshape(6, 2)
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
    assert made(KINDS[1], 0.5, 8, 3) == FourierFeatures("laplacian", 0.5, 8, 3)
    assert made(KINDS[2], 0.5, 8, 3) == StructuredFeatures(0.5, 8, 3)
    assert made(KINDS[3], 0.5, 9, 3) == SketchFeatures("dot_product(3)", 0.5, 9, 3)
    for kernel in ("laplacian", "dot_product(2)"):
        with pytest.raises(DataError, match="structured frequencies exist for the gaussian"):
            random_features(kernel, 1.0, 8, 0, "structured")
    with pytest.raises(DataError, match="the linear kernel has no random features"):
        random_features("linear", 1.0, 8, 0)
    for sigma, size in ((1e-80, "small"), (1e80, "large"), (0.0, "small"), (np.inf, "large")):
        with pytest.raises(DataError, match=f"is too {size} for random features in single"):
            random_features("gaussian", sigma, 8, 0)

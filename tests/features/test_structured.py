"""Structured frequencies against dense matrices, the kernel and independent ones."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard

from dsgkit.features import FourierFeatures, StructuredFeatures
from dsgkit.features.structured import matrix_size
from tests.engine.threads import threads

SHAPES = [(5, 3), (8, 8), (8, 24), (20, 6), (20, 40), (1, 4), (7, 1), (100, 70)]
"""Columns, and frequencies of a block: fewer, as many and more than a matrix has."""


def dense_frequencies(features, block, n_inputs):
    """Return the frequencies as the products of matrices that define them."""
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


def test_frequencies_of_a_matrix_are_orthogonal_and_as_long_as_gaussian_vectors():
    features = StructuredFeatures(0.5, 64, seed=1)
    W = np.array([dense_frequencies(features, t, 64) for t in range(60)])
    gram = W[0].T @ W[0]
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-4)
    squares = (W**2).sum(axis=1)  # chi squared with 64 degrees of freedom, as 2 sigma = 1
    assert stats.kstest(squares.ravel(), stats.chi2(64).cdf).pvalue > 1e-4


@pytest.mark.parametrize("n_inputs", [4, 30])
@pytest.mark.parametrize("m", [16, 64])
def test_the_gram_matrix_is_the_kernel_and_nearer_than_with_independent_frequencies(n_inputs, m):
    X = np.random.default_rng(0).normal(size=(25, n_inputs)).astype(np.float32) / n_inputs**0.5
    X = X.astype(np.float32)
    exact = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))

    def error(features, n_blocks):
        grams = [(p := features.transform(X, t)) @ p.T for t in range(n_blocks)]
        return np.mean(grams, axis=0) - exact, np.mean([(g - exact) ** 2 for g in grams])

    mean, squared = error(StructuredFeatures(0.5, m, seed=2), 400)
    assert np.abs(mean).max() < 5 * np.sqrt(0.5 / (m * 400))
    assert squared < 1.05 * error(FourierFeatures("gaussian", 0.5, m, seed=2), 400)[1]
    if m > matrix_size(n_inputs, m) / 2 and n_inputs > 8:
        assert squared < 0.8 * error(FourierFeatures("gaussian", 0.5, m, seed=2), 400)[1]


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize(("n_inputs", "m"), SHAPES)
def test_sums_are_those_of_the_features(n_inputs, m, n_models):
    rng = np.random.default_rng(1)
    features = StructuredFeatures(0.7, m, seed=3)
    X = rng.normal(size=(301, n_inputs)).astype(np.float32)
    A = rng.normal(size=(19, 2 * m, n_models)).astype(np.float32)
    Phi = [features.transform(X, 4 + t) / features.scale for t in range(19)]
    for t, block in enumerate(Phi):
        Z = X.astype(float) @ dense_frequencies(features, 4 + t, n_inputs)
        np.testing.assert_allclose(block, np.hstack([np.cos(Z), np.sin(Z)]), atol=1e-4)
    values = np.ones((301, n_models), np.float32)
    features.in_order(n_inputs, 30).add(X, 4, A, values)
    expected = 1 + sum(p @ a for p, a in zip(Phi, A, strict=True))
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-5 * 19 * m)
    C, factor = rng.normal(size=(301, n_models)).astype(np.float32), np.full(n_models, 0.5)
    got = features.correlate(X, 4, C, factor)
    np.testing.assert_allclose(got, Phi[0].T @ C * 0.5 / m, rtol=0, atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    features = StructuredFeatures(0.7, 64, seed=3)
    X = rng.normal(size=(5000, 64)).astype(np.float32)
    C = rng.normal(size=(5000, 2)).astype(np.float32)
    found = []
    for number in (1, 2):
        with threads(number):
            values = np.zeros((5000, 2), np.float32)
            features.add(X, 0, np.ones((2, 128, 2), np.float32), values)
            found.append((values, features.correlate(X, 1, C, np.ones(2))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_frequencies_of_a_seed_never_change():
    signs, lengths = StructuredFeatures(0.5, 4, seed=5).draw(1, 6)
    assert signs[0, 0, :, :4].astype(int).tolist() == FIRST_SIGNS
    np.testing.assert_allclose(lengths[0, 0, :4], FIRST_LENGTHS, rtol=1e-6)


FIRST_SIGNS = [[1, 1, 1, -1], [-1, 1, 1, 1], [1, 1, -1, -1]]
FIRST_LENGTHS = [0.009045678190886974, 0.007751678582280874, 0.01053555216640234, 0.009306995]

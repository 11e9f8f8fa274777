"""Sums over rows of Nyström features, against the features themselves."""

import numpy as np
import pytest

from dsgkit.kernels import kernel_named
from dsgkit.trainers.nystrom import NystromFeatures

KERNELS = [("gaussian", 2**-7), ("gaussian", 1), ("laplacian", 0.5), ("dot_product(3)", 1)]

ROUNDING = 1e-9
"""Of a feature: that of a kernel value over the square root of the smallest eigenvalue."""


def features(kernel, sigma, n_inputs, n_landmarks=200):
    landmarks = np.random.default_rng(0).random((n_landmarks, n_inputs))
    return NystromFeatures(kernel_named(kernel), landmarks, sigma)


@pytest.mark.parametrize("n_inputs", [2, 30])
@pytest.mark.parametrize("kernel, sigma", KERNELS)
def test_moments_are_those_of_the_features(kernel, sigma, n_inputs):
    known = features(kernel, sigma, n_inputs)
    X = np.random.default_rng(1).random((700, n_inputs))
    gram, total = known.moments([X[:300], X[300:301], X[301:]])
    Phi = known.transform(X)
    assert gram.flags.f_contiguous
    assert np.abs(np.tril(gram - Phi.T @ Phi)).max() < ROUNDING * len(X)
    assert np.abs(total - Phi.sum(axis=0)).max() < ROUNDING * len(X)


def test_values_without_a_split_would_round_small_features_away():
    known = features("gaussian", 2**-7, 8)
    X = np.random.default_rng(1).random((700, 8))
    K = known._kernel.gram(X, known.landmarks, 2**-7)
    Phi = K @ known._projection
    unsplit = known._projection.T @ (K.T @ K) @ known._projection
    assert 0 < known._n_leading() < known.width / 4
    assert np.abs(unsplit - Phi.T @ Phi).max() > 100 * ROUNDING * len(X)


def test_moments_are_projected_once_where_that_is_less_work(monkeypatch):
    known = features("gaussian", 0.125, 8)
    monkeypatch.setattr(known, "transform", None)
    known.moments([np.zeros((1, 8))])

"""Nystrom features of landmarks, and random features as those of a closed form."""

import numpy as np
import pytest

from dsgkit.errors import DataError, FitError
from dsgkit.exact.explicit import landmarks, random_features
from dsgkit.features import random_features as blocks_of
from dsgkit.kernels import kernel_named

KERNELS = [("gaussian", 2**-7), ("gaussian", 1.0), ("laplacian", 0.5), ("dot_product(3)", 1.0)]


@pytest.mark.parametrize(("kernel", "sigma"), KERNELS)
def test_features_of_landmarks_have_the_kernels_products_where_one_is_a_landmark(kernel, sigma):
    rng = np.random.default_rng(0)
    z, X = rng.random((40, 6)), rng.random((30, 6))
    space = landmarks(kernel, sigma, z)
    gram = kernel_named(kernel).gram(X, z, sigma)
    products = space.features(X) @ space.features(z).T
    np.testing.assert_allclose(products, gram, atol=1e-6 * abs(gram).max())
    w = rng.normal(size=(space.features(X).shape[1], 2))
    function = space.expansion(w)
    np.testing.assert_allclose(function.values(X), space.features(X) @ w, atol=1e-6)
    np.testing.assert_allclose(function.squared_norm(), (w**2).sum(axis=0), rtol=1e-6)


def test_landmarks_in_the_span_of_others_are_left_out_and_the_order_stays():
    z = np.random.default_rng(0).random((12, 3))
    space = landmarks("gaussian", 1.0, np.vstack([z, z[:5]]))
    centers = space.expansion(np.zeros((12, 1))).centers
    assert len(centers) == 12 and len(np.unique(centers, axis=0)) == 12
    places = (centers[:, None] == z).all(axis=2).argmax(axis=1)
    assert set(places) == set(range(12))
    np.testing.assert_array_equal(landmarks("gaussian", 1.0, z).expansion(np.eye(12)).centers, z)
    with pytest.raises(FitError, match="the kernel is 0 at all landmarks"):
        landmarks("dot_product(1)", 1.0, np.zeros((4, 3)))


def test_random_features_are_those_of_block_0_and_refuse_what_is_no_number():
    blocks = blocks_of("gaussian", 1.0, 20, 3)
    space, X = random_features(blocks), np.random.default_rng(0).random((5, 3))
    np.testing.assert_array_equal(space.features(X), blocks.transform(X, 0))
    with pytest.raises(DataError, match="NaN or infinite"):
        space.features(np.where(np.eye(5, 3), np.nan, X))

"""Products with panels against the exact kernel matrix."""

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.kernels import kernel_named
from dsgkit.trainers.panels import Panels, in_single


def products(panels, X, W, C):
    """Return ``Phi W`` and ``Phi' C``."""
    values, gradient, done = [], 0, 0
    for part, correlate in panels.blocks(X, W):
        values.append(part)
        gradient = gradient + correlate(C[done : done + len(part)])
        done += len(part)
    return np.concatenate(values), gradient


@pytest.mark.parametrize(
    ("kernel", "sigma", "within"),
    [
        ("gaussian", 0.01, 1e-6),
        ("gaussian", 30.0, 1e-5),
        ("gaussian", 1000.0, 1e-3),
        ("dot_product(1)", 0.5, 1e-6),
        ("dot_product(5)", 0.5, 1e-5),
    ],
)
def test_products_are_those_of_the_exact_kernel(kernel, sigma, within):
    """More centres than a chunk and more rows than a panel, neither a multiple."""
    rng = np.random.default_rng(0)
    centers, X = rng.random((1100, 5)), rng.random((300, 5))
    X[:100] = centers[:100]
    W, C = rng.normal(size=(1100, 3)), rng.normal(size=(300, 2))
    assert in_single(kernel, centers, sigma)
    values, gradient = products(Panels(kernel, centers, sigma), X, W, C)
    K = kernel_named(kernel).gram(X, centers, sigma)
    np.testing.assert_allclose(values, K @ W, atol=within * abs(K @ W).max())
    np.testing.assert_allclose(gradient, K.T @ C, atol=within * abs(K.T @ C).max())


def test_kernels_that_single_precision_does_not_serve():
    centers = np.random.default_rng(0).random((50, 5))
    assert not in_single("laplacian", centers, 1.0)
    assert not in_single("gaussian", centers, 2.0**14)
    assert in_single("gaussian", centers + 1e6, 1.0)  # an offset of all rows costs nothing
    assert not in_single("dot_product(5)", 1e6 * centers, 1.0)


@pytest.mark.parametrize("far", [100.0, 1e10, 1e25, 1e38, 1e200, 1.7e308])
def test_far_rows_have_no_kernel_with_the_centers(far):
    centers = np.random.default_rng(0).random((300, 5))
    X, W = centers[:200].copy(), np.ones((300, 1))
    X[[3, 170]], X[4, 1] = far, -far
    values, gradient = products(Panels("gaussian", centers, 1.0), X, W, np.ones((200, 1)))
    K = kernel_named("gaussian").gram(X, centers, 1.0)
    np.testing.assert_allclose(values, K @ W, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(gradient[:, 0], K.sum(axis=0), rtol=1e-6)
    assert not in_single("gaussian", X, 1.0)


def test_rows_that_are_no_numbers_are_refused():
    centers = np.random.default_rng(0).random((50, 5))
    X = centers.copy()
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="NaN or infinite"):
        list(Panels("gaussian", centers, 1.0).blocks(X, np.ones((50, 1))))

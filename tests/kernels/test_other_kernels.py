"""The kernels but the Gaussian one, against scikit-learn's; names and ranges of all."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel

from dsgkit.errors import DataError
from dsgkit.kernels import FEATURE_TOLERANCE, kernel_named, largest_scale


def rows_of(n, seed, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def matern(nu):
    return lambda A, B, sigma: Matern(1 / sigma, nu=nu)(A, B)


def polynomial(p):
    return lambda A, B, sigma: polynomial_kernel(A, B, degree=p, gamma=sigma, coef0=0)


OTHERS = {
    "laplacian": laplacian_kernel,
    **{f"matern({nu})": matern(nu) for nu in (0.5, 1.5, 2.5, 0.3, 3.7, 12.0)},
    **{f"dot_product({p})": polynomial(p) for p in (1, 2, 3, 5)},
    "linear": lambda A, B, sigma: linear_kernel(A, B) + 1,
}


@pytest.mark.parametrize("sigma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("name", OTHERS)
def test_all_pairs(name, sigma):
    A, B = rows_of(30, 0), rows_of(40, 1)
    kernel = kernel_named(name)
    # scikit-learn's own Bessel functions of distances near 0 are the less accurate ones
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(kernel.gram(A, B, sigma), OTHERS[name](A, B, sigma), **close)
    K = kernel.gram(A, A, sigma)
    np.testing.assert_allclose(K, OTHERS[name](A, A, sigma), **close)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("name", ["gaussian", *OTHERS])
def test_expansions_are_sums_of_kernel_values(name, monkeypatch):
    monkeypatch.setattr("dsgkit.kernels.BLOCK_ENTRIES", 7 * 30)
    A, B = rows_of(20, 0), rows_of(30, 1)
    kernel = kernel_named(name)
    for coefficients in (rows_of(30, 2, 1)[:, 0], rows_of(30, 3, 2)):
        values = kernel.expansion(A, B, coefficients, 0.7)
        np.testing.assert_allclose(values, kernel.gram(A, B, 0.7) @ coefficients, rtol=1e-9)


@pytest.mark.parametrize("nu", [1e-3, 0.5, 1.5, 2.5, 7.3, 49.9])
def test_matern_kernels_are_finite_at_every_distance(nu):
    r = np.concatenate([[0.0], np.geomspace(1e-300, 1e200, 500)])
    K = kernel_named(f"matern({nu})").gram(r[:, None], np.zeros((1, 1)), 1.0)[:, 0]
    assert K[0] == 1
    assert K[-1] == 0
    assert (np.diff(K) <= 1e-12).all()


@pytest.mark.parametrize("name", OTHERS)
def test_values_that_cannot_be_used_are_refused(name):
    good, bad = rows_of(6, 0), rows_of(7, 1)
    bad[3, 2] = np.nan
    for rows in ((good, bad), (bad, good)):
        with pytest.raises(DataError, match="NaN or infinite values; remove or replace those"):
            kernel_named(name).gram(*rows, 1.0)


def test_products_beyond_the_range_are_refused():
    rows = rows_of(6, 0) * 1e80
    with pytest.raises(DataError, match="features too large for sigma=1"):
        kernel_named("dot_product(3)").gram(rows, rows, 1.0)
    with pytest.raises(DataError, match="features too large for the linear kernel"):
        kernel_named("linear").gram(rows * 1e160, rows * 1e80, 1.0)
    with pytest.raises(DataError, match="features too large for the linear kernel"):
        kernel_named("linear").expansion(rows * 1e160, rows, rows[:, 0], 1.0)


def test_names_of_no_kernel_are_refused():
    names = "sinc laplacian(1) matern matern() matern(0) matern(nan) matern(51) matern(x)"
    names += " matern(1.5 dot_product dot_product(2.5) dot_product(0) dot_product(21) linear(1)"
    for name in names.split():
        with pytest.raises(DataError, match="kernel"):
            kernel_named(name)


@pytest.mark.parametrize("degrees", [0.6, 1.0, 3.0, 5.0])
def test_the_largest_scale_is_where_rounding_has_the_stated_mean(degrees):
    scale, unit = largest_scale(degrees), 2.0**-24

    def error(size):
        law = stats.t(degrees, scale=size * unit)
        grid = np.geomspace(1e-13, 2, 20_001)
        small = np.trapezoid(grid * law.pdf(grid), grid)
        return 2 * (small + 2 * law.sf(2))

    assert error(scale) < 1.01 * FEATURE_TOLERANCE
    assert error(scale * 2**0.3) > FEATURE_TOLERANCE

"""Exact kernels against differences of rows and scikit-learn's; names, ranges and refusals."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel

from dsgkit.errors import DataError
from dsgkit.kernels import check_projections, gaussian_expansion, gaussian_gram, kernel_named


def rows_of(n, seed, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_differences(A, B, sigma):
    """The Gaussian kernel in extended precision; 0 where squares overflow."""
    with np.errstate(over="ignore"):
        differences = A[:, None].astype(np.longdouble) - B[None].astype(np.longdouble)
        return np.exp(-np.longdouble(sigma) * (differences**2).sum(axis=2)).astype(np.float64)


@given(
    apart=st.floats(0, 1e12),
    offset=st.floats(-1e12, 1e12),
    sigma=st.sampled_from([1e-3, 0.3, 1.0, 50.0]),
    n=st.sampled_from([1, 3, 63, 64, 65, 70, 200]),
    single=st.booleans(),
)
@example(apart=0.0, offset=0.0, sigma=30.0, n=65, single=False)
@example(apart=1e7, offset=0.0, sigma=1.0, n=200, single=False)
@example(apart=300.0, offset=0.0, sigma=1.0, n=200, single=False)
@example(apart=600.0, offset=0.0, sigma=1.0, n=200, single=False)
@example(apart=1e8, offset=1e12, sigma=0.3, n=3, single=False)
def test_the_gaussian_kernel_of_two_groups_of_rows(apart, offset, sigma, n, single):
    """Wherever they are, and in whatever order."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 3)) + offset
    rows[rng.random(n) < 0.5, 1] += apart
    rows = rows.astype(np.float32 if single else np.float64)
    others = np.vstack([rows[: n // 2], rng.normal(size=(9, 3))])
    K, close = gaussian_gram(rows, rows, sigma), {"rtol": 1e-9 if apart or offset else 1e-11}
    np.testing.assert_allclose(K, by_differences(rows, rows, sigma), **close, atol=1e-300)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    for A, B in ((rows, others[-9:]), (others, rows)):
        K = by_differences(A, B, sigma)
        np.testing.assert_allclose(gaussian_gram(A, B, sigma), K, rtol=1e-9, atol=1e-300)
    c = rng.random(n)
    values = gaussian_expansion(others, rows.astype(np.float64), c, sigma)
    np.testing.assert_allclose(values, K @ c, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e10])
@pytest.mark.parametrize("large", [257.0, 1e150, 1e200, 1.7e308])
def test_rows_far_from_all_others_have_a_kernel_even_if_their_squares_overflow(large, sigma):
    """Without a warning, which would be an error here."""
    rows = np.vstack([rows_of(5, 0), np.full((2, 4), large), -np.full((1, 4), large)])
    K = by_differences(rows, rows, sigma)
    K[5:, 5:] = [[1, 1, 0], [1, 1, 0], [0, 0, 1]] if large > 1e9 else K[5:, 5:]
    for A in (slice(8), slice(5), slice(5, 8)):
        for B in (slice(8), slice(5), slice(5, 8)):
            got = gaussian_gram(rows[A], rows[B], sigma)
            np.testing.assert_allclose(got, K[A, B], rtol=1e-9, atol=1e-300)


def polynomial(p):
    return lambda A, B, sigma: polynomial_kernel(A, B, degree=p, gamma=sigma, coef0=0)


KERNELS = {
    "gaussian": by_differences,
    "laplacian": laplacian_kernel,
    **{f"dot_product({p})": polynomial(p) for p in (1, 2, 3, 5)},
    "linear": lambda A, B, sigma: linear_kernel(A, B) + 1,
}


@pytest.mark.parametrize(("sigma", "bad"), [(0.01, np.nan), (1.0, np.inf), (30.0, -np.inf)])
@pytest.mark.parametrize("name", KERNELS)
def test_all_pairs_and_sums_of_them(name, sigma, bad):
    """And rows that are no numbers are refused."""
    A, B = rows_of(150, 0), rows_of(140, 1)
    kernel, exact, close = kernel_named(name), KERNELS[name](A, B, sigma), {"rtol": 1e-9}
    np.testing.assert_allclose(kernel.gram(A, B, sigma), exact, **close, atol=1e-12)
    assert kernel.gram(A[:0], B, sigma).shape == (0, 140) == kernel.gram(B, A[:0], sigma).T.shape
    K = kernel.gram(A, A, sigma)
    np.testing.assert_allclose(K, KERNELS[name](A, A, sigma), **close, atol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    for coefficients in (rows_of(140, 2, 1)[:, 0], rows_of(140, 3, 2)):
        values, expected = kernel.expansion(A, B, coefficients, sigma), exact @ coefficients
        np.testing.assert_allclose(values, expected, **close, atol=1e-10 * abs(expected).max())
    A[3, 2] = bad
    for X, Z in ((A, B), (B, A), (A, A)):
        for use in (kernel.gram, lambda X, Z, sigma: kernel.expansion(X, Z, Z[:, 1], sigma)):
            with pytest.raises(DataError, match="NaN or infinite values; remove or replace those"):
                use(X, Z, sigma)


def test_products_beyond_the_range_and_names_of_no_kernel_are_refused():
    rows, cubes, linear = (
        rows_of(6, 0) * 1e80,
        kernel_named("dot_product(3)"),
        kernel_named("linear"),
    )
    for use, rest, limit in (
        (cubes.gram, (rows, rows, 1.0), "sigma=1: subtract the mean"),
        (linear.gram, (rows * 1e160, rows, 1.0), "the linear kernel"),
        (linear.expansion, (rows * 1e160, rows, rows[:, 0], 1.0), "the linear kernel"),
    ):
        with pytest.raises(DataError, match=f"features too large for {limit}"):
            use(*rest)
    names = "sinc laplacian(1) matern(1.5) gaussian( dot_product dot_product(2.5) dot_product(p)"
    for name in (*names.split(), "linear(1)"):
        with pytest.raises(DataError, match=r"unknown kernel .* known: gaussian, lap"):
            kernel_named(name)
    for degree in (0, 21):
        with pytest.raises(DataError, match=rf"p must be in 1\.\.20, got {degree}"):
            kernel_named(f"dot_product({degree})")
    assert kernel_named("dot_product(20)").degree == 20


LONGEST = {
    ("gaussian", 2.0): (5000 / 12, 32 * 5000 / 12),
    ("laplacian", 0.5): (1024, 32 * 1024),
    ("dot_product(4)", 0.25): (2.0**11, 2.0**16.75),
}


@pytest.mark.parametrize(("name", "sigma"), LONGEST)
@pytest.mark.parametrize("type_", [np.float32, np.float64])
def test_rows_are_refused_beyond_the_documented_norms(name, sigma, type_):
    rows = rows_of(9000, 0).astype(type_)
    rows /= np.linalg.norm(rows, 1 if name == "laplacian" else 2, axis=1).max()
    for longest, labeled in zip(LONGEST[name, sigma], (True, False), strict=True):
        check_projections(rows * longest * type_(0.999), sigma, name, labeled=labeled)
        with pytest.raises(DataError, match=f"features too large for sigma={sigma:g}: subtract"):
            check_projections(rows * longest * type_(1.001), sigma, name, labeled=labeled)
    for value, text in ((np.nan, "NaN or infinite"), (np.inf, "large"), (1e30, "large")):
        rows[8500, 2] = value
        with pytest.raises(DataError, match=text):
            check_projections(rows, sigma, name)

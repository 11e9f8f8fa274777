"""The Gaussian kernel against the kernel from differences, wherever the rows are."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsgkit.errors import DataError
from dsgkit.kernels import gaussian_expansion, gaussian_gram


def rows_of(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 4))


def by_differences(A, B, sigma):
    """The kernel in extended precision; rows so far apart that squares overflow have 0."""
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
@example(apart=600.0, offset=0.0, sigma=1.0, n=200, single=False)
@example(apart=1e8, offset=1e12, sigma=0.3, n=3, single=False)
def test_the_kernel_of_two_groups_of_rows(apart, offset, sigma, n, single):
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
    K = by_differences(others, rows, sigma)
    np.testing.assert_allclose(gaussian_gram(others, rows, sigma), K, rtol=1e-9, atol=1e-300)
    c = rng.random(n)
    values = gaussian_expansion(others, rows.astype(np.float64), c, sigma)
    np.testing.assert_allclose(values, K @ c, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_one_far_row_does_not_change_the_others(spread):
    rows = rows_of(150, 0) * spread
    rows[[0, 77]] = [[1e12], [-1e14]]
    K = by_differences(rows, rows, 0.5)
    np.testing.assert_allclose(gaussian_gram(rows, rows, 0.5), K, rtol=1e-10, atol=1e-300)
    near = np.delete(rows, [0, 77], axis=0)
    K = by_differences(rows, near, 0.5)
    np.testing.assert_allclose(gaussian_gram(rows, near, 0.5), K, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e10])
@pytest.mark.parametrize("large", [1e150, 1e200, 1.7e308])
def test_squares_that_overflow_have_no_kernel(large, sigma):
    """Without a warning, which would be an error here."""
    rows = np.vstack([rows_of(5, 0), np.full((2, 4), large), -np.full((1, 4), large)])
    K = by_differences(rows, rows, sigma)
    K[5:, 5:] = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    for A in (rows, rows[:5], rows[5:]):
        for B in (rows, rows[:5], rows[5:]):
            expected = K[np.ix_(*(np.isin(rows, part).all(axis=1) for part in (A, B)))]
            np.testing.assert_allclose(gaussian_gram(A, B, sigma), expected, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e154])
def test_sigma_of_any_size(scale):
    rows = rows_of(80, 0)
    expected = by_differences(rows, rows, 0.5)
    sigma = 0.5 / scale / scale
    np.testing.assert_allclose(gaussian_gram(rows * scale, rows * scale, sigma), expected, 1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_cannot_be_used_are_refused(value):
    good, bad = rows_of(6, 0) + 1e7, rows_of(7, 1) + 1e7
    bad[3, 2] = value
    for rows in ((good, bad), (bad, good)):
        with pytest.raises(DataError, match="NaN or infinite values; remove or replace those"):
            gaussian_gram(*rows, 1.0)


@pytest.mark.parametrize("n", [0, 3])
def test_nothing_gives_nothing(n):
    assert gaussian_gram(rows_of(0, 0), rows_of(n, 1), 1.0).shape == (0, n)
    assert gaussian_gram(rows_of(n, 1), rows_of(0, 0), 1.0).shape == (n, 0)

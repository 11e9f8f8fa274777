"""The Gaussian kernel against the kernel from differences, wherever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsgkit.kernels.gaussian import gaussian_expansion, gaussian_gram
from dsgkit.text.errors import DataError
from tests.solvers.brute_force import kernel


def rows_of(n, seed, **shift):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X + shift.get("shift", 0)


@pytest.mark.parametrize("sigma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_all_pairs(n, sigma):
    A, B = rows_of(n, 0), rows_of(170, 1)
    np.testing.assert_allclose(gaussian_gram(A, B, sigma), kernel(A, B, sigma), rtol=1e-11)
    K = gaussian_gram(A, A, sigma)
    np.testing.assert_allclose(K, kernel(A, A, sigma), rtol=1e-11)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)


@pytest.mark.parametrize("value", [1.0, 100.0, 250.0, 1e4, 1e7, 1e12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_column_does_not_change_the_kernel(value, dtype):
    """Norms cancel: from the origin, 1e7 would cost 7% of a value, and 1e12 all of it."""
    A, B = (np.column_stack([rows_of(n, n), np.full(n, value)]).astype(dtype) for n in (90, 200))
    expected = kernel(A[:, :4].astype(np.float64), B[:, :4].astype(np.float64), 0.5)
    np.testing.assert_allclose(gaussian_gram(A, B, 0.5), expected, rtol=1e-9)
    np.testing.assert_allclose(
        gaussian_gram(A, A, 0.5), gaussian_gram(A[:, :4], A[:, :4], 0.5), rtol=1e-9
    )
    coefficients = np.random.default_rng(0).normal(size=200)
    values = gaussian_expansion(A, B.astype(np.float64), coefficients, 0.5)
    np.testing.assert_allclose(values, expected @ coefficients, atol=1e-8)


def test_rows_far_from_the_others_have_no_kernel_with_them():
    near, far = rows_of(5, 0), rows_of(5, 1, shift=1e8)
    assert (gaussian_gram(near, far, 1.0) == 0).all()
    assert (gaussian_gram(far, near, 1.0) == 0).all()
    np.testing.assert_allclose(gaussian_gram(far, far, 1.0), kernel(far, far, 1.0), rtol=1e-10)


def by_differences(A, B, sigma):
    """The kernel in extended precision; rows so far apart that squares overflow have 0."""
    with np.errstate(over="ignore"):
        differences = A[:, None].astype(np.longdouble) - B[None].astype(np.longdouble)
        return np.exp(-np.longdouble(sigma) * (differences**2).sum(axis=2)).astype(np.float64)


def test_rows_that_are_near_each_other_but_far_from_the_first():
    rows = np.array([[0.0, 0.0], [1e8, 0.0], [1e8, 1.0]])
    expected = [[1, 0, 0], [0, 1, np.exp(-1)], [0, np.exp(-1), 1]]
    np.testing.assert_allclose(gaussian_gram(rows, rows, 1.0), expected, rtol=1e-15)
    np.testing.assert_allclose(gaussian_gram(rows, rows.copy(), 1.0), expected, rtol=1e-15)
    values = gaussian_expansion(rows, rows, np.array([1.0, 2.0, 3.0]), 1.0)
    np.testing.assert_allclose(values, expected @ np.array([1.0, 2.0, 3.0]), rtol=1e-15)


@given(
    apart=st.floats(0, 1e12),
    offset=st.floats(-1e12, 1e12),
    sigma=st.sampled_from([1e-3, 0.3, 1.0, 50.0]),
    n=st.sampled_from([3, 70, 200]),
    single=st.booleans(),
)
@example(apart=1e7, offset=0.0, sigma=1.0, n=200, single=False)
@example(apart=600.0, offset=0.0, sigma=1.0, n=200, single=False)
def test_the_kernel_of_two_groups_of_rows(apart, offset, sigma, n, single):
    """Wherever they are, and in whatever order."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 3)) + offset
    rows[rng.random(n) < 0.5, 1] += apart
    rows = rows.astype(np.float32 if single else np.float64)
    others = np.vstack([rows[: n // 2], rng.normal(size=(9, 3))])
    K = gaussian_gram(rows, rows, sigma)
    np.testing.assert_allclose(K, by_differences(rows, rows, sigma), rtol=1e-9, atol=1e-300)
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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_values_that_cannot_be_used_are_refused(bad, place):
    rows = [rows_of(6, 0, shift=1e7), rows_of(7, 1, shift=1e7)]
    rows[place][3, 2] = bad
    with pytest.raises(DataError, match="NaN or infinite values; remove or replace those rows"):
        gaussian_gram(*rows, 1.0)


@pytest.mark.parametrize("n", [0, 3])
def test_nothing_gives_nothing(n):
    assert gaussian_gram(rows_of(0, 0), rows_of(n, 1), 1.0).shape == (0, n)
    assert gaussian_gram(rows_of(n, 1), rows_of(0, 0), 1.0).shape == (n, 0)

"""The Gaussian kernel against the kernel from differences, wherever the rows are."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.kernels.gaussian import gaussian_expansion, gaussian_gram
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
    np.testing.assert_allclose(gaussian_gram(far, far, 1.0), kernel(far, far, 1.0), rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
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

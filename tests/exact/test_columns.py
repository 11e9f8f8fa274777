"""Kernel columns against the kernel from differences, whatever is kept of them."""

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.exact.columns import column, columns_memory, columns_within, kernel_columns
from tests.estimators.brute_force import kernel

EXACT = {
    "gaussian": lambda rows: kernel(rows, rows, 0.7),
    "linear": lambda rows: rows @ rows.T + 1,
}


def points_of(n, d=3):
    return np.random.default_rng(0).normal(size=(d, n))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 700])
@pytest.mark.parametrize("mean_from", [None, 0, -1])
@pytest.mark.parametrize("name", EXACT)
def test_columns_are_those_of_the_kernel_with_the_anchor(name, mean_from, n):
    """The bits are the same whatever is kept, and the last column asked for stays valid."""
    points, exact, first = points_of(n), np.zeros((n + 1, n + 1)), mean_from
    exact[:-1, :-1] = EXACT[name](points.T)
    if mean_from is not None:
        first = mean_from % n
        exact[-1, :-1] = exact[:-1, -1] = exact[first:-1, :-1].mean(axis=0)
        exact[-1, -1] = exact[first:-1, first:-1].mean()
    close = {"rtol": 2**-22, "atol": 1e-45 if name == "gaussian" else 1e-6}
    whole = kernel_columns(points, name, 0.7, 10**9, first)
    assert whole.anchor == n
    bits = np.array([column(whole, i).copy() for i in range(n + 1)])
    np.testing.assert_allclose(bits, exact, **close)
    np.testing.assert_array_equal(bits, bits.T)
    asked = np.random.default_rng(1).integers(0, n + 1, (300, 2))
    for capacity in (2, n - 1):
        columns = kernel_columns(points, name, 0.7, capacity, first)
        np.testing.assert_allclose(columns.diagonal, np.diag(exact), **close)
        for i, j in [*asked, (n, 0), (0, n - 1), (n, n)]:
            values = column(columns, i)
            column(columns, j)
            np.testing.assert_array_equal(values, bits[i])


def test_the_column_unused_for_longest_makes_room():
    columns = kernel_columns(points_of(6), "gaussian", 1.0, 3)
    for i in (0, 1, 2, 0, 6, 3):
        column(columns, i)
    assert sorted(columns.owner) == [0, 2, 3]
    assert columns.slot[1] == -1
    assert [columns_within(9, 4, columns_memory(9, 4, kept)) for kept in (1, 2, 7)] == [2, 2, 7]


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_features_that_are_no_numbers_are_refused(bad):
    points = points_of(5)
    points[1, 3] = bad
    with pytest.raises(DataError, match="NaN or infinite values; remove or replace those rows"):
        kernel_columns(points, "gaussian", 1.0, 5)

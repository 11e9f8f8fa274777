"""Kernel columns against the kernel from differences, whatever is kept of them."""

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.exact.columns import column, columns_memory, columns_within, kernel_columns
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import kernel


def rows_of(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def columns_of(rows, sigma, capacity, mean_from=None):
    return kernel_columns(np.ascontiguousarray(rows.T), "gaussian", sigma, capacity, mean_from)


EXACT = {
    "gaussian": lambda rows: kernel(rows, rows, 0.7),
    "linear": lambda rows: rows @ rows.T + 1,
}


@pytest.mark.parametrize("capacity", [2, 699, 10**9])
@pytest.mark.parametrize("mean_from", [None, 0, 699])
@pytest.mark.parametrize("name", EXACT)
def test_columns_are_those_of_the_kernel_with_the_anchor(name, capacity, mean_from):
    rows = rows_of(700)
    exact = np.zeros((701, 701))
    exact[:-1, :-1] = EXACT[name](rows)
    if mean_from is not None:
        exact[-1, :-1] = exact[:-1, -1] = exact[mean_from:-1, :-1].mean(axis=0)
        exact[-1, -1] = exact[mean_from:-1, mean_from:-1].mean()
    columns = kernel_columns(np.ascontiguousarray(rows.T), name, 0.7, capacity, mean_from)
    assert columns.anchor == 700
    close = {"rtol": 2**-22, "atol": 1e-45 if name == "gaussian" else 1e-6}
    np.testing.assert_allclose(columns.diagonal, np.diag(exact), **close)
    asked = np.random.default_rng(1).integers(0, 701, 400)
    for i in np.append(asked, [700, 0, 0, 699, 700]):
        np.testing.assert_allclose(column(columns, i), exact[i], **close)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130])
def test_values_do_not_depend_on_how_many_columns_are_kept(n):
    rows = rows_of(n, 5)
    whole, few = columns_of(rows, 0.3, n, 0), columns_of(rows, 0.3, 2, 0)
    all_columns = np.array([column(whole, i).copy() for i in range(n + 1)])
    np.testing.assert_array_equal(all_columns, all_columns.T)
    for i in range(n + 1):
        np.testing.assert_array_equal(column(few, i), all_columns[i])


def test_the_last_column_asked_for_stays_valid():
    columns = columns_of(rows_of(20), 1.0, 2, 5)
    for i, j in np.random.default_rng(0).integers(0, 21, (200, 2)):
        first = column(columns, i)
        before = first.copy()
        column(columns, j)
        np.testing.assert_array_equal(first, before)


def test_the_column_unused_for_longest_makes_room():
    columns = columns_of(rows_of(6), 1.0, 3)
    for i in (0, 1, 2, 0, 6, 3):
        column(columns, i)
    assert sorted(columns.owner) == [0, 2, 3]
    assert columns.slot[1] == -1


@pytest.mark.parametrize("capacity", [2, 300, 2000])
def test_predicted_memory_is_what_is_allocated(capacity):
    points = np.random.default_rng(0).random((4, 1500))
    peak = peak_of(lambda: kernel_columns(points, "gaussian", 1.0, capacity, 0)) + points.nbytes
    assert columns_memory(1500, 4, capacity) == pytest.approx(peak, rel=0.2)
    kept = columns_within(1500, 4, columns_memory(1500, 4, min(capacity, 1500)))
    assert kept == min(capacity, 1500)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_refused(bad):
    rows = rows_of(5)
    rows[3, 1] = bad
    with pytest.raises(DataError, match="NaN or infinite values; remove or replace those rows"):
        columns_of(rows, 1.0, 5)

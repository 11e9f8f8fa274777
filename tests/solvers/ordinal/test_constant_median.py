"""The median class for every row."""

import numpy as np
import pytest

from dsgkit.solvers.ordinal.constant_median import ConstantMedian
from tests.solvers.brute_force import folds_of


@pytest.mark.parametrize(
    ("y", "median"),
    [([1, 2, 5], 2), ([1, 1, 5, 5], 1), ([3, 5, 5], 5), (["a", "b", "c", "c", "c"], "c")],
)
def test_every_row_gets_the_median_class(y, median):
    X = np.arange(len(y))[:, None]
    model = ConstantMedian().fit(X, y)
    assert (model.predict(X) == median).all()
    assert (model.decision_function(X) == 0).all()
    assert model.score(X, y) == 0.5


def test_a_search_finds_zeros():
    X, y = np.arange(12)[:, None], np.arange(12) % 3
    values = ConstantMedian().fit_points([{}], folds=folds_of(12, 3), X=X, y=y, X_unlabeled=X)
    np.testing.assert_array_equal(values, np.zeros((1, 12)))

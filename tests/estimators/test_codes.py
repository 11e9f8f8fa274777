"""Wrapped classifiers get the labels -1 and 1, or 0 and 1 if they refuse these."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dsgkit.estimators.adapt import wrapped

X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)


class FromZero(LogisticRegression):
    """Takes the labels 0..k-1 alone, as xgboost's classifier does."""

    lowest = 0

    def fit(self, X, y):
        if np.min(y) != self.lowest:
            raise ValueError(f"no fit to {np.unique(y)}")
        return super().fit(X, y)


@pytest.mark.parametrize(("kind", "labels"), [(FromZero, [0, 1]), (LogisticRegression, [-1, 1])])
def test_a_classifier_that_refuses_minus_one_gets_0_and_1(kind, labels):
    solver = wrapped(kind, "classifier")
    expected = LogisticRegression().fit(X, Y).decision_function(X)
    for _ in range(2):
        model = solver().fit(X, Y)
        np.testing.assert_array_equal(model.model_.classes_, labels)
        np.testing.assert_allclose(model.decision_function(X), expected)
    with pytest.raises(ValueError, match=r"no fit to \[-1  1\]"):  # the labels as they are
        wrapped(type("Never", (FromZero,), {"lowest": None}), "classifier")().fit(X, Y)

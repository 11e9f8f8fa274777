"""Wrapped classifiers get the labels -1 and 1, or 0 and 1 if they refuse these."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dsgkit.estimators.adapt import wrapped

X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)


class FromZero(LogisticRegression):
    """Takes the labels 0..k-1 alone, as xgboost's classifier does."""

    def fit(self, X, y):
        if not np.array_equal(np.unique(y), [0, 1]):
            raise ValueError(f"Invalid classes: Expected: [0 1], got {np.unique(y)}")
        return super().fit(X, y)


@pytest.mark.parametrize(("kind", "labels"), [(FromZero, [0, 1]), (LogisticRegression, [-1, 1])])
def test_a_classifier_that_refuses_minus_one_gets_0_and_1(kind, labels):
    solver = wrapped(kind, "classifier")
    expected = LogisticRegression().fit(X, Y).decision_function(X)
    for _ in range(2):
        model = solver().fit(X, Y)
        np.testing.assert_array_equal(model.model_.classes_, labels)
        np.testing.assert_allclose(model.decision_function(X), expected)


class Never(LogisticRegression):
    def fit(self, X, y):
        raise ValueError(f"no fit to {np.unique(y)}")


def test_what_is_wrong_otherwise_is_told_of_the_labels_as_they_are():
    with pytest.raises(ValueError, match=r"no fit to \[-1  1\]"):
        wrapped(Never, "classifier")().fit(X, Y)

"""The supervised row and the majority against scikit-learn."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.kernel_ridge import KernelRidge

from dsgkit.errors import DataError
from dsgkit.solvers.similar.majority import MajorityClass
from dsgkit.solvers.similar.supervised import SupervisedSL
from tests.solvers.similar.problems import su_problem


def labelled(seed=0):
    _, X, y = su_problem(n_unlabeled=90, seed=seed)
    return X, np.where(y == 1, "yes", "no")


KERNELS = {
    "gaussian": ({"kernel": "rbf", "gamma": 2.0}, lambda X: X),
    "laplacian": ({"kernel": "laplacian", "gamma": 2.0}, lambda X: X),
    "linear": ({"kernel": "linear"}, lambda X: np.column_stack([X, np.ones(len(X))])),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lam", [1e-3, 0.5])
def test_it_is_kernel_ridge_regression_on_signs(kernel, lam):
    (params, features), (X, y) = KERNELS[kernel], labelled()
    ridge = KernelRidge(alpha=2 * 60 * lam, **params)
    ridge.fit(features(X[:60]), np.where(y[:60] == "yes", 1, -1))
    expected = ridge.predict(features(X[60:]))
    model = SupervisedSL(lam, 2.0, kernel=kernel).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.decision_function(X[60:]), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[60:]), np.where(expected >= 0, "yes", "no"))


def test_a_prediction_of_a_linear_function_is_a_product_in_double_precision():
    cost = SupervisedSL(kernel="linear").cost(9, n_similar=100, n_unlabeled=500)
    assert cost.flops_per_row == 2 * 2 * 10


def test_what_it_cannot_be_trained_on():
    X, y = labelled()
    positive = np.flatnonzero(y == "yes")
    with pytest.raises(DataError, match="rows of both classes"):
        SupervisedSL().fit_points([{}], folds=[positive], X=X, y=y)
    few, many = (SupervisedSL().cost(3, n_similar=50, n_unlabeled=n) for n in (90, 100))
    assert few.memory < many.memory
    assert SupervisedSL().cost(3, n_similar=50, n_unlabeled=10**6) == many


@pytest.mark.parametrize("seed", [0, 1])
def test_the_majority_is_the_most_frequent_label(seed):
    X, y = labelled(seed)
    y = y if seed else np.where(y == "yes", "no", "yes")
    expected = DummyClassifier(strategy="most_frequent").fit(X, y).predict(X)
    model = MajorityClass().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert MajorityClass().fit([[0], [1]], [3, 7]).predict([[5]]) == 7

"""The supervised row and the majority against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.kernel_ridge import KernelRidge

from dsgkit.solvers.minimise import training_of
from dsgkit.solvers.similar.majority import MajorityClass
from dsgkit.solvers.similar.supervised import SupervisedSL
from dsgkit.text.errors import DataError, MemoryLimitError
from dsgkit.trainers.kernel_matrix import KernelMatrix
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
    folds = [np.arange(0, 30), np.arange(30, 80)]  # rows 80.. are never held out
    points = [{"lam": lam}, {"lam": 3 * lam}, {"sigma": 0.5}]
    base = SupervisedSL(lam=1.0, sigma=2.0, kernel=kernel)
    values = base.fit_points(points, folds=folds, X=X, y=y)
    assert values.shape == (3, 90) and np.isnan(values[:, 80:]).all()
    for held_out in folds:
        rows = np.setdiff1d(np.arange(90), held_out)
        ridge = KernelRidge(alpha=2 * len(rows) * lam, **params)
        ridge.fit(features(X[rows]), np.where(y[rows] == "yes", 1, -1))
        expected = ridge.predict(features(X[held_out]))
        model = SupervisedSL(lam, 2.0, kernel=kernel).fit(X[rows], y[rows])
        np.testing.assert_allclose(model.decision_function(X[held_out]), expected, atol=1e-9)
        np.testing.assert_allclose(values[0, held_out], expected, atol=1e-9)
        signs = np.where(expected >= 0, "yes", "no")
        np.testing.assert_array_equal(model.predict(X[held_out]), signs)
        for g, point in enumerate(points[1:], 1):
            other = SupervisedSL(**{"lam": 1.0, "sigma": 2.0, "kernel": kernel} | point)
            one = other.fit(X[rows], y[rows]).decision_function(X[held_out])
            np.testing.assert_allclose(values[g, held_out], one, atol=1e-9)


def test_what_it_cannot_be_trained_on():
    X, y = labelled()
    positive = np.flatnonzero(y == "yes")
    with pytest.raises(DataError, match="rows of both classes"):
        SupervisedSL().fit_points([{}], folds=[positive], X=X, y=y)
    with pytest.raises(MemoryLimitError):
        SupervisedSL(max_memory=1e-6).fit(X, y)
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
    folds = [np.arange(20), np.arange(20, 90)]
    values = MajorityClass().fit_points([{}], folds=folds, X=X, y=y)
    np.testing.assert_array_equal(values, model.decision_function(X)[None])
    assert MajorityClass().fit([[0], [1]], [3, 7]).predict([[5]]) == 7


def test_its_risk_is_minimised_by_the_trainer_of_pairwise_risks_too():
    X, y = labelled()
    model = SupervisedSL(0.1, 2.0).fit(X, y)
    training = training_of([model], model._given(X, np.where(y == "yes", 1, -1)))
    other = KernelMatrix("gaussian", 2.0, all_rows=False).fit(training)
    np.testing.assert_allclose(model.decision_function(X), other.values(X), atol=1e-9)

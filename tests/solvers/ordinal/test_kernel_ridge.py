"""Kernel ridge on the numbers of the classes against scikit-learn's."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.kernel_ridge import KernelRidgeOrdinal
from dsgkit.text.errors import MemoryLimitError
from tests.solvers.brute_force import folds_of
from tests.solvers.ordinal.problems import ordinal_problem


@pytest.mark.parametrize(("lam", "sigma"), [(0.1, 1.0), (2.0**-18, 0.3), (8.0, 8.0)])
def test_values_are_those_of_scikit_learn(lam, sigma):
    X, codes, U, _ = ordinal_problem()
    numbers = codes + 1.0
    oracle = KernelRidge(alpha=len(X) * lam, kernel="rbf", gamma=sigma)
    expected = numbers.mean() + oracle.fit(X, numbers - numbers.mean()).predict(U)
    model = KernelRidgeOrdinal(lam, sigma).fit(X, codes * 10, U)
    np.testing.assert_allclose(model.decision_function(U), expected, atol=1e-8)


def test_the_linear_kernel_makes_it_linear_ridge_with_a_penalised_bias():
    X, codes, U, _ = ordinal_problem()
    numbers = codes + 1.0
    X1, U1 = (np.column_stack([rows, np.ones(len(rows))]) for rows in (X, U))
    oracle = Ridge(alpha=len(X) * 0.1, fit_intercept=False).fit(X1, numbers - numbers.mean())
    model = KernelRidgeOrdinal(0.1, kernel="linear").fit(X, codes, U)
    expected = numbers.mean() + oracle.predict(U1)
    np.testing.assert_allclose(model.decision_function(U), expected, atol=1e-8)


def test_the_grid_equals_fit_by_fit():
    X, codes, U, _ = ordinal_problem()
    points = [{"lam": lam, "sigma": sigma} for lam in (1e-4, 1.0, 0.1) for sigma in (4.0, 0.5)]
    points += [{"lam": 0.1, "kernel": "linear"}, {"lam": 1.0, "kernel": "linear"}]
    training = (folds_of(40, 4), X, codes, U, np.arange(4))
    got = KernelRidgeOrdinal()._fold_values(points, *training)
    expected = OrdinalEstimator._fold_values(KernelRidgeOrdinal(), points, *training)
    np.testing.assert_allclose(got, expected, atol=1e-8)


def test_unlabelled_rows_do_not_count_for_the_function():
    X, codes, U, _ = ordinal_problem()
    one, other = (KernelRidgeOrdinal().fit(X, codes, rows) for rows in (U, U[:3] + 5))
    np.testing.assert_array_equal(one.decision_function(U), other.decision_function(U))


def test_equal_rows_have_a_solution():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal(lam=1e-12).fit(np.ones_like(X), codes, U)
    np.testing.assert_allclose(model.decision_function(np.ones((2, 3))), codes.mean() + 1)


def test_memory_is_as_predicted():
    X, codes, U, _ = ordinal_problem(200, 10)
    model, folds = KernelRidgeOrdinal(), folds_of(200, 5)
    model.fit_function(X[:9], codes[:9], U)  # imports do not count
    for n_models, call in (
        (1, lambda: model.fit_function(X, codes, U)),
        (5, lambda: model.fit_points([{}], folds=folds, X=X, y=codes, X_unlabeled=U)),
    ):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        needed = model.cost(3, n_models=n_models, n_labeled=200, n_unlabeled=10).memory
        assert needed == pytest.approx(peak, rel=0.3)
    with pytest.raises(MemoryLimitError):
        KernelRidgeOrdinal(max_memory=1e-4).fit(X, codes, U)

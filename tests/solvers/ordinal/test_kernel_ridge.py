"""Kernel ridge on the numbers of the classes against scikit-learn's."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from dsgkit.solvers.ordinal.kernel_ridge import KernelRidgeOrdinal
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


def test_equal_rows_have_a_solution():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal(lam=1e-12).fit(np.ones_like(X), codes, U)
    np.testing.assert_allclose(model.decision_function(np.ones((2, 3))), codes.mean() + 1)

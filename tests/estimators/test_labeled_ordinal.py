"""Ordinal estimators of labelled rows alone: kernel ridge, all-threshold logistic, the median.

The support vector machines are in `tests.exact.test_svor`.
"""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from dsgkit import SVOREX, SVORIM, AllThresholdLogistic, ConstantMedian, KernelRidgeOrdinal
from dsgkit.engine.problem import Sizes
from dsgkit.errors import DataError
from tests.estimators.brute_force import kernel
from tests.estimators.ordinal.problems import ordinal_problem

LABELED = [KernelRidgeOrdinal, AllThresholdLogistic, SVOREX, SVORIM]
X, CODES, U, CODES_U = ordinal_problem()


def objective(coef, thresholds, gram, codes, lam):
    """As mord.LogisticAT writes it: row by row, cut by cut."""
    f = gram @ coef
    total = 0.0
    for value, code in zip(f, codes, strict=True):
        for j, b in enumerate(thresholds):
            z = 1 if code > j else -1
            total += np.log1p(np.exp(-z * (value - b)))
    return total / len(codes) + lam / 2 * coef @ gram @ coef


@pytest.mark.parametrize(("lam", "sigma"), [(0.1, 2.0), (2.0**-18, 0.3), (0.05, None)])
def test_no_direction_decreases_the_objective(lam, sigma):
    """With the linear kernel the function has no bias, which the thresholds are."""
    if sigma is None:
        model, gram = AllThresholdLogistic(lam, kernel="linear").fit(X, CODES), X @ X.T
        coef = np.linalg.lstsq(X.T, model.score_samples(np.eye(3)))[0]
    else:
        model, gram = AllThresholdLogistic(lam, sigma).fit(X, CODES), kernel(X, X, sigma)
        coef = model.coef_
    solution = np.append(coef, model.own_thresholds_)

    def value(x):
        return objective(x[:40], x[40:], gram, CODES, lam)

    rng = np.random.default_rng(0)
    for _ in range(10):
        direction = rng.normal(size=43)
        direction[:40] /= np.sqrt(direction[:40] @ gram @ direction[:40])
        step = 1e-3 * direction
        slope = (value(solution + step) - value(solution - step)) / 2e-3
        assert abs(slope) < 1e-5
        assert value(solution + step) > value(solution)


def test_its_own_thresholds_or_those_of_a_rule():
    X, codes, U, codes_u = ordinal_problem(100, 200)
    own = AllThresholdLogistic().fit(X, codes, U)
    np.testing.assert_array_equal(own.thresholds_, own.own_thresholds_)
    common = AllThresholdLogistic(thresholds="logistic").fit(X, codes, U)
    np.testing.assert_array_equal(common.score_samples(U), own.score_samples(U))
    assert (common.thresholds_ != own.thresholds_).all()
    for model in (own, common):
        assert np.mean(abs(model.predict(U) - codes_u)) < 0.6


def test_classes_without_rows_are_never_predicted():
    X, codes, U, _ = ordinal_problem(n_classes=5)
    for missing in range(5):
        rows = codes != missing
        model = AllThresholdLogistic()
        model._fit_to(model.data(X, codes, U).take(np.flatnonzero(rows), None))
        b = np.concatenate([[-np.inf], model.own_thresholds_, [np.inf]])
        assert b[missing] == pytest.approx(b[missing + 1], abs=1e-4)
        assert (b[:-1] <= b[1:]).all() and np.isfinite(b).sum() >= 3


@pytest.mark.parametrize(("lam", "sigma"), [(0.1, 1.0), (2.0**-18, 0.3), (8.0, 8.0)])
def test_values_are_those_of_scikit_learn(lam, sigma):
    numbers = CODES + 1.0
    oracle = KernelRidge(alpha=len(X) * lam, kernel="rbf", gamma=sigma)
    expected = numbers.mean() + oracle.fit(X, numbers - numbers.mean()).predict(U)
    model = KernelRidgeOrdinal(lam, sigma).fit(X, CODES * 10, U)
    np.testing.assert_allclose(model.score_samples(U), expected, atol=1e-8)


def test_the_linear_kernel_makes_it_linear_ridge_with_a_penalised_bias():
    numbers = CODES + 1.0
    X1, U1 = (np.column_stack([rows, np.ones(len(rows))]) for rows in (X, U))
    oracle = Ridge(alpha=len(X) * 0.1, fit_intercept=False).fit(X1, numbers - numbers.mean())
    model = KernelRidgeOrdinal(0.1, kernel="linear").fit(X, CODES, U)
    expected = numbers.mean() + oracle.predict(U1)
    np.testing.assert_allclose(model.score_samples(U), expected, atol=1e-8)


def test_equal_rows_have_a_solution():
    model = KernelRidgeOrdinal(lam=1e-12).fit(np.ones_like(X), CODES, U)
    np.testing.assert_allclose(model.score_samples(np.ones((2, 3))), CODES.mean() + 1)


@pytest.mark.parametrize(
    ("y", "median"),
    [([1, 2, 5], 2), ([1, 1, 5, 5], 1), ([3, 5, 5], 5), (["a", "b", "b"], "b")],
)
def test_every_row_gets_the_median_class(y, median):
    X = np.arange(len(y))[:, None]
    model = ConstantMedian().fit(X, y)
    assert (model.predict(X) == median).all()
    assert (model.score_samples(X) == 0).all()
    assert model.score(X, y) == 0.5
    with pytest.raises(DataError, match="holds NaN in row"):
        model.predict([[np.nan]])


def test_unlabelled_rows_are_used_by_the_rule_of_shares_alone():
    for solver in LABELED:
        assert not solver().uses("X_unlabeled") and solver().uses("X")
        assert solver(thresholds="share").uses("X_unlabeled")


@pytest.mark.parametrize("solver", LABELED)
def test_costs_grow_with_rows_and_models(solver):
    n, model = Sizes(5, 200, 0, 4), solver()
    assert model.cost(n).flops < model.cost(n._replace(labeled=400)).flops / 3.9
    assert model.cost(n).flops < model.cost(n, 10).flops
    assert model.cost(n).flops_per_row > 0 and model.cost(n).memory > 8 * 200 * 5

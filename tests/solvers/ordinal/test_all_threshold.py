"""All-threshold logistic regression: its formula, its optimality, its own thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dsgkit.solvers.ordinal.all_threshold import AllThresholdLogistic
from tests.solvers.brute_force import kernel
from tests.solvers.ordinal.problems import ordinal_problem


def objective(coef, thresholds, gram, codes, lam):
    """As mord.LogisticAT writes it: row by row, cut by cut."""
    f = gram @ coef
    total = 0.0
    for value, code in zip(f, codes, strict=True):
        for j, b in enumerate(thresholds):
            z = 1 if code > j else -1
            total += np.log1p(np.exp(-z * (value - b)))
    return total / len(codes) + lam / 2 * coef @ gram @ coef


@pytest.mark.parametrize(("lam", "sigma"), [(0.1, 2.0), (2.0**-18, 0.3)])
def test_no_direction_decreases_the_objective(lam, sigma):
    X, codes, _, _ = ordinal_problem()
    model = AllThresholdLogistic(lam, sigma).fit(X, codes)
    gram = kernel(X, X, sigma)
    solution = np.append(model.coef_, model.thresholds_)

    def value(x):
        return objective(x[:40], x[40:], gram, codes, lam)

    rng = np.random.default_rng(0)
    for _ in range(10):
        direction = rng.normal(size=43)
        direction[:40] /= np.sqrt(direction[:40] @ gram @ direction[:40])
        step = 1e-3 * direction
        slope = (value(solution + step) - value(solution - step)) / 2e-3
        assert abs(slope) < 1e-5
        assert value(solution + step) > value(solution)


@pytest.mark.filterwarnings("ignore:Desired error:RuntimeWarning")
def test_the_linear_kernel_makes_it_linear_without_a_bias():
    X, codes, U, _ = ordinal_problem()

    def value(x):
        w, thresholds = x[:3], x[3:]
        side = np.where(codes[:, None] > np.arange(3), 1, -1)
        margins = side * ((X @ w)[:, None] - thresholds)
        return np.logaddexp(0, -margins).sum() / len(X) + 0.025 * w @ w

    x = minimize(value, np.append(np.zeros(3), [-1.0, 0.0, 1.0]), tol=1e-10).x
    model = AllThresholdLogistic(0.05, kernel="linear").fit(X, codes, U)
    np.testing.assert_allclose(model.decision_function(U), U @ x[:3], atol=1e-4)
    np.testing.assert_allclose(model.own_thresholds_, x[3:], atol=1e-4)


def test_its_own_thresholds_or_those_of_a_rule():
    X, codes, U, codes_u = ordinal_problem(100, 200)
    own = AllThresholdLogistic().fit(X, codes, U)
    np.testing.assert_array_equal(own.thresholds_, own.own_thresholds_)
    common = AllThresholdLogistic(thresholds="logistic").fit(X, codes, U)
    np.testing.assert_array_equal(common.decision_function(U), own.decision_function(U))
    assert (common.thresholds_ != own.thresholds_).all()
    for model in (own, common):
        assert np.mean(abs(model.predict(U) - codes_u)) < 0.6


def test_classes_without_rows_are_never_predicted():
    X, codes, U, _ = ordinal_problem(n_classes=5)
    for missing in range(5):
        rows = codes != missing
        model = AllThresholdLogistic()
        model.classes_ = np.arange(5)
        model._fit(X[rows], codes[rows], U)
        b = np.concatenate([[-np.inf], model.own_thresholds_, [np.inf]])
        assert b[missing] == pytest.approx(b[missing + 1], abs=1e-4)
        assert (b[:-1] <= b[1:]).all() and np.isfinite(b).sum() >= 3

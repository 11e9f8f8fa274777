"""All-threshold logistic regression: its formula, its optimality, its own thresholds."""

import numpy as np
import pytest

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


@pytest.mark.parametrize(("lam", "sigma"), [(0.1, 2.0), (2.0**-18, 0.3), (0.05, None)])
def test_no_direction_decreases_the_objective(lam, sigma):
    """With the linear kernel the function has no bias, which the thresholds are."""
    X, codes, _, _ = ordinal_problem()
    if sigma is None:
        model, gram = AllThresholdLogistic(lam, kernel="linear").fit(X, codes), X @ X.T
        coef = np.linalg.lstsq(X.T, model.decision_function(np.eye(3)))[0]
    else:
        model, gram = AllThresholdLogistic(lam, sigma).fit(X, codes), kernel(X, X, sigma)
        coef = model.coef_
    solution = np.append(coef, model.own_thresholds_)

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

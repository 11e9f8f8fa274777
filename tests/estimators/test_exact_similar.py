"""SU-SL, SU-DH, CUU and the classifiers they are compared with."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.kernel_ridge import KernelRidge

from dsgkit import CUU, RFFSUSL, SUDH, SUSL, MajorityClass, SupervisedSL
from dsgkit.engine.problem import Sizes
from dsgkit.errors import DataError, DivergedError, FitError, TimeLimitError
from dsgkit.kernels import kernel_named
from tests.estimators.similar.problems import double_hinge, oracle, risk, su_problem

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close")

PAIRS, U, Y = su_problem()
POINTS = PAIRS.reshape(-1, 3)


def with_bias(rows):
    return np.column_stack([rows, np.ones(len(rows))])


def test_the_authors_linear_solutions_are_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])
    z = oracle("sudh_linear_gauss_p07_lam1")
    model = SUDH(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    assert model.objective_ == pytest.approx(float(z["objective_corrected"]), abs=1e-6)
    assert model.objective_ < float(z["objective_original"])
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft_correctedQP"], atol=1e-4)
    assert model.diagnostics(X_similar=z["xs"], X_unlabeled=z["xu"]) == {
        "objective": model.objective_
    }


@pytest.mark.parametrize("prior", [0.85, 0.2])
def test_su_dh_minimises_the_risk_in_the_space_of_the_kernel(prior):
    model = SUDH(0.1, 2.0, prior=prior, n_centers=10).fit(PAIRS, U[:40])
    gram = kernel_named("gaussian").gram
    K = gram(model.centers_, model.centers_, 2.0)

    def objective(coef):
        f = gram(np.vstack([U[:40], POINTS]), model.centers_, 2.0) @ coef
        loss = risk(f[40:].reshape(-1, 2), f[:40], prior, double_hinge)
        return loss + 0.05 * coef @ K @ coef

    lowest = objective(model.coef_)
    assert lowest == pytest.approx(model.objective_, abs=1e-9)
    for direction in np.random.default_rng(1).normal(size=(10, len(K))):
        assert min(objective(model.coef_ + step * direction) for step in (-1e-3, 1e-3)) > lowest


def test_su_dh_has_a_limit_of_time_and_centres_on_request():
    whole, each = (SUDH(sigma=2.0, prior=0.85, n_centers=n).fit(PAIRS, U) for n in (None, 60))
    np.testing.assert_array_equal(np.sort(whole.centers_, axis=0), np.sort(U, axis=0))
    np.testing.assert_array_equal(whole.coef_, each.coef_)
    with pytest.raises(TimeLimitError):
        SUDH(prior=0.85, max_seconds=1e-9).fit(PAIRS, U)


def test_cuu_that_is_observed_is_the_one_of_so_many_iterations():
    model, seen = CUU(prior=0.85, batch_size=32, n_iterations=9), []
    rows = {"X_similar": PAIRS, "X_unlabeled": U}
    model.fit_observed(**rows, at=[2, 9], observe=lambda *of: seen.append(of))
    assert [t for t, _, _ in seen] == [2, 9] and 0 < seen[0][1] < seen[1][1]
    for t, _, function in seen:
        expected = CUU(prior=0.85, batch_size=32, n_iterations=t).fit(PAIRS, U)
        np.testing.assert_array_equal(function.decision_function(U), expected.decision_function(U))
        np.testing.assert_array_equal(function.coef_, expected.coef_)
    assert model.n_iter_ == 9 and 0 <= model.corrected_ <= 1
    with pytest.raises(ValueError, match="only 9 iterations"):
        model.fit_observed(**rows, at=[10], observe=print)
    np.testing.assert_array_equal(model.centers_, np.vstack([U, POINTS]))


def test_cuu_counts_the_corrected_batches_and_refuses_steps_that_fail():
    small = {"prior": 0.85, "kernel": "linear", "n_iterations": 200}
    assert CUU(**small, batch_size=4, delta="none").fit(PAIRS, U).corrected_ > 0.1
    assert CUU(**small, batch_size=None, lam=10.0).fit(PAIRS, U).corrected_ == 0
    with pytest.raises(FitError, match=r"theta is too large: a step of 0\.5 at lam=2 leaves"):
        CUU(prior=0.85, lam=2.0, theta=5.0, step="paper", n_iterations=100).fit(PAIRS, U)
    with pytest.raises(DivergedError, match="take a smaller theta"):
        CUU(prior=0.85, lam=1e-9, theta=1e4, n_iterations=2000, sigma=0.1).fit(PAIRS, U)
    far = CUU(lam=1e-3, prior=0.85, kernel="dot_product(20)", sigma=1.0, n_iterations=5)
    assert np.isfinite(far.fit(PAIRS * 1e2, U * 1e2).decision_function(U)).all()
    hidden = np.where(np.arange(60)[:, None] == 7, np.nan, U)
    with pytest.raises(DataError, match="holds NaN in row"):
        CUU(prior=0.85).fit(PAIRS, hidden)


def test_costs_follow_what_is_computed():
    n = Sizes(3, labeled=2000, unlabeled=4000, sources=1)
    assert SUSL().cost(n).memory > 8 * 4000**2 > 100 * SUSL(kernel="linear").cost(n).memory
    assert RFFSUSL(n_features=50).cost(n).flops < RFFSUSL().cost(n).flops / 50
    assert SUDH(n_centers=None).cost(n) == SUDH(n_centers=4000).cost(n)
    of_centers, linear = SUDH().cost(n).flops, SUDH(kernel="linear").cost(n).flops
    assert SUDH().cost(n, 3).flops == 3 * of_centers > 100 * linear
    few, all_rows = CUU(n_centers=60).cost(n), CUU().cost(n)
    assert all_rows.flops / few.flops > 50 and all_rows.memory > 4 * 6000**2
    assert SupervisedSL(kernel="linear").cost(n).flops_per_row == 4 * 4


RIDGES = {
    "gaussian": ({"kernel": "rbf", "gamma": 2.0}, lambda X: X),
    "laplacian": ({"kernel": "laplacian", "gamma": 2.0}, lambda X: X),
    "linear": ({"kernel": "linear"}, with_bias),
}
NAMES = np.where(Y == 1, "yes", "no")


@pytest.mark.parametrize("kernel", RIDGES)
@pytest.mark.parametrize("lam", [1e-3, 0.5])
def test_the_supervised_row_is_kernel_ridge_regression_on_signs(kernel, lam):
    params, features = RIDGES[kernel]

    def ridge(rows):
        known = KernelRidge(alpha=2 * len(rows) * lam, **params)
        return known.fit(features(U[rows]), np.where(NAMES[rows] == "yes", 1, -1))

    expected = ridge(np.arange(60)).predict(features(POINTS))
    model = SupervisedSL(lam, 2.0, kernel=kernel).fit(U, NAMES)
    np.testing.assert_allclose(model.decision_function(POINTS), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(POINTS), np.where(expected >= 0, "yes", "no"))
    folds = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    (got, _) = model.fit_points([{}, {"lam": 9.0}], folds=folds, X=U, y=NAMES)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        own = ridge(rest).predict(features(U[fold]))
        np.testing.assert_allclose(got[fold], own, atol=1e-9)
    if kernel != "linear":
        np.testing.assert_array_equal(model.centers_, U)
    found, t = model.diagnostics(X=U, y=NAMES), np.where(NAMES == "yes", 1, -1)
    assert found["risk"] == pytest.approx(np.mean((t * model.decision_function(U) - 1) ** 2) / 4)
    with pytest.raises(DataError, match="rows of both classes"):
        model.fit_points([{}], folds=[np.flatnonzero(NAMES == "yes")], X=U, y=NAMES)


@pytest.mark.parametrize("turned", [False, True])
def test_the_majority_is_the_most_frequent_label(turned):
    y = np.where(Y == 1, "no", "yes") if turned else NAMES
    expected = DummyClassifier(strategy="most_frequent").fit(U, y).predict(U)
    model = MajorityClass().fit(U, y)
    np.testing.assert_array_equal(model.predict(U), expected)
    assert model.value_ == (-1.0 if turned else 1.0) and model.score(U, y) == np.mean(y == expected)
    assert MajorityClass().fit([[0], [1]], [3, 7]).predict([[5]]) == 7
    assert model.diagnostics(X=U, y=y) == {}

"""SU-SL, SU-DH, CUU and the classifiers they are compared with.

Written-out objectives are in `test_diagnostics`, steps of CUU in `tests.exact.test_descent`.
"""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from dsgkit import CUU, SUDH, SUSL, MajorityClass, SupervisedSL
from dsgkit.errors import DataError, FitError
from dsgkit.kernels import kernel_named
from tests.estimators.similar.problems import double_hinge, oracle, risk, su_problem

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close")

PAIRS, U, Y = su_problem()
POINTS, NAMES = PAIRS.reshape(-1, 3), np.where(Y == 1, "yes", "no")


def test_the_authors_linear_solutions_are_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])
    z = oracle("sudh_linear_gauss_p07_lam1")
    model = SUDH(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    assert model.objective_ == pytest.approx(float(z["objective_corrected"]), abs=1e-6)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft_correctedQP"], atol=1e-4)
    found = model.diagnostics(X_similar=z["xs"], X_unlabeled=z["xu"])
    assert found == {"objective": model.objective_}


@pytest.mark.parametrize("prior", [0.85, 0.2])
def test_su_dh_minimises_the_risk_in_the_space_of_the_kernel(prior):
    model = SUDH(0.1, 2.0, prior=prior, n_centers=10).fit(PAIRS, U[:40])
    gram = kernel_named("gaussian").gram
    K = gram(model.centers_, model.centers_, 2.0)
    at_rows, at_pairs = (gram(rows, model.centers_, 2.0) for rows in (U[:40], POINTS))

    def objective(coef):
        loss = risk(at_pairs @ coef, at_rows @ coef, prior, double_hinge)
        return loss + 0.05 * coef @ K @ coef

    lowest = objective(model.coef_)
    assert lowest == pytest.approx(model.objective_, abs=1e-9)
    for direction in np.random.default_rng(1).normal(size=(10, len(K))):
        assert min(objective(model.coef_ + step * direction) for step in (-1e-3, 1e-3)) > lowest
    whole, each = (SUDH(sigma=2.0, prior=prior, n_centers=n).fit(PAIRS, U) for n in (None, 60))
    np.testing.assert_array_equal(np.sort(whole.centers_, axis=0), np.sort(U, axis=0))
    np.testing.assert_array_equal(whole.coef_, each.coef_)


def test_cuu_that_is_observed_is_the_one_of_so_many_iterations():
    model, seen = CUU(prior=0.85, batch_size=32, n_iterations=9), []
    rows = {"X_similar": PAIRS, "X_unlabeled": U}
    model.fit_observed(**rows, at=[2, 9], observe=lambda *of: seen.append(of))
    assert [t for t, _, _ in seen] == [2, 9] and 0 < seen[0][1] < seen[1][1]
    for t, _, function in seen:
        expected = CUU(prior=0.85, batch_size=32, n_iterations=t).fit(PAIRS, U)
        np.testing.assert_array_equal(function.decision_function(U), expected.decision_function(U))
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
    far = CUU(lam=1e-3, prior=0.85, kernel="dot_product(20)", sigma=1.0, n_iterations=5)
    assert np.isfinite(far.fit(PAIRS * 1e2, U * 1e2).decision_function(U)).all()


RIDGES = [
    ("gaussian", {"kernel": "rbf", "gamma": 2.0}),
    ("laplacian", {"kernel": "laplacian", "gamma": 2.0}),
    ("linear", {}),
]


@pytest.mark.parametrize(("kernel", "params"), RIDGES)
@pytest.mark.parametrize("lam", [1e-3, 0.5])
def test_the_supervised_row_is_kernel_ridge_regression_on_signs(kernel, params, lam):
    # with a bias, which only the linear kernel sees
    U_1, points_1 = (np.pad(x, ((0, 0), (0, 1)), constant_values=1) for x in (U, POINTS))
    expected = KernelRidge(alpha=2 * 60 * lam, **params).fit(U_1, Y).predict(points_1)
    model = SupervisedSL(lam, 2.0, kernel=kernel).fit(U, NAMES)
    np.testing.assert_allclose(model.decision_function(POINTS), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(POINTS), np.where(expected >= 0, "yes", "no"))
    if kernel != "linear":
        np.testing.assert_array_equal(model.centers_, U)
    found = model.diagnostics(X=U, y=NAMES)["risk"]
    assert found == pytest.approx(np.mean((Y * model.decision_function(U) - 1) ** 2) / 4)
    with pytest.raises(DataError, match="rows of both classes"):
        model.fit_points([{}], folds=[np.flatnonzero(NAMES == "yes")], X=U, y=NAMES)


@pytest.mark.parametrize(("majority", "value"), [("yes", 1.0), ("no", -1.0)])
def test_the_majority_is_the_most_frequent_label(majority, value):
    y = np.where((Y == 1) == (majority == "yes"), "yes", "no")
    model = MajorityClass().fit(U, y)
    assert (model.predict(U) == majority).all() and model.value_ == value
    assert model.score(U, y) == np.mean(y == majority) and model.diagnostics(X=U, y=y) == {}
    assert MajorityClass().fit([[0], [1]], [3, 7]).predict([[5]]) == 7

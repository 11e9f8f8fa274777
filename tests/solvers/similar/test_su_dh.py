"""SU-DH against an independent solution of the right problem, and the risk spelled out."""

import numpy as np
import pytest

from dsgkit.kernels import gaussian_gram
from dsgkit.solvers.similar.su_dh import SUDH
from tests.solvers.similar.problems import double_hinge, oracle, risk, su_problem


@pytest.mark.filterwarnings("ignore:prior 0.7 is so close")
def test_the_right_quadratic_program_is_solved():
    z = oracle("sudh_linear_gauss_p07_lam1")
    model = SUDH(lam=float(z["lam"]), kernel="linear", prior=float(z["prior"]))
    model.fit(z["xs"], z["xu"])
    assert model.objective_ == pytest.approx(float(z["objective_corrected"]), abs=1e-6)
    assert model.objective_ < float(z["objective_original"])
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft_correctedQP"], atol=1e-4)


@pytest.mark.filterwarnings("ignore:prior 0.2 is so close")
@pytest.mark.parametrize("prior", [0.85, 0.2])
def test_the_solution_minimises_the_risk_in_the_space_of_the_kernel(prior):
    pairs, U, _ = su_problem(n_unlabeled=40)
    model = SUDH(lam=0.1, sigma=2.0, prior=prior, n_centers=10).fit(pairs, U)
    K = gaussian_gram(model.centers_, model.centers_, 2.0)

    def objective(coef):
        f = gaussian_gram(np.vstack([U, pairs.reshape(-1, 3)]), model.centers_, 2.0) @ coef
        loss = risk(f[40:].reshape(-1, 2), f[:40], prior, double_hinge)
        return loss + 0.05 * coef @ K @ coef

    lowest = objective(model.coef_)
    assert lowest == pytest.approx(model.objective_, abs=1e-9)
    for direction in np.random.default_rng(1).normal(size=(10, len(K))):
        assert min(objective(model.coef_ + step * direction) for step in (-1e-3, 1e-3)) > lowest


@pytest.mark.filterwarnings("ignore:prior 0.85 is so close")
def test_without_a_number_every_unlabelled_row_is_a_centre():
    pairs, U, _ = su_problem(n_unlabeled=40)
    whole, one_each = (SUDH(sigma=2.0, prior=0.85, n_centers=n).fit(pairs, U) for n in (None, 40))
    np.testing.assert_array_equal(np.sort(whole.centers_, axis=0), np.sort(U, axis=0))
    np.testing.assert_array_equal(whole.coef_, one_each.coef_)
    counts = {"n_similar": len(pairs), "n_unlabeled": 40}
    assert whole.cost(3, **counts) == one_each.cost(3, **counts)

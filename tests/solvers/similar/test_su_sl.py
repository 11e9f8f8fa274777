"""SU-SL against the authors' program, and its closed forms against each other."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.kernels.gaussian import gaussian_gram
from dsgkit.solvers.similar.rff_su_sl import RFFSUSL
from dsgkit.solvers.similar.su_sl import SUSL
from dsgkit.text.errors import DsgWarning, FitError
from tests.solvers.similar.problems import oracle, risk, squared, su_problem

FOLDS = [(np.arange(40), np.arange(20)), (np.arange(40, 150), np.arange(20, 60))]


@pytest.mark.filterwarnings("ignore:prior 0.7 is so close")
def test_the_authors_linear_solution_is_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(lam=float(z["lam"]), kernel="linear", prior=float(z["prior"]))
    model.fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])


@pytest.mark.parametrize("prior", [0.85, 0.2])
def test_the_kernel_solution_minimises_the_risk_in_the_space_of_the_kernel(prior):
    """No direction at training rows lowers ``risk + lam/2 f'K f``, spelled out pair by pair."""
    pairs, U, _ = su_problem(n_similar=9, n_unlabeled=12)
    with pytest.warns(DsgWarning):
        model = SUSL(lam=0.05, sigma=2.0, prior=prior).fit(pairs, U)
    K = gaussian_gram(model.centers_, model.centers_, 2.0)

    def objective(coef):
        f = K @ coef
        return risk(f[12:].reshape(9, 2), f[:12], prior, squared) + 0.025 * coef @ f

    lowest = objective(model.coef_)
    for direction in np.random.default_rng(1).normal(size=(20, len(K))):
        both = [objective(model.coef_ + step * direction) - lowest for step in (-1e-3, 1e-3)]
        assert min(both) > 0
        assert both[0] == pytest.approx(both[1], rel=1e-6)  # a parabola's lowest point


def test_random_features_solve_their_own_problem_and_near_the_kernel():
    pairs, U, _ = su_problem()
    model = RFFSUSL(lam=0.05, sigma=2.0, prior=0.85, n_features=500).fit(pairs, U)
    exact = SUSL(lam=0.05, sigma=2.0, prior=0.85).fit(pairs, U)
    got, expected = model.decision_function(U), exact.decision_function(U)
    assert np.sqrt(np.mean((got - expected) ** 2)) < 0.1 * expected.std()
    Phi = FourierFeatures("gaussian", 2.0, 500, 0).transform(U, 0).astype(float)
    S = FourierFeatures("gaussian", 2.0, 500, 0).transform(pairs.reshape(-1, 3), 0)
    right = (2 * 0.745 * S.mean(axis=0, dtype=float) - Phi.mean(axis=0)) / 0.7
    w = Phi.T @ np.linalg.solve(Phi @ Phi.T / 60 + 0.1 * np.eye(60), Phi @ right / 60)
    w = (right - w) / 0.1  # by the matrix inversion lemma
    np.testing.assert_allclose(got, Phi @ w, atol=1e-3 * abs(got).max())


def test_a_penalty_below_the_rounding_of_features_has_no_solution():
    pairs, U, _ = su_problem()
    with pytest.raises(FitError, match="take a larger lam"):
        RFFSUSL(lam=2.0**-24, prior=0.85).fit(pairs, U)
    points = [{"lam": 2.0**-24}, {"lam": 0.1}]
    values = RFFSUSL(prior=0.85, n_features=20).fit_points(
        points, folds=FOLDS, X_similar=pairs, X_unlabeled=U
    )
    assert all(np.isnan(part[0]).all() and np.isfinite(part[1]).all() for part in values)

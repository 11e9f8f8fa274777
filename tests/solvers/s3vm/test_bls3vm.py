"""BLS3VM against UniverSVM's outputs, against its objective from the definition, and its limits."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dsgkit.errors import FitError
from dsgkit.solvers.s3vm.bls3vm import BLS3VM
from dsgkit.system.progress import listening
from dsgkit.trainers import concave_convex
from tests.solvers.brute_force import problem

ORACLES = Path(__file__).parents[2] / "oracles"


def oracle_fit(name, balance, tol):
    """Fit the rows of an oracle, whose C and Cstar weigh sums of losses, not means."""
    stored = np.load(ORACLES / f"universvm_{name}.npz")
    model = BLS3VM(
        C=float(stored["C"]) * len(stored["xl"]),
        C_star=float(stored["Cstar"]) * len(stored["xu"]),
        sigma=float(stored["gamma"]),
        ramp_s=float(stored["s"]),
        balance=balance,
        tol=tol,
    )
    return model.fit(stored["xl"], stored["yl"], stored["xu"]), stored


def test_the_oracle_with_a_balance():
    model, stored = oracle_fit("gauss_S0", True, 1e-6)
    rows = np.vstack([stored["xl"], stored["xu"]])
    assert model.n_iter_ == stored["loops"] and model.converged_
    assert model.objectives_[-1] == pytest.approx(float(stored["objective"]), rel=1e-6)
    np.testing.assert_allclose(model.objectives_, stored["own_cccp_objectives"], rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(rows), stored["f_lu"], rtol=0, atol=7e-6)
    np.testing.assert_allclose(
        model.decision_function(stored["xt"]), stored["ft"], rtol=0, atol=7e-6
    )
    assert model.intercept_ == pytest.approx(float(stored["b0"]), abs=7e-6)
    coef = np.zeros(len(rows))
    for center, value in zip(model.centers_, model.coef_, strict=True):
        coef[(rows == center).all(axis=1)] = value
    np.testing.assert_allclose(coef, stored["alpha_on_lu"], atol=1e-4)


def test_the_oracle_of_the_papers_objective():
    model, stored = oracle_fit("moons_nobalance_bias0", False, 1e-6)
    assert model.intercept_ == 0 and model.converged_
    np.testing.assert_allclose(model.objectives_, stored["own_objectives"], rtol=1e-6)
    for expected in ("ft_without_b0", "ft_own"):
        np.testing.assert_allclose(
            model.decision_function(stored["xt"]), stored[expected], rtol=0, atol=7e-6
        )


@pytest.mark.parametrize("case", [("gauss_S0", True), ("moons_nobalance_bias0", False)])
def test_the_default_tolerance_is_good_for_three_digits(case):
    model, stored = oracle_fit(*case, 1e-3)
    np.testing.assert_allclose(model.decision_function(stored["xt"]), stored["ft"], atol=3e-3)


def objective(model, X, y, U):
    return model.diagnostics(X, y, U)["objective"]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1000),
    log_C=st.floats(-1, 3),
    ratio=st.sampled_from([0.0, 0.01, 0.3, 3.0]),
    sigma=st.floats(0.1, 20),
    ramp_s=st.floats(-1, 0, exclude_min=True),
    balance=st.booleans(),
)
def test_the_objective_is_as_documented_and_falls(seed, log_C, ratio, sigma, ramp_s, balance):
    X, y, U = problem(n_unlabeled=50, seed=seed)
    params = {"C": 10**log_C, "sigma": sigma, "ramp_s": ramp_s, "balance": balance}
    model = BLS3VM(C_star=ratio * 10**log_C, **params).fit(X, y, U)
    assert model.objectives_[-1] == pytest.approx(objective(model, X, y, U), rel=1e-4)
    assert (np.diff(model.objectives_) < 0).all()
    assert model.n_iter_ == len(model.objectives_) - 1
    if balance:
        assert model.decision_function(U).mean() == pytest.approx(y.mean(), abs=1e-4)
    else:
        assert model.intercept_ == 0


@pytest.mark.parametrize("ramp_s", [0.0, -0.4])
def test_the_end_is_a_stationary_point_of_the_objective(ramp_s):
    """Without the constraint: small moves along any kernel function do not lower it."""
    X, y, U = problem(n_unlabeled=60, seed=3)
    model = BLS3VM(C=50.0, sigma=4.0, ramp_s=ramp_s, balance=False, tol=1e-7).fit(X, y, U)
    assert model.n_iter_ > 0
    best = objective(model, X, y, U)
    rng = np.random.default_rng(0)
    coef = model.coef_.copy()
    for size in (1e-3, 1e-4):
        for _ in range(50):
            model.coef_[:] = coef + size * rng.normal(size=len(coef)) / len(coef) ** 0.5
            assert objective(model, X, y, U) > best - 1e-6 * size


def test_rows_without_a_coefficient_are_no_centres():
    X, y, U = problem()
    sparse = BLS3VM(C=100.0, sigma=3.0, balance=False).fit(X, y, U)
    assert len(sparse.centers_) < len(X) + len(U) and sparse.coef_.all()
    balanced = BLS3VM(C=100.0, sigma=3.0).fit(X, y, U)
    assert len(balanced.centers_) > len(U)


def test_a_limit_of_loops_is_kept_and_told():
    X, y, U = problem(n_unlabeled=400)
    whole = BLS3VM(C=100.0, C_star=300.0, sigma=20.0).fit(X, y, U)
    assert whole.n_iter_ > 2 and whole.converged_
    two = clone(whole).set_params(max_iter=2).fit(X, y, U)
    assert two.n_iter_ == 2 and not two.converged_
    np.testing.assert_array_equal(two.objectives_, whole.objectives_[:3])
    just = clone(whole).set_params(max_iter=whole.n_iter_).fit(X, y, U)
    assert just.n_iter_ == whole.n_iter_ and just.converged_


def test_progress_is_told_in_order():
    X, y, U = problem(n_unlabeled=400)
    heard = []
    with listening(heard.append):
        BLS3VM(C=100.0, C_star=300.0, sigma=20.0).fit(X, y, U)
    assert len(heard) > 2 and heard == sorted(heard) and heard[0] >= 0 and heard[-1] <= 1


@pytest.mark.parametrize("balance", [True, False])
def test_with_less_memory_the_model_is_the_same(balance):
    X, y, U = problem(40, 1400, 5)
    whole = BLS3VM(C=100.0, sigma=3.0, balance=balance)
    little = clone(whole).set_params(max_memory=0.0025)
    assert (
        little.cost(5, n_labeled=40, n_unlabeled=1400).memory
        < whole.cost(5, n_labeled=40, n_unlabeled=1400).memory / 3
    )
    np.testing.assert_array_equal(
        little.fit(X, y, U).decision_function(U), whole.fit(X, y, U).decision_function(U)
    )


def test_a_limit_of_steps_is_kept_and_leaves_the_model_before(monkeypatch):
    X, y, U = problem()
    model = BLS3VM().fit(X, y, U)
    expected = model.decision_function(U)
    monkeypatch.setattr(concave_convex, "MAX_STEPS_PER_ROW", 1)
    n_variables = len(X) + len(U) + 1
    with pytest.raises(FitError, match=f"no solution after {n_variables} steps; take a larger tol"):
        model.set_params(C=1e4).fit(X, y, U)
    np.testing.assert_array_equal(model.decision_function(U), expected)

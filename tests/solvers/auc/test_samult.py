"""SAMULT against a dense solution, against its own optimality, and its limits."""

import numpy as np
import pytest

from dsgkit.errors import FitError
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.base import Estimator
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.trainers.responses import DualResponse
from tests.solvers.brute_force import folds_of, kernel, problem, samult_form
from tests.solvers.ordinal.brute_force import ordinal_problem

SETTINGS = [(0.125, 1.0, 0.4), (8.0, 0.125, 0.0), (1e-4, 8.0, 0.9), (1.0, 2.0, 1.0)]


@pytest.mark.parametrize(("lam", "sigma", "gamma"), SETTINGS)
def test_coefficients_solve_the_dense_system(lam, sigma, gamma):
    X, y, U = problem()
    model = SAMULT(lam=lam, sigma=sigma, gamma=gamma).fit(X, y, U)
    M, v = samult_form(y > 0, len(U), gamma)
    rows = np.vstack([X, U])
    expected = np.linalg.solve(lam * np.eye(len(rows)) + 2 * M @ kernel(rows, rows, sigma), 2 * v)
    coef = np.zeros(len(rows))
    coef[: len(model.coef_)] = model.coef_
    np.testing.assert_allclose(coef, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("gamma", [0, 0.1, 1])
@pytest.mark.parametrize(("solver", "base"), [(SAMULT, Estimator), (ExactS2OR, OrdinalEstimator)])
def test_the_grid_keeps_the_digits_of_fits_where_lam_is_small(solver, base, gamma):
    X, y, U = (problem if solver is SAMULT else ordinal_problem)(24, 40)
    training = {"folds": folds_of(len(y), 4), "X": X, "y": y, "X_unlabeled": U}
    points = [{"lam": 2.0**k, "sigma": 4.0, "gamma": gamma} for k in (-15, -20, -25)]
    got = solver().fit_points(points, **training)
    expected = base.fit_points(solver(), points, **training)
    for row, exact, point in zip(got, expected, points, strict=True):
        # what rounding the kernel's values to 2^-53 does to either
        atol = 1e-13 / point["lam"] * abs(exact).max()
        np.testing.assert_allclose(row, exact, rtol=0, atol=atol)


def test_a_regulariser_below_rounding_is_a_failed_fit():
    X, y, U = problem()
    with pytest.raises(FitError, match="take a larger lam"):
        SAMULT(lam=1e-30).fit(np.vstack([X, X]), np.append(y, y), U)


@pytest.mark.parametrize("solver", [SAMULT, ExactS2OR])
def test_a_grid_takes_one_factorisation(solver, monkeypatch):
    X, y, U = problem()
    made = []

    class Counted(DualResponse):
        def __init__(self, *grams):
            made.append(len(grams[-1]))
            super().__init__(*grams)

    monkeypatch.setattr("dsgkit.trainers.kernel_matrix.DualResponse", Counted)
    points = [{"lam": lam, "gamma": gamma} for lam in (0.1, 1.0) for gamma in (0.0, 0.5, 1.0)]
    rows = {"folds": folds_of(len(y), 4), "X": X, "y": y, "X_unlabeled": U}
    solver(sigma=1.0).fit_points(points, **rows)
    assert made == [len(U)]

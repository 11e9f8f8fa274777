"""RFF-S2AUC against SAMULT's solution with the kernel of its features, and its limits."""

import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.solvers.auc.rff_s2auc import RFFS2AUC
from dsgkit.solvers.base import Estimator
from tests.solvers.brute_force import folds_of, problem, samult_form

SETTINGS = [(0.125, 1.0, 0.4), (8.0, 0.125, 0.0), (1e-2, 8.0, 0.9), (1.0, 2.0, 1.0)]


def kernel_solution(lam, sigma, gamma, X, y, U, n_features):
    """SAMULT's dense system with the Gram matrix of the features as the kernel."""
    rows = np.vstack([X, U])
    Phi = FourierFeatures("gaussian", sigma, n_features, 0).transform(rows, 0).astype(np.float64)
    M, v = samult_form(y > 0, len(U), gamma)
    gram = Phi @ Phi.T
    return gram @ np.linalg.solve(lam * np.eye(len(rows)) + 2 * M @ gram, 2 * v)


@pytest.mark.parametrize(("lam", "sigma", "gamma"), [*SETTINGS, (1e-4, 1.0, 0.5)])
def test_in_double_precision_they_agree_closely(double_precision, lam, sigma, gamma):
    X, y, U = problem()
    expected = kernel_solution(lam, sigma, gamma, X, y, U, 60)
    model = RFFS2AUC(lam=lam, sigma=sigma, gamma=gamma, n_features=60).fit(X, y, U)
    values = model.decision_function(np.vstack([X, U]))
    np.testing.assert_allclose(values, expected, atol=1e-8 * abs(expected).max())


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_grid_refuses_what_a_fit_refuses(gamma):
    X, y, U = problem(24, 1000)
    model = RFFS2AUC(n_features=40, gamma=gamma)
    training = {"X": X, "y": y, "X_unlabeled": U}
    points = [{"lam": 2.0**k} for k in range(-30, -13, 2)]
    folds = folds_of(len(y), 2)
    got = np.isnan(model.fit_points(points, folds=folds, **training)).all(axis=1)
    expected = np.isnan(Estimator.fit_points(model, points, folds=folds, **training)).all(axis=1)
    np.testing.assert_array_equal(got, expected)
    assert got[0] and not got[-1]

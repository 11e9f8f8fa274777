"""The closed forms of the ordinal risk against all pairs of all cuts, and against SAMULT."""

import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.objectives.ordinal_risk import ordinal_risk
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.ordinal.rff import RFFS2OR
from tests.solvers.brute_force import folds_of, kernel, minimise, written_form
from tests.solvers.ordinal.brute_force import ordinal_form, ordinal_problem

PER_CUT = (0.2, 1.0, 0.0)


@pytest.mark.parametrize("gamma", [0.3, 1.0, PER_CUT])
@pytest.mark.parametrize("classes", [[0, 1, 2, 3], [1, 3], [0, 1, 3], [2, 3]], ids=str)
def test_the_risk_is_the_mean_over_cuts_and_pairs_though_classes_lack_rows(gamma, classes):
    codes = np.repeat(classes, [3, 1, 2, 4][: len(classes)])
    risk = ordinal_risk(gamma, np.bincount(codes, minlength=4))
    M, v = ordinal_form(codes, 5, np.broadcast_to(gamma, 3))
    got_M, got_v = written_form(risk, codes, 5)
    np.testing.assert_allclose(got_M, M, atol=1e-14)
    np.testing.assert_allclose(got_v, v, atol=1e-14)
    assert risk.convex


def exact_solution(lam, sigma, gamma, X, y, U, rows):
    """Values at some rows of the solution of the dense system of all pairs."""
    centers = np.vstack([X, U])
    M, v = ordinal_form(y - 1, len(U), np.broadcast_to(gamma, 3))
    K = kernel(centers, centers, sigma)
    return kernel(rows, centers, sigma) @ np.linalg.solve(lam * np.eye(len(K)) + 2 * M @ K, 2 * v)


@pytest.mark.parametrize(
    ("lam", "sigma", "gamma"),
    [(0.125, 1.0, 0.4), (1e-4, 8.0, PER_CUT), (8.0, 0.125, 0.0), (1.0, 2.0, 1.0)],
)
def test_exact_solves_the_dense_system_of_all_pairs(lam, sigma, gamma):
    X, y, U = ordinal_problem()
    model = ExactS2OR(lam=lam, sigma=sigma, gamma=gamma).fit_function(X, y, U)
    expected = exact_solution(lam, sigma, gamma, X, y, U, U)
    np.testing.assert_allclose(
        model.decision_function(U), expected, rtol=0, atol=1e-9 * abs(expected).max()
    )


@pytest.mark.parametrize(("lam", "gamma"), [(0.125, 0.4), (1e-3, PER_CUT), (1.0, 1.0)])
def test_random_features_solve_the_dense_primal_of_all_pairs(double_precision, lam, gamma):
    X, y, U = ordinal_problem()
    model = RFFS2OR(lam=lam, sigma=1.0, gamma=gamma, n_features=20).fit_function(X, y, U)
    Phi = FourierFeatures("gaussian", 1.0, 20, 0).transform(np.vstack([X, U]), 0)
    M, v = ordinal_form(y - 1, len(U), np.broadcast_to(gamma, 3))
    expected = Phi @ minimise(M, v, Phi, lam / 2)
    np.testing.assert_allclose(
        model.decision_function(np.vstack([X, U])), expected, atol=1e-9 * abs(expected).max()
    )


def test_the_only_cut_with_a_weight_of_unlabelled_rows_may_be_dropped_in_a_fold():
    X, y, U = ordinal_problem()
    y = np.where(y < 4, y, 3)
    folds = folds_of(25, 4)[:1]
    y[folds[0][0]] = 4  # without this row no cut but the supervised ones is left
    got, expected = (
        OrdinalEstimator.fit_points(
            ExactS2OR(gamma=gamma), [{}], folds=folds, X=X, y=y, X_unlabeled=U
        )
        for gamma in ((1.0, 1.0, 0.5), 1.0)
    )
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_the_thresholds_double_the_operations_of_a_fit():
    counts = {"n_labeled": 500, "n_unlabeled": 1000}
    binary = SAMULT().cost(5, **counts).flops
    assert ExactS2OR().cost(5, **counts, n_cuts=4).flops == 2 * binary
    assert ExactS2OR(thresholds="share").cost(5, **counts, n_cuts=4).flops == binary

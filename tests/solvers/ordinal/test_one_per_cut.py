"""Held-out values of all cuts from one factorisation."""

import numpy as np
import pytest

from dsgkit import MPNUAUC, MSAMULT
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.text.errors import FitError
from tests.solvers.brute_force import folds_of


def problem():
    rng = np.random.default_rng(0)
    X, U = rng.random((36, 3)), rng.random((50, 3))
    codes = np.digitize(X[:, 0] + X[:, 1] / 2, np.quantile(X[:, 0] + X[:, 1] / 2, [0.2, 0.5, 0.8]))
    return X, codes, U


@pytest.mark.parametrize(
    "model",
    [
        MSAMULT(lam=0.1, sigma=1.0, gamma=0.4),
        MSAMULT(lam=0.1, sigma=1.0, gamma=(0.2, 0.5, 0.0)),
        MSAMULT(lam=0.1, sigma=1.0, gamma=1.0),
        MPNUAUC(lam=0.5, sigma=1.0, eta=(0.2, 0.0, -0.1), n_centers=20),
    ],
)
def test_held_out_values_are_those_of_refits(model):
    X, codes, U = problem()
    model.fit_function(X, codes, U)
    folds = folds_of(len(codes), 3)
    got = model._out_of_fold(X, codes, U, folds, U)
    if isinstance(model, MPNUAUC):  # held-out rows remain among the centres there
        searched = model.fit_points([{}], folds=folds, X=X, y=codes, X_unlabeled=U)[0]
        for fold in folds:
            np.testing.assert_allclose(np.ptp(got[fold] - searched[fold], axis=0), 0, atol=1e-8)
    else:
        expected = OrdinalEstimator._out_of_fold(model, X, codes, U, folds, U)
        np.testing.assert_allclose(got, expected, atol=1e-8 * np.abs(expected).max())


def test_a_fold_may_hold_all_rows_of_an_outer_class():
    X, codes, U = problem()
    model = MSAMULT(lam=0.1, sigma=1.0, gamma=0.4).fit_function(X, codes, U)
    top = np.flatnonzero(codes == 3)
    folds = [
        top,
        np.setdiff1d(np.arange(len(codes)), top)[::2],
        np.setdiff1d(np.arange(len(codes)), top)[1::2],
    ]
    expected = OrdinalEstimator._out_of_fold(model, X, codes, U, folds, U)
    got = model._out_of_fold(X, codes, U, folds, U)
    np.testing.assert_allclose(got, expected, atol=1e-8 * np.abs(expected).max())


def test_a_risk_without_a_minimum_ends_in_one_line():
    X, codes, U = problem()
    model = MPNUAUC(lam=0.5, sigma=1.0, eta=0.0).fit_function(X, codes, U)
    model.set_params(eta=-1.0, lam=1e-9, prior=0.02)
    with pytest.raises(FitError, match="no solution without a fold"):
        model._out_of_fold(X, codes, U, folds_of(len(codes), 3), U)

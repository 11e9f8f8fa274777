"""Searches and thresholds take less work than refits, and have the same values."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit import (
    MPNUAUC,
    MSAMULT,
    RFFS2OR,
    ExactS2OR,
)
from dsgkit.errors import FitError
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.trainers.training import Given
from tests.solvers.brute_force import folds_of
from tests.solvers.ordinal.problems import ordinal_problem

X, CODES, U, _ = ordinal_problem()
GIVEN = Given(X, CODES, U, n_sources=4)
ALL_CLASSES = folds_of(40, 4)
SOME_CLASSES = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES)[::2], np.flatnonzero(CODES)[1::2]]
GAMMAS = [0.0, 0.4, (0.2, 1.0, 0.0), 1.0]
ETAS = [0.0, (-0.5, 0.25, 0.5)]
PRIOR = (0.75, 0.5, 0.25)


def grid(**values):
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


RISKS = grid(lam=[2.0**-8, 1.0], sigma=[0.5, 4.0], gamma=GAMMAS)

SEARCHES = [
    (ExactS2OR(), RISKS, 1e-7),
    (RFFS2OR(n_features=30), RISKS, 1e-7),
    (MSAMULT(), RISKS, 1e-7),
    (MPNUAUC(prior=PRIOR), grid(lam=[0.1, 1.0], sigma=[0.5, 4.0], eta=ETAS), 1e-7),
]


@pytest.mark.parametrize("folds", [ALL_CLASSES, SOME_CLASSES], ids=["all classes", "some"])
@pytest.mark.parametrize(("model", "points", "atol"), SEARCHES)
def test_a_grid_on_folds_has_the_values_of_refits(
    double_precision, same_centers, model, points, atol, folds
):
    got = model.fit_points(points, folds=folds, X=X, y=CODES, X_unlabeled=U)
    known = clone(model)
    known.classes_ = np.arange(4)
    expected = OrdinalEstimator._fold_values(known, points, folds, GIVEN)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


OUT_OF_FOLD = [
    *((ExactS2OR(gamma=gamma), 1e-9) for gamma in GAMMAS),
    *((RFFS2OR(n_features=30, gamma=gamma), 1e-9) for gamma in GAMMAS),
    *((MSAMULT(lam=0.1, sigma=1.0, gamma=gamma), 1e-8) for gamma in GAMMAS),
]


@pytest.mark.parametrize("folds", [ALL_CLASSES, SOME_CLASSES], ids=["all classes", "some"])
@pytest.mark.parametrize(("model", "atol"), OUT_OF_FOLD)
def test_held_out_values_for_thresholds_are_those_of_refits(double_precision, model, atol, folds):
    model = clone(model).fit_function(X, CODES, U)
    got = model._out_of_fold(GIVEN, folds, U)
    expected = OrdinalEstimator._out_of_fold(model, GIVEN, folds, U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol * max(1, abs(expected).max()))


def test_held_out_rows_remain_among_the_centres():
    model = MPNUAUC(lam=0.5, sigma=1.0, eta=(0.2, 0.0, -0.1), n_centers=20)
    model.fit_function(X, CODES, U)
    got = model._out_of_fold(GIVEN, ALL_CLASSES, U)
    (searched,) = model.fit_points([{}], folds=ALL_CLASSES, X=X, y=CODES, X_unlabeled=U)
    for fold in ALL_CLASSES:
        np.testing.assert_allclose(np.ptp(got[fold] - searched[fold], axis=0), 0, atol=1e-8)


def test_a_risk_without_a_minimum_ends_in_one_line():
    model = MPNUAUC(lam=0.5, sigma=1.0, eta=0.0).fit_function(X, CODES, U)
    model.set_params(eta=-1.0, lam=1e-9, prior=0.02)
    with pytest.raises(FitError, match="no solution when a fold"):
        model._out_of_fold(GIVEN, folds_of(len(CODES), 3), U)

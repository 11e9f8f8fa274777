"""Nyström-S2AUC against SAMULT, and a dense solution over the functions on its landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit.solvers.auc.nystrom_s2auc import NystromS2AUC
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.text.errors import FitError
from dsgkit.trainers.explicit_features import OnLandmarks
from tests.solvers.brute_force import folds_of, problem

SETTINGS = [(0.125, 1.0, 0.4), (8.0, 0.125, 0.0), (1e-4, 8.0, 0.9), (1e-6, 2.0, 0.5), (1, 2, 1)]


@pytest.mark.parametrize(("lam", "sigma", "gamma"), SETTINGS)
def test_with_every_row_as_a_landmark_it_is_samult(lam, sigma, gamma):
    X, y, U = problem(40, 100)
    exact = SAMULT(lam, sigma, gamma).fit(X, y, U).decision_function(U)
    values = NystromS2AUC(lam, sigma, gamma).fit(X, y, U).decision_function(U)
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-6 * abs(exact).max())


def test_landmarks_are_the_labelled_and_distinct_unlabelled_rows_that_the_seed_chooses():
    X, y, U = problem()

    def landmarks(n_landmarks, seed=0):
        model = NystromS2AUC(n_landmarks=n_landmarks, random_state=seed).fit(X, y, U)
        return model.centers_.astype(np.float32)

    drawn = landmarks(12)
    np.testing.assert_array_equal(drawn[: len(X)], X)
    places = (drawn[len(X) :, None] == U).all(axis=2).argmax(axis=1)
    assert len(set(places)) == 12
    np.testing.assert_array_equal(drawn, landmarks(12))
    assert not np.array_equal(drawn, landmarks(12, seed=1))
    np.testing.assert_array_equal(landmarks(1000), np.vstack([X, U]))


def test_the_whole_grid_equals_fits_with_the_same_landmarks(monkeypatch):
    X, y, U = problem(n_labeled=24, n_unlabeled=40)
    folds = folds_of(len(y), 4)
    points = [
        {"lam": 2.0**k, "sigma": sigma, "gamma": gamma}
        for k in (-12, -3, 0)
        for sigma in (0.5, 4.0)
        for gamma in (0, 0.5, 1)
    ]
    model = NystromS2AUC(n_landmarks=15)
    got = model.fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U)
    for row, point in zip(got, points, strict=True):
        alone = clone(model).set_params(**point)
        features = OnLandmarks._features(alone._trainer(), X, U)
        monkeypatch.setattr(OnLandmarks, "_features", lambda *_, kept=features: kept)
        for fold in folds:
            train = np.setdiff1d(np.arange(len(y)), fold)
            expected = alone.fit(X[train], y[train], U).decision_function(X[fold])
            np.testing.assert_allclose(row[fold], expected, rtol=0, atol=1e-7)
        monkeypatch.undo()


def test_a_fit_that_cannot_be_is_refused():
    X, y, U = problem()
    with pytest.raises(FitError, match="take a larger lam"):
        NystromS2AUC(lam=1e-300, sigma=0.3).fit(X, y, U)
    with pytest.raises(FitError, match="the kernel is 0 at all landmarks"):
        NystromS2AUC(kernel="dot_product(1)").fit(np.zeros_like(X), y, np.zeros_like(U))

"""Nyström-S2AUC against SAMULT, and a dense solution over the functions on its landmarks."""

import numpy as np
import pytest

from dsgkit.errors import FitError
from dsgkit.solvers.auc.nystrom_s2auc import NystromS2AUC
from dsgkit.solvers.auc.samult import SAMULT
from tests.solvers.brute_force import problem

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


def test_a_fit_that_cannot_be_is_refused():
    X, y, U = problem()
    with pytest.raises(FitError, match="take a larger lam"):
        NystromS2AUC(lam=1e-300, sigma=0.3).fit(X, y, U)
    with pytest.raises(FitError, match="the kernel is 0 at all landmarks"):
        NystromS2AUC(kernel="dot_product(1)").fit(np.zeros_like(X), y, np.zeros_like(U))

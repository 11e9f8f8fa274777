"""The quadratic forms against loops over pairs; the grid responses against dense inverses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit.errors import DataError
from dsgkit.objectives.pairwise_risk import pnu_risk
from dsgkit.trainers.responses import (
    DualResponse,
    PrimalResponse,
    cv_values,
    label_weights,
)
from tests.solvers.brute_force import folds_of, minimise, pnu_form, written_form

POSITIVES = np.array([True, False, True, True, False, False, False])
CODES = np.where(POSITIVES, 0, 1)
N_UNLABELED = 5


@settings(deadline=None, max_examples=60)
@given(st.floats(-1, 1), st.floats(0.01, 0.99))
def test_convex_means_positive_semi_definite_and_no_less(eta, prior):
    risk = pnu_risk(eta, prior)
    smallest = np.linalg.eigvalsh(written_form(risk, CODES, N_UNLABELED)[0])[0]
    if risk.convex:
        assert smallest > -1e-10 * abs(risk.diagonal).max()
    elif risk.diagonal.min() < -1e-6:  # contrasts within that class have negative risk
        assert smallest < 0


@pytest.mark.parametrize(("eta", "prior"), [(1, 0.5), (0.5, 0.3), (-1, 0.5), (-0.5, 0.8), (0, 0.9)])
def test_the_suitable_signs_of_eta_are_convex(eta, prior):
    assert pnu_risk(eta, prior).convex


def test_rows_of_one_class_are_refused():
    with pytest.raises(DataError, match="both classes"):
        label_weights(np.array([1, 1]), 2)
    with pytest.raises(DataError, match="two classes"):
        label_weights(np.array([3, 3]), 5)


def test_a_class_of_several_may_lack_rows():
    weights = label_weights(np.array([2, 0, 2]), 4)
    np.testing.assert_array_equal(weights, [[0, 0, 0.5, 0], [1, 0, 0, 0], [0, 0, 0.5, 0]])


@pytest.fixture
def features():
    rng = np.random.default_rng(1)
    return rng.normal(size=(len(POSITIVES), 9)), rng.normal(size=(N_UNLABELED, 9))


def dual(labeled, unlabeled):
    E = np.vstack([labeled, unlabeled.mean(axis=0)])
    return DualResponse(E @ E.T, E @ unlabeled.T, np.ascontiguousarray(unlabeled @ unlabeled.T))


def primal(labeled, unlabeled):
    E = np.vstack([labeled, unlabeled.mean(axis=0)])
    return PrimalResponse(E, np.asfortranarray(np.tril(unlabeled.T @ unlabeled)))


@pytest.mark.parametrize("kind", [dual, primal])
@pytest.mark.parametrize("prior", [0.15, 0.9])
def test_grid_values_equal_dense_solutions_and_are_nan_without_a_minimum(features, kind, prior):
    """Indefiniteness is decided in the small system; here by the spectrum of the whole matrix."""
    labeled, unlabeled = features
    folds = folds_of(len(POSITIVES), 2, seed=3)
    points = [(lam, eta) for lam in (1e-3, 0.3, 3) for eta in np.linspace(-1, 1, 9)]
    got = cv_values(
        kind(labeled, unlabeled),
        CODES,
        N_UNLABELED,
        folds,
        [[pnu_risk(eta, prior)] * 2 for _, eta in points],
        [lam for lam, _ in points],
    )
    for row, (lam, eta) in zip(got, points, strict=True):
        for fold in folds:
            train = np.setdiff1d(np.arange(len(POSITIVES)), fold)
            M, v = pnu_form(POSITIVES[train], N_UNLABELED, eta, prior)
            w = minimise(M, v, np.vstack([labeled[train], unlabeled]), lam)
            expected = np.full(len(fold), np.nan) if w is None else labeled[fold] @ w
            np.testing.assert_allclose(row[fold], expected, rtol=1e-7, atol=1e-7)
    assert 0 < np.isnan(got).any(axis=1).sum() < len(points)

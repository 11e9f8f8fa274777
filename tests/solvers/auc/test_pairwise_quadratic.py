"""The quadratic forms against loops over pairs; the grid responses against dense inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit.objectives.pairwise_risk import pair_risk, pnu_risk, samult_risk
from dsgkit.text.errors import DataError
from dsgkit.trainers.responses import (
    DualResponse,
    PrimalResponse,
    cv_values,
    label_weights,
)
from tests.solvers.brute_force import folds_of, minimise, pnu_form, samult_form

POSITIVES = np.array([True, False, True, True, False, False, False])
CODES = np.where(POSITIVES, 0, 1)
N_UNLABELED = 5


def dense_form(risk):
    """M and v of a risk with the class weights written out."""
    W = np.zeros((len(POSITIVES) + N_UNLABELED, 3))
    W[: len(POSITIVES), :2] = label_weights(CODES, 2)
    W[len(POSITIVES) :, 2] = 1 / N_UNLABELED
    return np.diag(W @ risk.diagonal) + W @ risk.cross @ W.T, W @ risk.linear


@pytest.mark.parametrize("gamma", [0, 0.3, 1])
def test_samult_risk_is_the_mean_over_pairs(gamma):
    M, v = samult_form(POSITIVES, N_UNLABELED, gamma)
    got_M, got_v = dense_form(samult_risk(gamma))
    np.testing.assert_allclose(got_M, M, atol=1e-14)
    np.testing.assert_allclose(got_v, v, atol=1e-14)


@pytest.mark.parametrize("eta", [-1, -0.4, 0, 0.7, 1])
@pytest.mark.parametrize("prior", [0.2, 0.5, 0.9])
def test_pnu_risk_is_the_mean_over_pairs(eta, prior):
    M, v = pnu_form(POSITIVES, N_UNLABELED, eta, prior)
    got_M, got_v = dense_form(pnu_risk(eta, prior))
    np.testing.assert_allclose(got_M, M, atol=1e-13)
    np.testing.assert_allclose(got_v, v, atol=1e-13)


def test_semi_supervised_risks_need_no_sign_of_their_linear_part():
    p, n, _ = np.eye(3)
    np.testing.assert_allclose(samult_risk(0.25).linear, pair_risk(p, n).linear, atol=1e-15)


@settings(deadline=None, max_examples=60)
@given(st.floats(-1, 1), st.floats(0.01, 0.99))
def test_convex_means_positive_semi_definite_and_no_less(eta, prior):
    risk = pnu_risk(eta, prior)
    smallest = np.linalg.eigvalsh(dense_form(risk)[0])[0]
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
@pytest.mark.parametrize("penalty", [1e-3, 1, 100])
@pytest.mark.parametrize("weight", [0, 0.01, 3])
def test_response_is_that_of_the_dense_inverse(features, kind, penalty, weight):
    labeled, unlabeled = features
    E = np.vstack([labeled, unlabeled.mean(axis=0)])
    inverse = np.linalg.inv(penalty * np.eye(9) + weight * unlabeled.T @ unlabeled)
    expected = E @ inverse @ E.T
    np.testing.assert_allclose(
        kind(labeled, unlabeled).at(penalty, weight), expected, rtol=0, atol=1e-10 * expected.max()
    )


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

"""What is wrong or open in the papers: each erratum that something shows names it, or it is here.

Equations are those of the papers; a letter is what it is there.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from dsgkit import SUDH
from dsgkit.engine.problem import stacked
from dsgkit.kernels import kernel_named
from dsgkit.papers.schema import papers
from dsgkit.risks.pairwise import SemiSupervisedAUC
from dsgkit.risks.similar import similar_share
from tests.estimators.similar.problems import double_hinge, oracle, risk

ROOT = Path(__file__).parents[2]
ERRATA = [(paper.key, erratum) for paper in papers() for erratum in paper.errata]


def test_what_shows_an_erratum_is_there():
    claims = {claim.id for paper in papers() for claim in paper.claims}
    studies = {path.stem for path in (ROOT / "results/reference/studies").glob("*.json")}
    assert {key for key, _ in ERRATA} == {paper.key for paper in papers()}
    for key, erratum in ERRATA:
        if (shown := erratum.shown_by) is None or shown in claims | studies:
            continue
        path, _, name = shown.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.M), (key, shown)


def coefficients(lam, theta, t):
    """Return a_t^1 .. a_t^t, with the step of iteration i in front: -eta_i prod (1 - eta_j lam)."""
    steps = theta / np.arange(1, t + 1)
    return np.array([-steps[i] * np.prod(1 - steps[i + 1 :] * lam) for i in range(t)])


@pytest.mark.parametrize("theta", [1.5, 2.0])
def test_updates_add_up_to_coefficients_with_the_step_of_their_own_iteration(theta):
    lam, gradients = 0.8, np.random.default_rng(0).normal(size=9)
    h, alphas = 0.0, np.zeros(9)
    for i, gradient in enumerate(gradients):
        step = theta / (i + 1)
        h -= step * (gradient + lam * h)
        alphas[:i] *= 1 - step * lam  # the current step, not that of block j
        alphas[i] = -step * gradient
    assert h == pytest.approx(coefficients(lam, theta, 9) @ gradients)
    np.testing.assert_allclose(alphas, coefficients(lam, theta, 9) * gradients)
    steps = theta / np.arange(1, 10)
    as_printed = coefficients(lam, theta, 9) * steps[-1] / steps
    assert h != pytest.approx(as_printed @ gradients, rel=0.1)


def test_the_derivative_of_the_squared_loss_is_not_bounded():
    for scale in (1, 10, 100):
        loss = stacked([SemiSupervisedAUC(0.5)], [np.array([1, 1])])
        values = [np.full((1, 1), value, np.float32) for value in (-scale, scale, 0)]
        assert max(np.abs(slope).max() for slope in loss.slopes(values, 1)) > scale


def test_the_distance_of_a_hyperplane_does_not_change_with_its_scale():
    w, rho = np.array([3.0, 4.0]), 10.0
    nearest = rho * w / (w @ w)  # the point of the plane w.x = rho that is nearest to the origin
    for scale in (1, 7):
        norm = np.linalg.norm(scale * w)
        assert np.linalg.norm(nearest) == pytest.approx(scale * rho / norm)
    assert np.linalg.norm(nearest) != pytest.approx(rho / norm**2)


def test_values_are_bounded_by_the_square_of_the_norm():
    """Eq. 17 for f = h and h - f* = c k(x, .), whose value at x is c and whose norm is c, too."""
    c, kappa = 10.0, 1.0
    assert c**2 <= 2 * kappa * c**2
    assert not c**2 <= 2 * kappa * c


def test_coefficients_are_at_most_theta_over_t_from_theta_lam_iterations_on():
    for theta_lam in range(1, 9):
        most = [np.abs(coefficients(1.0, theta_lam, t)).max() * t / theta_lam for t in range(1, 20)]
        assert max(most[theta_lam - 1 :]) == pytest.approx(1)
        assert (max(most) > 1.5) == (theta_lam > 3)


def test_squares_of_coefficients_vanish_but_not_their_absolute_values():
    for t in (10, 100, 1000):
        a = np.abs(coefficients(0.5, 3.0, t))
        assert t * np.sum(a**2) <= 3.0**2
        assert np.sum(a) == pytest.approx(2, rel=0.1)  # 1/lam


def test_a_kernel_that_grows_with_the_distance_is_not_positive_definite():
    rows = np.array([[0.0, 0.0], [1.0, 0.5]])
    K = kernel_named("gaussian").gram(rows, rows, 0.5)
    assert np.linalg.eigvalsh(K).min() > 0 > np.linalg.eigvalsh(1 / K).min()


def test_densities_of_similar_points_have_weights_that_add_up_to_1():
    for prior in (0.1, 0.7):
        of_pairs = np.array([prior, 1 - prior]) ** 2 / similar_share(prior)
        assert of_pairs.sum() == pytest.approx(1)
        as_printed = np.array([prior, 1 - prior]) / similar_share(prior)
        assert as_printed.sum() > 1.1


def test_the_middle_term_of_the_bound_does_not_fall_with_the_iterations():
    """Eq. 29, with all constants 1: summed over t, then divided by eta T."""
    theta = 0.5
    middle = []
    for T in (10, 1000, 100_000):
        eta = theta / np.sqrt(T)
        middle.append(sum(np.full(T, theta * eta)) / (eta * T))
    np.testing.assert_allclose(middle, theta)


def test_functions_grow_to_the_bound_of_gradients_over_lam():
    lam, h, eta, bound = 0.1, 0.0, 0.05, 1.0
    for _ in range(2000):
        h = (1 - eta * lam) * h - eta * -bound
    assert h == pytest.approx(bound / lam, rel=1e-3)  # the proof has: at most the bound


@pytest.mark.filterwarnings("ignore:prior .* is so close")
def test_what_the_cited_program_returns_does_not_minimise_the_risk_of_su_dh():
    z = oracle("sudh_linear_gauss_p07_lam1")
    prior, lam = float(z["prior"]), float(z["lam"])
    points, rows = (
        np.column_stack([X, np.ones(len(X))]) for X in (z["xs"].reshape(-1, 2), z["xu"])
    )
    own = z["coef_original"]
    found = risk(points @ own, rows @ own, prior, double_hinge) + lam / 2 * own @ own
    best = SUDH(lam, kernel="linear", prior=prior).fit(z["xs"], z["xu"]).objective_
    assert found > 6 * best > 0

"""CUU: its risk and gradient spelled out, the authors' trajectory, and the closed form."""

import itertools

import numpy as np
import pytest

from dsgkit.errors import FitError
from dsgkit.kernels import kernel_named
from dsgkit.objectives.similar_unlabeled import slopes_below
from dsgkit.solvers.similar.cuu import CUU
from dsgkit.trainers.basis import kernel_basis, kernel_curvature, linear_basis
from dsgkit.trainers.descent import Descent
from tests.solvers.similar.problems import ORACLES, minimiser, parts, squared, su_problem

LOSSES = {
    "squared": squared,
    "logistic": lambda z, t: np.log(1 + np.exp(-t * z)),
}
DELTAS = {
    "abs": abs,
    "relu": lambda r: max(r, 0.0),
    "leaky_relu": lambda r: r if r >= 0 else -0.3 * r,
    "none": lambda r: r,
}


def descent(prior=0.7, delta="abs", lam=0.0, eta=0.0, **kwargs):
    lam, eta, prior = (np.array([float(number)]) for number in (lam, eta, prior))
    return Descent(lam, eta, prior, slopes_below([delta], [-0.3]), **kwargs)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("loss", "prior"), [("squared", 0.7), ("logistic", 0.2)])
def test_the_risk_and_its_gradient_are_those_of_the_formula(delta, loss, prior):
    """At functions at which r1, r2, both and neither are below 0."""
    rng = np.random.default_rng(0)
    S, U = 0.5 * rng.normal(size=(30, 3)) + 1, 0.5 * rng.normal(size=(50, 3)) - 1
    centers = np.vstack([S[:4], U[:4]])
    basis = kernel_basis("laplacian", centers, 0.5)
    K_S, K_U = (kernel_named("laplacian").gram(X, centers, 0.5) for X in (S, U))
    model, seen = descent(prior, delta, loss=loss), set()

    def objective(w):
        r = parts(K_S @ w, K_U @ w, prior, LOSSES[loss])
        return r, sum(DELTAS[delta](part) for part in r)

    for w in (scale * rng.normal(size=8) for scale in np.geomspace(0.1, 10, 25)):
        r1, r2, gradient = model.risk(basis, S, U, w[:, None])
        expected, value = objective(w)
        np.testing.assert_allclose([r1[0], r2[0]], expected, atol=1e-9)
        assert model.corrected(r1, r2)[0] == pytest.approx(value, abs=1e-9)
        differences = [(objective(w + h)[1] - objective(w - h)[1]) / 2e-6 for h in 1e-6 * np.eye(8)]
        np.testing.assert_allclose(gradient[:, 0], differences, atol=1e-5 * abs(gradient).max())
        seen.add((r1[0] < 0, r2[0] < 0))
    assert len(seen) >= 3


def test_the_trajectory_of_the_linear_logistic_case_is_reproduced():
    """Full batches, a heavy ball, and a decay of the bias too."""
    with np.load(ORACLES / "cuu_abs_linear_gauss_p07.npz") as stored:
        z = dict(stored)
    S, U, X = (
        (z[name] - z["scale_min"]) / (z["scale_max"] - z["scale_min"])
        for name in ("u1", "u2", "xt")
    )
    model = descent(
        z["prior"], lam=z["weight_decay"], eta=z["lr"], loss="logistic", momentum=z["momentum"]
    )
    start = np.append(z["W0"], z["b0"])[:, None]
    steps = list(model.run(linear_basis(), itertools.repeat((S, U), int(z["T"])), start))
    losses = [model.corrected(step.r1, step.r2)[0] for step in steps]
    np.testing.assert_allclose(losses, z["losses"], atol=1e-5)
    w = steps[-1].W[:, 0]
    np.testing.assert_allclose(w, np.append(z["W"], z["b"]), rtol=1e-5)
    np.testing.assert_allclose(X @ w[:-1] + w[-1], z["ft"], atol=1e-4)


def test_full_batches_without_correction_converge_to_the_closed_form_on_the_basis():
    pairs, U, _ = su_problem()
    S = pairs.reshape(-1, 3)
    centers, prior, lam, sigma = np.vstack([U, S]), 0.85, 0.2, 2.0
    basis = kernel_basis("gaussian", centers, sigma)
    eta = 1 / (lam + kernel_curvature(U, "gaussian", centers, sigma) / 2)
    model = descent(prior, "none", lam=lam, eta=eta, momentum=0.9)
    *_, last = model.run(basis, itertools.repeat((S, U), 300), np.zeros((len(centers), 1)))

    def features(rows):
        return kernel_named("gaussian").gram(rows, centers, sigma)

    K_U = features(U)
    expected = K_U @ minimiser(features, S, U, lam, prior)
    np.testing.assert_allclose(K_U @ last.W[:, 0], expected, atol=1e-4 * abs(expected).max())


def test_a_function_that_is_observed_is_the_one_of_so_many_iterations():
    pairs, U, _ = su_problem()
    model = CUU(prior=0.85, batch_size=32, n_iterations=9, step="measured")
    seen = []
    model.fit_observed(pairs, U, at=[2, 9], observe=lambda *of: seen.append(of))
    assert [t for t, _, _ in seen] == [2, 9] and 0 < seen[0][1] < seen[1][1]
    for t, _, function in seen:
        expected = CUU(prior=0.85, batch_size=32, n_iterations=t).fit(pairs, U)
        got = function.decision_function(U)
        np.testing.assert_array_equal(got, expected.decision_function(U))
    assert model.n_iter_ == 9 and 0 <= model.corrected_ <= 1


def test_the_share_of_corrected_batches_is_counted_without_a_correction_too():
    pairs, U, _ = su_problem()
    small = {"prior": 0.85, "kernel": "linear", "n_iterations": 200}
    assert CUU(**small, batch_size=4, delta="none").fit(pairs, U).corrected_ > 0.1
    assert CUU(**small, batch_size=None, lam=10.0).fit(pairs, U).corrected_ == 0


def test_a_step_that_leaves_nothing_is_refused():
    pairs, U, _ = su_problem()
    with pytest.raises(FitError, match="theta is too large"):
        CUU(prior=0.85, lam=2.0, theta=5.0, step="paper", n_iterations=100).fit(pairs, U)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(3)"])
def test_kept_kernel_values_change_nothing_but_rounding(kernel, monkeypatch):
    pairs, U, _ = su_problem()
    model = CUU(sigma=0.5, prior=0.85, kernel=kernel, batch_size=32, n_iterations=20)
    kept = model.fit(pairs, U).decision_function(U)
    assert model._trainer()._keeps(2 * len(pairs), len(U), len(model.centers_))
    monkeypatch.setattr("dsgkit.trainers.on_basis.MAX_KEPT_BYTES", 0)
    computed = model.fit(pairs, U).decision_function(U)
    np.testing.assert_allclose(kept, computed, atol=1e-5 * abs(computed).max())


def test_powers_beyond_single_precision_are_not_kept():
    pairs, U, _ = su_problem()
    model = CUU(lam=1e-3, prior=0.85, kernel="dot_product(20)", sigma=1.0, n_iterations=5)
    values = model.fit(pairs * 1e2, U * 1e2).decision_function(U)
    assert np.isfinite(values).all()

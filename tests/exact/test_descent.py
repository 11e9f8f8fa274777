"""Descent on the similar-unlabelled risk: the authors' trajectory, and a loop on kernel values."""

import numpy as np
import pytest

from dsgkit.engine.problem import stacked
from dsgkit.exact import descent
from dsgkit.exact.descent import descend, kernel_basis, kernel_curvature
from dsgkit.exact.explicit import with_constant
from dsgkit.kernels import kernel_named
from dsgkit.risks.similar import SimilarUnlabeled
from tests.estimators.similar.problems import ORACLES, su_problem


def loss_of(prior, loss):
    return stacked([SimilarUnlabeled(prior, "abs", -0.3, loss)], [[1]])


def run(loss, basis, tables, W, lam, eta, momentum, batches):
    """Return the coefficients after every step."""
    seen, (lam, eta) = {}, np.array([[float(lam)], [float(eta)]])
    last = descend(loss, basis, tables, batches, W, lam, eta, momentum, seen.__setitem__)
    assert list(seen) == list(range(1, len(batches) + 1))
    np.testing.assert_array_equal(last, seen[len(batches)])
    return list(seen.values())


def test_the_trajectory_of_the_linear_logistic_case_is_reproduced():
    """Full batches, a heavy ball, and a decay of the bias too."""
    with np.load(ORACLES / "cuu_abs_linear_gauss_p07.npz") as stored:
        z = dict(stored)
    S, U, X = (
        (z[name] - z["scale_min"]) / (z["scale_max"] - z["scale_min"])
        for name in ("u1", "u2", "xt")
    )
    loss = loss_of(float(z["prior"]), "logistic")
    start = np.append(z["W0"], z["b0"])[:, None]
    settings = z["weight_decay"], z["lr"], float(z["momentum"]), [(None, None)] * int(z["T"])
    steps = run(loss, with_constant, [S, U], start, *settings)
    before = [start, *steps[:-1]]
    losses = [loss.value([with_constant(X) @ W for X in (S, U)])[0] for W in before]
    np.testing.assert_allclose(losses, z["losses"], atol=1e-5)
    w = steps[-1][:, 0]
    np.testing.assert_allclose(w, np.append(z["W"], z["b"]), rtol=1e-5)
    np.testing.assert_allclose(X @ w[:-1] + w[-1], z["ft"], atol=1e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(3)"])
@pytest.mark.parametrize("batch", [7, None])
def test_batches_are_those_of_a_loop_whatever_is_kept(kernel, batch, monkeypatch):
    """Values of all rows, of a batch, or of a block."""
    pairs, U, _ = su_problem()
    S = pairs.reshape(-1, 3)
    centers, rng = np.vstack([U, S])[::5], np.random.default_rng(0)
    draws = [tuple(rng.choice(n, batch) if batch else None for n in (300, 60)) for _ in range(6)]
    K_S, K_U = (kernel_named(kernel).gram(X, centers, 0.5) for X in (S, U))
    loss, w, v = loss_of(0.85, "squared"), np.zeros(len(centers)), 0.0
    for t, (s, u) in enumerate(draws, 1):
        Phi_s, Phi_u = (K if at is None else K[at] for K, at in ((K_S, s), (K_U, u)))
        c_s, c_u = loss.slopes([(Phi @ w)[:, None] for Phi in (Phi_s, Phi_u)], t)
        v = 0.9 * v + Phi_s.T @ c_s[:, 0] + Phi_u.T @ c_u[:, 0] + 0.1 * w
        w = w - 0.05 * v
    monkeypatch.setattr(descent, "BLOCK_ENTRIES", 3 * len(centers))
    for most in (2**28, 4 * 20 * len(centers), 0):
        monkeypatch.setattr(descent, "MAX_KEPT_BYTES", most)
        basis, start = kernel_basis(kernel, centers, 0.5), np.zeros((len(centers), 1))
        loss = loss_of(0.85, "squared")
        last = run(loss, basis, [S, U], start, 0.1, 0.05, 0.9, draws)[-1]
        np.testing.assert_allclose(K_U @ last[:, 0], K_U @ w, atol=1e-5 * abs(K_U @ w).max())


NEAR = [("gaussian", 0.01, 1e-6), ("gaussian", 30.0, 1e-5), ("gaussian", 1e3, 1e-4)]
NEAR += [("laplacian", 1.0, 1e-6), ("dot_product(5)", 0.5, 1e-12)]


@pytest.mark.parametrize(("kernel", "sigma", "within"), NEAR)
def test_the_basis_has_the_kernels_values(kernel, sigma, within):
    rng = np.random.default_rng(0)
    centers, X = rng.random((70, 5)) + 1e3, rng.random((30, 5)) + 1e3
    X[:10] = centers[:10]
    got = kernel_basis(kernel, centers, sigma)(X)
    exact = kernel_named(kernel).gram(X, centers, sigma)
    np.testing.assert_allclose(got, exact, rtol=0, atol=within * abs(exact).max())
    K = kernel_named(kernel).gram(centers, X, sigma)
    largest = np.linalg.eigvalsh(K.T @ K / len(X))[-1]
    assert kernel_curvature(kernel, centers, sigma, X) == pytest.approx(largest, rel=1e-6)

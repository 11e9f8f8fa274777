"""Descent on the similar-unlabelled risk: gradient, authors' trajectory, closed form."""

import numpy as np
import pytest

from dsgkit.engine.problem import stacked
from dsgkit.exact import descent
from dsgkit.exact.descent import descend, kernel_basis, kernel_curvature
from dsgkit.exact.explicit import with_constant
from dsgkit.kernels import kernel_named
from dsgkit.risks.similar import SimilarUnlabeled
from tests.estimators.similar.problems import ORACLES, parts, squared, su_problem

LOSSES = {"squared": squared, "logistic": lambda z, t: np.log(1 + np.exp(-t * z))}
DELTAS = {
    "abs": abs,
    "relu": lambda r: max(r, 0.0),
    "leaky_relu": lambda r: r if r >= 0 else -0.3 * r,
    "none": lambda r: r,
}


def loss_of(prior=0.7, delta="abs", loss="squared"):
    return stacked([SimilarUnlabeled(prior, delta, -0.3, loss)], [[1]])


def run(loss, basis, tables, n, W, lam=0.0, eta=0.1, momentum=0.0, batches=None):
    """Return the coefficients after every step."""
    seen = []
    lam, eta = np.array([float(lam)]), np.array([float(eta)])
    batches = batches or [(None, None)] * n
    last = descend(
        loss, basis, tables, batches, W, lam, eta, momentum, lambda t, W: seen.append((t, W))
    )
    assert [t for t, _ in seen] == list(range(1, n + 1))
    np.testing.assert_array_equal(last, seen[-1][1])
    return [W for _, W in seen]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("loss", "prior"), [("squared", 0.7), ("logistic", 0.2)])
def test_a_step_follows_the_gradient_of_the_formula(delta, loss, prior):
    """At functions at which r1, r2, both and neither are below 0."""
    rng = np.random.default_rng(0)
    S, U = 0.5 * rng.normal(size=(30, 3)) + 1, 0.5 * rng.normal(size=(50, 3)) - 1
    centers, seen = np.vstack([S[:4], U[:4]]), set()
    K_S, K_U = (kernel_named("laplacian").gram(X, centers, 0.5) for X in (S, U))
    basis = kernel_basis("laplacian", centers, 0.5)

    def objective(w):
        r = parts(K_S @ w, K_U @ w, prior, LOSSES[loss])
        return r, sum(DELTAS[delta](part) for part in r)

    for w in (scale * rng.normal(size=8) for scale in np.geomspace(0.1, 10, 25)):
        (r1, r2), value = objective(w)
        known = loss_of(prior, delta, loss)
        assert known.value([(K @ w)[:, None] for K in (K_S, K_U)])[0] == pytest.approx(value)
        (moved,) = run(known, basis, [S, U], 1, w[:, None], lam=0.2, eta=1.0)
        differences = [(objective(w + h)[1] - objective(w - h)[1]) / 2e-6 for h in 1e-6 * np.eye(8)]
        expected = np.array(differences) + 0.2 * w
        np.testing.assert_allclose(w - moved[:, 0], expected, atol=1e-4 * abs(expected).max())
        assert known.negative[0] == (r1 < 0 or r2 < 0)
        seen.add((r1 < 0, r2 < 0))
    assert len(seen) >= 3


def test_the_trajectory_of_the_linear_logistic_case_is_reproduced():
    """Full batches, a heavy ball, and a decay of the bias too."""
    with np.load(ORACLES / "cuu_abs_linear_gauss_p07.npz") as stored:
        z = dict(stored)
    S, U, X = (
        (z[name] - z["scale_min"]) / (z["scale_max"] - z["scale_min"])
        for name in ("u1", "u2", "xt")
    )
    loss = loss_of(float(z["prior"]), "abs", "logistic")
    start = np.append(z["W0"], z["b0"])[:, None]
    n, settings = int(z["T"]), {"lam": z["weight_decay"], "eta": z["lr"]}
    steps = run(loss, with_constant, [S, U], n, start, momentum=float(z["momentum"]), **settings)
    before = [start, *steps[:-1]]
    losses = [loss.value([with_constant(X) @ W for X in (S, U)])[0] for W in before]
    np.testing.assert_allclose(losses, z["losses"], atol=1e-5)
    w = steps[-1][:, 0]
    np.testing.assert_allclose(w, np.append(z["W"], z["b"]), rtol=1e-5)
    np.testing.assert_allclose(X @ w[:-1] + w[-1], z["ft"], atol=1e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(3)"])
@pytest.mark.parametrize("batch", [7, None])
def test_what_is_kept_changes_nothing_but_rounding(kernel, batch, monkeypatch):
    """Values of all rows, of a batch, or of a block."""
    pairs, U, _ = su_problem()
    S = pairs.reshape(-1, 3)
    centers, rng = np.vstack([U, S])[::5], np.random.default_rng(0)
    draws = [tuple(rng.choice(n, batch) if batch else None for n in (300, 60)) for _ in range(6)]
    W, values = np.zeros((len(centers), 1)), []
    monkeypatch.setattr(descent, "BLOCK_ENTRIES", 3 * len(centers))
    for most in (2**28, 4 * 20 * len(centers), 0):
        monkeypatch.setattr(descent, "MAX_KEPT_BYTES", most)
        basis = kernel_basis(kernel, centers, 0.5)
        last = run(loss_of(0.85), basis, [S, U], 6, W, eta=0.05, batches=draws)[-1]
        values.append(kernel_named(kernel).gram(U, centers, 0.5) @ last)
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-5 * abs(values[0]).max())


@pytest.mark.parametrize(
    ("kernel", "sigma", "within"),
    [
        *(("gaussian", 0.01, 1e-6), ("gaussian", 30.0, 1e-5), ("gaussian", 1e3, 1e-4)),
        *(("laplacian", 1.0, 1e-6), ("dot_product(5)", 0.5, 1e-12)),
    ],
)
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

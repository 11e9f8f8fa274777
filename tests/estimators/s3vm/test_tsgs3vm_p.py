"""TSGS3VM-P against independent solvers of its objective, a written-out loop and single fits."""

import numpy as np
import pytest
from scipy import optimize

from dsgkit import TSGS3VMP
from tests.engine import reference
from tests.estimators.brute_force import problem

SMALL = {"C": 20.0, "sigma": 2.0, "C_star_ratio": 0.5, "n_features": 8, "n_blocks": 3}


def small(**params):
    return TSGS3VMP(**{**SMALL, **params})


def features(model, rows):
    """All blocks together, as features of the kernel."""
    features = model.function_.blocks
    blocks = [features.transform(rows, t).astype(float) for t in range(model.n_blocks)]
    return np.hstack(blocks) / np.sqrt(model.n_blocks)


def rounded_hinge(z):
    """The hinge, between margins 3/4 and 5/4 the parabola (5/4 - z)^2."""
    parabola = (1.25 - z) ** 2
    return np.where(abs(1 - z) < 0.25, parabola, np.maximum(0, 1 - z))


@pytest.mark.parametrize("C", [5.0, 50.0])
def test_without_unlabelled_loss_sweeps_converge_to_the_machine_of_the_rounded_hinge(C):
    X, y, U = problem(n_labeled=40)
    model = small(C=C, C_star_ratio=0.0, n_sweeps=150).fit(X, y, U)
    Phi = features(model, X)

    def rounded(w):
        z = y * (Phi @ w)
        slope = np.where(abs(1 - z) < 0.25, -2 * (1.25 - z), -1.0 * (z < 1))
        value = w @ w / 2 + C * rounded_hinge(z).mean()
        return value, w + C * Phi.T @ (slope * y) / len(y)

    best = optimize.minimize(
        rounded, np.zeros(Phi.shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 10**5, "ftol": 1e-14, "gtol": 1e-8},
    )  # fmt: skip
    alpha = model.function_.coef[:, :, 0] / model.function_.blocks.scale
    w = alpha.astype(float).ravel() * np.sqrt(model.n_blocks)
    assert rounded(w)[0] == pytest.approx(best.fun, rel=1e-3)


def written_out(model, X, y, U):
    """Values at U of training batch by batch."""
    n_steps = model.n_blocks * model.n_sweeps

    def bound(step, f):
        n_u = len(f) - len(y)
        share = min(1.0, (2 * (step + 1) / n_steps) ** 3) if model.anneal else 1.0
        scale = np.repeat([1 / len(y), share * model.C_star_ratio / n_u], [len(y), n_u])
        sign = np.append(y, np.sign(f[len(y) :]))
        u = 1 - sign * f
        w = model.C * scale / (2 * np.maximum(abs(u), 0.25))
        return -sign * w * (np.maximum(abs(u), 0.25) + u), np.diag(w)

    size = {"T": model.n_blocks, "n_sweeps": model.n_sweeps, "b": model.batch_size}
    draws = {"seed": model.random_state, "source": 2}
    blocks = model.function_.blocks
    alpha = reference.swept(blocks, X, U, lam=1.0, bound=bound, **size, **draws)
    return reference.of_blocks(blocks, alpha, U)


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("batch_size", [12, 200])
def test_fits_equal_the_written_out_loop(batch_size, anneal):
    X, y, U = problem(n_unlabeled=60)
    model = small(batch_size=batch_size, anneal=anneal, n_sweeps=3).fit(X, y, U)
    expected = written_out(model, X, y, U)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 * abs(expected).max())

"""TSGS3VM-P against independent solvers of its objective, a written-out loop and single fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn.svm import LinearSVC

from dsgkit import TSGS3VMP
from dsgkit.objectives.majorised_s3vm import KINK_ROUNDING
from dsgkit.random.draws import draw_in_passes
from dsgkit.text.errors import FitError
from tests.solvers.brute_force import problem

SMALL = {"C": 20.0, "sigma": 2.0, "C_star_ratio": 0.5, "n_features": 8, "n_blocks": 3}


def small(**params):
    return TSGS3VMP(**{**SMALL, **params})


def features(model, rows):
    """All blocks together, as features of the kernel."""
    features = model._random_features().blocks()
    blocks = [features.transform(rows, t).astype(float) for t in range(model.n_blocks)]
    return np.hstack(blocks) / np.sqrt(model.n_blocks)


def weights_of(model):
    """Return the coefficients of these features."""
    alpha = model.model_.coefficients[:, :, 0] / model._random_features().blocks().scale
    return alpha.astype(float).ravel() * np.sqrt(model.n_blocks)


def rounded_hinge(z):
    """The hinge, between margins 3/4 and 5/4 the parabola (5/4 - z)^2."""
    parabola = (1.25 - z) ** 2
    return np.where(abs(1 - z) < 0.25, parabola, np.maximum(0, 1 - z))


def objective(model, loss, X, y, U=None):
    """Return the objective of a fitted model with full batches."""
    w = weights_of(model)
    value = w @ w / 2 + model.C * loss(y * (features(model, X) @ w)).mean()
    if U is None:
        return value
    return value + model.C * model.C_star_ratio * loss(abs(features(model, U) @ w)).mean()


@pytest.mark.parametrize("C", [5.0, 50.0])
def test_without_unlabelled_loss_sweeps_converge_to_the_svm_on_the_same_features(C):
    """To that of the rounded hinge by L-BFGS; to liblinear's by what the rounding allows."""
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
    assert objective(model, rounded_hinge, X, y) == pytest.approx(best.fun, rel=1e-3)
    machine = LinearSVC(
        loss="hinge", C=C / len(y), fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(Phi, y)
    w = machine.coef_[0]
    exact = w @ w / 2 + C * np.maximum(0, 1 - y * (Phi @ w)).mean()
    own = objective(model, lambda z: np.maximum(0, 1 - z), X, y)
    assert exact * (1 - 1e-6) <= own <= exact + C * KINK_ROUNDING / 4
    assert own == pytest.approx(exact, rel=0.01)


def written_out(model, X, y, U):
    """Values at U: one batch at a time, all blocks every time, in double precision."""
    T, b, n_steps = model.n_blocks, model.batch_size, model.n_blocks * model.n_sweeps
    blocks = model._random_features().blocks()
    of_X, of_U = ([blocks.transform(rows, t).astype(float) for t in range(T)] for rows in (X, U))
    alpha = np.zeros((T, blocks.width))
    for step in range(n_steps):
        s, t = divmod(step, T)
        drawn, rho = np.arange(len(U)), 1.0
        if b < len(U):
            drawn, rho = draw_in_passes(model.random_state, 2, step, 1, b, len(U))[0], 1 / (s + 1)
        share = min(1.0, (2 * (step + 1) / n_steps) ** 3) if model.anneal else 1.0
        f = sum(of_X[j] @ alpha[j] for j in range(T))
        g = sum(of_U[j][drawn] @ alpha[j] for j in range(T))
        sign = np.concatenate([y, np.sign(g)])
        scale = np.concatenate(
            [
                np.full(len(y), model.C / len(y)),
                np.full(len(g), share * model.C * model.C_star_ratio / len(g)),
            ]
        )
        Phi, u = np.vstack([of_X[t], of_U[t][drawn]]), 1 - sign * np.concatenate([f, g])
        w = scale / (2 * np.maximum(abs(u), 0.25))
        c = -sign * w * (np.maximum(abs(u), 0.25) + u)
        H = Phi.T @ (w[:, None] * Phi) + T * np.eye(blocks.width)
        alpha[t] -= rho * np.linalg.solve(H, Phi.T @ c + T * alpha[t])
    return sum(of_U[j] @ alpha[j] for j in range(T))


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("batch_size", [12, 200])
def test_fits_equal_the_written_out_loop(batch_size, anneal):
    X, y, U = problem(n_unlabeled=60)
    model = small(batch_size=batch_size, anneal=anneal, n_sweeps=3).fit(X, y, U)
    expected = written_out(model, X, y, U)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 * abs(expected).max())


def test_what_cannot_be_solved_is_said():
    X, y, U = problem()
    with pytest.raises(FitError, match=r"with C=1e\+300 a block is singular.* lower C"):
        small(C=1e300).fit(X, y, U)
    models = small().fit_points([{"C": 1e300}, {}], X=X, y=y, X_unlabeled=U)
    finite = np.isfinite(models.decision_function(U)).all(axis=0)
    assert finite.tolist() == [False, True]

"""QS3ORAO against its authors' loop."""

import numpy as np
import pytest

from dsgkit import QS3ORAO
from dsgkit.random import draw_in_passes, draw_with_replacement
from tests.engine.reference import decreasing, features, predict
from tests.estimators.ordinal.brute_force import ordinal_problem

SIZES = {"batch_size": 8, "n_features": 4, "n_iterations": 20, "random_state": 3}


def author_loop(X, codes, XU, n_classes, *, lam, sigma, gamma, theta_lam, t0):
    """Algorithm 1 for one function, every pair of classes of every cut; the coefficient vectors."""
    b, m, seed = (SIZES[n] for n in ("batch_size", "n_features", "random_state"))
    n = np.bincount(codes)
    step, alphas = decreasing(lam, theta_lam, t0), []
    for t in range(SIZES["n_iterations"]):
        rows = {"u": XU[draw_in_passes(seed, n_classes, t, 1, b, len(XU))[0]]}
        for source, c in enumerate(reversed(range(n_classes))):
            rows[c] = X[codes == c][draw_with_replacement(seed, source, t, 1, b, n[c])[0]]
        f = {name: predict(x, alphas, seed, m, sigma) for name, x in rows.items()}
        c = {name: np.zeros(b) for name in rows}
        for j, g in enumerate(gamma, start=1):
            for p in range(j, n_classes):
                for q in range(j):
                    w = n[p] / n[j:].sum() * n[q] / n[:j].sum() / len(gamma)
                    l1 = -2 * (1 - f[p] + f[q])
                    l3 = -2 * (1 - f[p] + f["u"])
                    l5 = -2 * (1 - f["u"] + f[q])
                    c[p] += w * (g * l1 + (1 - g) * l3)
                    c[q] += w * (g * -l1 + (1 - g) * -l5)
                    c["u"] += w * (1 - g) * (-l3 + l5)
        gradient = sum(features(rows[s], seed, t, m, sigma).T @ c[s] / b for s in rows)
        eta, decay = step(t + 1)
        alphas = [decay * alpha for alpha in alphas] + [-eta * gradient]
    return alphas


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize(
    ("gamma", "theta_lam", "t0"), [(0.5, 1.5, 9.0), ((0.2, 1.0, 0.0), 2.0, 0.0)]
)
def test_it_is_the_loop_that_the_authors_write(gamma, theta_lam, t0, n_unlabeled):
    X, y, U = ordinal_problem(40, n_unlabeled)
    setting = {"lam": 0.25, "sigma": 0.8, "theta_lam": theta_lam, "t0": t0}
    model = QS3ORAO(**setting, gamma=gamma, **SIZES).fit_function(X, y, U)
    alphas = author_loop(X, y - 1, U, 4, gamma=np.broadcast_to(gamma, 3), **setting)
    expected = predict(X, alphas, SIZES["random_state"], SIZES["n_features"], 0.8)
    assert np.abs(model.score_samples(X) - expected).max() < 1e-4 * np.abs(expected).max()


def test_the_cuts_of_the_objective_are_counted():
    X, y, U = ordinal_problem(40, 30)
    model = QS3ORAO(sigma=0.3, t0=9.0, **SIZES).fit(X, y, U)
    assert model.n_cuts_ == 3 and model.n_iter_ == 20
    assert model.fit(X[y > 1], y[y > 1], U).n_cuts_ == 2

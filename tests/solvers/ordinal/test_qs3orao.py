"""QS3ORAO against its authors' loop, its exact minimiser, and the binary method."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.random.draws import draw_in_passes, draw_with_replacement
from dsgkit.solvers.ordinal.qs3orao import QS3ORAO
from dsgkit.text.errors import DivergedError
from tests.engine.reference import decreasing, features, predict
from tests.solvers.brute_force import folds_of

SIZES = {"batch_size": 8, "n_features": 4, "n_iterations": 20, "random_state": 3, "t0": 9.0}


def small(**params):
    return QS3ORAO(**{"sigma": 0.3, **SIZES, **params})


def problem(n_labeled=40, n_unlabeled=30, n_classes=4, n_inputs=3, seed=0):
    """Return X, classes 0..k-1 of unequal sizes, X_unlabeled in float32."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, n_inputs), dtype=np.float32)
    score = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n_labeled)
    shares = np.arange(1, n_classes).cumsum() / np.arange(1, n_classes + 1).sum()
    y = np.searchsorted(np.quantile(score, shares), score)
    return X, y, rng.random((n_unlabeled, n_inputs), dtype=np.float32)


def author_loop(X, codes, XU, n_classes, *, lam, sigma, gamma, theta_lam, t0):
    """Algorithm 1 for one function, every pair of classes of every cut; the coefficient vectors."""
    T, b, m, seed = (SIZES[n] for n in ("n_iterations", "batch_size", "n_features", "random_state"))
    n = np.bincount(codes, minlength=n_classes)
    cuts = [j for j in range(1, n_classes) if n[:j].any() and n[j:].any()]
    step, alphas = decreasing(lam, theta_lam, t0), []
    for t in range(T):
        rows = {"u": XU[draw_in_passes(seed, n_classes, t, 1, b, len(XU))[0]]}
        for source, c in enumerate(reversed(range(n_classes))):
            if n[c]:
                rows[c] = X[codes == c][draw_with_replacement(seed, source, t, 1, b, n[c])[0]]
        f = {name: predict(x, alphas, seed, m, sigma) for name, x in rows.items()}
        c = {name: np.zeros(b) for name in rows}
        for j in cuts:
            g = gamma[j - 1]
            for p in (c_ for c_ in range(j, n_classes) if n[c_]):
                for q in (c_ for c_ in range(j) if n[c_]):
                    w = n[p] / n[j:].sum() * n[q] / n[:j].sum() / len(cuts)
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


def expected_values(X, y, U, n_classes, at, setting):
    gamma = np.broadcast_to(setting["gamma"], n_classes - 1)
    alphas = author_loop(X, y, U, n_classes, **{**setting, "gamma": gamma})
    return predict(at, alphas, SIZES["random_state"], SIZES["n_features"], setting["sigma"])


def assert_close(values, expected, tolerance=1e-4):
    assert np.abs(values - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize(
    ("gamma", "theta_lam", "t0"), [(0.5, 1.5, 9.0), ((0.2, 1.0, 0.0), 2.0, 0.0)]
)
def test_it_is_the_loop_that_the_authors_write(gamma, theta_lam, t0, n_unlabeled):
    X, y, U = problem(n_unlabeled=n_unlabeled)
    setting = {"lam": 0.25, "sigma": 0.8, "gamma": gamma, "theta_lam": theta_lam, "t0": t0}
    values = small(**setting).fit_function(X, y, U).decision_function(X)
    assert_close(values, expected_values(X, y, U, 4, X, setting))


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_a_fold_may_hold_all_rows_of_a_class(missing):
    X, y, U = problem()
    fold = np.union1d(np.flatnonzero(y == missing), np.arange(5))
    rest = np.setdiff1d(np.arange(len(y)), fold)
    setting = {"lam": 0.25, "sigma": 0.8, "gamma": (0.2, 1.0, 0.4), "theta_lam": 1.5}
    points = [{"t0": t0} for t0 in (0.0, 9.0)]
    solver = small(**setting)
    values = solver.fit_points(points, folds=[fold], X=X, y=y, X_unlabeled=U)[:, fold]
    for got, point in zip(values, points, strict=True):
        assert_close(got, expected_values(X[rest], y[rest], U, 4, X[fold], {**setting, **point}))


def test_the_cuts_of_the_objective_are_counted():
    X, y, U = problem()
    model = small().fit(X, y, U)
    assert model.n_cuts_ == 3 and model.n_iter_ == 20
    model._fit(X[y > 0], y[y > 0], U)  # as in a fold without the lowest class
    assert model.n_cuts_ == 2


def test_a_model_that_diverges_has_no_values_and_others_have():
    X, y, U = problem()
    with pytest.raises(DivergedError, match="t0='stable'"):
        small(lam=1e-9, t0=0.0).fit(X, y, U)
    values = small(t0=0.0).fit_points(
        [{"lam": 1e-9}, {"lam": 1.0}], folds=folds_of(40, 2), X=X, y=y, X_unlabeled=U
    )
    assert np.isnan(values[0]).all() and np.isfinite(values[1]).all()

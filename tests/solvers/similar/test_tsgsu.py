"""TSGSU against the authors' loop, against single fits, and against the closed form."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dsgkit.engine import Problem, sizes
from dsgkit.kernels import kernel_named
from dsgkit.random.draws import draw_in_passes
from dsgkit.solvers.similar.tsgsu import TSGSU
from dsgkit.text.errors import DataError, DivergedError
from dsgkit.trainers.curvature import largest_eigenvalue
from tests.features.test_sketch import textbook
from tests.solvers.similar.problems import su_problem

SMALL = {
    "prior": 0.85,
    "sigma": 1.0,
    "lam": 0.05,
    "batch_size": 20,
    "n_features": 16,
    "n_iterations": 15,
}
KERNELS = ["gaussian", "laplacian", "matern(0.5)", "matern(1.5)", "matern(2.5)", "dot_product(3)"]
DELTAS = {"abs": -1.0, "relu": 0.0, "leaky_relu": -0.25, "none": 1.0}
"""Slopes below 0, with leak -1/4."""


def small(**params):
    return TSGSU(**{**SMALL, **params})


@pytest.fixture
def data():
    return su_problem(n_similar=140, n_unlabeled=120)[:2]


def phi(blocks, X, t):
    """Features of a block, in float64."""
    if blocks.entries()["kernel"].startswith("dot"):
        return textbook(blocks, X, t)
    Z = X.astype(float) @ blocks.frequencies(t, 1, X.shape[1])[0].astype(float)
    return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(Z.shape[1])


def authors_loop(model, pairs, U, X):
    """Values at X of the functions after every iteration, and the batches with r1 or r2 < 0.

    Algorithm 1, one row and one block at a time.
    """
    m, S = model, pairs.reshape(-1, pairs.shape[2])
    blocks, pi, below = m._random_features().blocks(), m.prior_, DELTAS[m.delta]
    K = kernel_named(m.kernel).gram(U, U, m.sigma)
    eta = m.theta / (m.lam + np.linalg.eigvalsh(K)[-1] / len(U) / 2)
    if m.step == "paper":
        eta = m.theta / np.sqrt(m.n_iterations)
    pi_s, scale = pi**2 + (1 - pi) ** 2, 2 * pi - 1
    b, alphas, history, negative = m.batch_size, [], [], 0
    of_S, of_U, of_X = (
        [phi(blocks, table.astype(np.float32), t) for t in range(m.n_iterations)]
        for table in (S, U, X)
    )
    for t in range(m.n_iterations):
        rows = [
            draw_in_passes(m.random_state, k, t, 1, b, len(table))[0]
            for k, table in enumerate((S, U))
        ]
        f_s, f_u = (
            sum((Phi[j][r] @ a for j, a in enumerate(alphas)), np.zeros(b))
            for Phi, r in zip((of_S, of_U), rows, strict=True)
        )
        r1 = r2 = 0.0
        for i in range(b):
            r1 += (pi_s * (f_s[i] - 1) ** 2 - (1 - pi) * (f_u[i] - 1) ** 2) / 4 / b / scale
            r2 += (pi * (f_u[i] + 1) ** 2 - pi_s * (f_s[i] + 1) ** 2) / 4 / b / scale
        d1, d2 = (below if r < 0 else 1.0 for r in (r1, r2))
        negative += r1 < 0 or r2 < 0
        gradient, features = 0.0, (of_S[t][rows[0]], of_U[t][rows[1]])
        for i in range(b):
            c_s = pi_s * (d1 * (f_s[i] - 1) - d2 * (f_s[i] + 1)) / 2 / b / scale
            c_u = (d2 * pi * (f_u[i] + 1) - d1 * (1 - pi) * (f_u[i] - 1)) / 2 / b / scale
            gradient = gradient + c_s * features[0][i] + c_u * features[1][i]
        now = eta * (1 - t / m.n_iterations) if m.tail == "decay" else eta
        alphas = [(1 - now * m.lam) * a for a in alphas] + [-now * gradient]
        history.append(sum(of_X[j] @ a for j, a in enumerate(alphas)))
    return np.array(history), negative


def agree(got, expected, tolerance=1e-4):
    return np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("delta", DELTAS)
def test_fits_equal_the_authors_loop(kernel, delta, data, monkeypatch):
    """With rows kept and with rows streamed; steps so long that parts of the risk go below 0."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 4 * 20)
    pairs, U = data
    model = small(kernel=kernel, delta=delta, leak=-0.25, lam=1e-3, theta=1.9, tail="last")
    expected = None
    for resident in (True, False):
        monkeypatch.setattr(Problem, "resident", lambda self, table, kept=resident: kept)
        model.fit(*data)
        if expected is None:
            expected, negative = authors_loop(model, pairs, U, U[:30])
        assert agree(model.decision_function(U[:30]), expected[-1])
        assert model.corrected_ == negative / 15 > 0
        assert model.n_iter_ == 15


@pytest.mark.parametrize("tail", ["last", "average", "decay"])
@pytest.mark.parametrize("step", ["measured", "paper"])
def test_steps_and_tails_are_those_of_the_loop(step, tail, data):
    pairs, U = data
    model = small(step=step, tail=tail, theta=0.7).fit(*data)
    history, _ = authors_loop(model, pairs, U, U[:30])
    expected = history[7:].mean(axis=0) if tail == "average" else history[-1]
    assert agree(model.decision_function(U[:30]), expected)


FOLDS = [(np.arange(0, 140, 2), np.arange(30)), (np.arange(1, 60, 2), np.arange(40, 120))]


@pytest.mark.parametrize("tail", ["last", "average"])
def test_observing_does_not_change_the_fit(tail, data):
    pairs, U = data
    alone = small(tail=tail).fit(*data)
    seen = []

    def observe(t, seconds, function):
        time.sleep(0.2)
        seen.append((t, seconds, function))

    model = small(tail=tail).fit_observed(*data, at=[1, 6, 15], observe=observe)
    np.testing.assert_array_equal(model.model_.coefficients, alone.model_.coefficients)
    assert model.corrected_ == alone.corrected_
    model.fit(pairs[:50], U[:50])
    history, _ = authors_loop(alone, pairs, U, U)
    assert [t for t, _, _ in seen] == [1, 6, 15]
    for t, _, function in seen:
        expected = history[t // 2 : t].mean(axis=0) if tail == "average" else history[t - 1]
        values = function.decision_function(U)
        assert values.shape == (120,) and values.dtype == np.float64
        assert agree(values, expected)
    seconds = [s for _, s, _ in seen]
    assert 0 < seconds[0] < seconds[1] < seconds[2] < 0.4
    with pytest.raises(DataError, match="X has 2 features"):
        seen[0][2].decision_function(U[:, :2])
    with pytest.raises(ValueError, match="must ascend"):
        small().fit_observed(*data, at=[16], observe=observe)


def test_the_step_is_measured_on_at_most_800_rows():
    U = np.random.default_rng(0).normal(size=(2000, 2))
    sample = U[np.arange(800) * 2000 // 800]
    K = kernel_named("laplacian").gram(sample, sample, 0.5)
    expected = np.linalg.eigvalsh(K / 800)[-1]
    assert largest_eigenvalue(U, 0.5, "laplacian") == pytest.approx(expected)


def images(n, seed):
    """Rows of 784 pixels in [0, 1] whose mean squared norm is about 89, as that of digits is."""
    rng = np.random.default_rng(seed)
    ink = rng.random((n, 784)) < 0.19
    return np.where(ink, rng.uniform(0.35, 1, (n, 784)), 0) * np.sqrt(89 / 73)


def test_a_factor_in_a_dot_product_is_one_in_lam_and_step():
    """On raw images L goes from 3e9 to 3e-6: the measured step follows."""
    pairs, U = images(80, 0).reshape(40, 2, 784), images(50, 1)
    values = [
        small(kernel="dot_product(5)", sigma=sigma, lam=lam, tail=tail)
        .fit(pairs, U)
        .decision_function(U)
        for tail in ("last", "average")
        for sigma, lam in ((1.0, 1e8), (0.1, 1e3), (0.001, 1e-7))
    ]
    for first, *others in (values[:3], values[3:]):
        assert np.isfinite(first).all()
        assert all(agree(other, first, 1e-3) for other in others)


def test_a_step_beyond_the_regulariser_is_refused_and_has_no_values_in_a_grid(data):
    pairs, U = data
    far = {"step": "paper", "theta": 4.0, "lam": 1.0}  # 4/sqrt(15) > 1
    with pytest.raises(DataError, match=r"theta=4 makes a step of 1/lam or more with lam=1"):
        small(**far).fit(*data)
    points = [{"theta": 4.0, "lam": 1.0}, {"theta": 0.5, "lam": 1.0}]
    model = small(step="paper")
    values = model.fit_points(points, folds=FOLDS, X_similar=pairs, X_unlabeled=U)
    alone = model.fit_points(points[1:], folds=FOLDS, X_similar=pairs, X_unlabeled=U)
    for found, expected in zip(values, alone, strict=True):
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(found[1], expected[0], rtol=1e-4, atol=1e-6)
    both = model.fit_points(points, X_similar=pairs, X_unlabeled=U).decision_function(U)
    assert np.isnan(both[:, 0]).all() and np.isfinite(both[:, 1]).all()


def test_divergence_is_an_error_and_has_no_values_in_a_grid(data):
    pairs, U = data
    far = {"step": "paper", "theta": 3e4, "lam": 1e-6, "delta": "none"}
    with pytest.raises(DivergedError, match="lower theta, or set step='measured'"):
        small(**far, n_iterations=60).fit(*data)
    points = [{"theta": 3e4, "lam": 1e-6}, {"lam": 0.5}]
    model = small(step="paper", delta="none", n_iterations=60)
    similar, unlabeled = model.fit_points(points, folds=FOLDS, X_similar=pairs, X_unlabeled=U)
    assert np.isnan(similar[0]).all() and np.isnan(unlabeled[0]).all()
    assert np.isfinite(similar[1][FOLDS[0][0]]).all()

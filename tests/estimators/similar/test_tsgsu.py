"""TSGSU against the authors' loop."""

import numpy as np
import pytest

from dsgkit import TSGSU
from dsgkit.engine import sizes, streaming
from dsgkit.engine.curvature import unlabeled_curvatures
from dsgkit.engine.problem import Problem
from dsgkit.errors import DataError
from dsgkit.kernels import kernel_named
from dsgkit.random import draw_in_passes
from tests.estimators.similar.problems import SLOPES, su_problem
from tests.features.test_blocks import textbook

SMALL = {"prior": 0.85, "sigma": 1.0, "lam": 0.05}
SMALL |= {"batch_size": 20, "n_features": 16, "n_iterations": 15}
KERNELS = ["gaussian", "laplacian", "dot_product(3)"]
CORRECTED = [("gaussian", delta, "batch") for delta in SLOPES]
CORRECTED += [(kernel, "leaky_relu", "sample") for kernel in KERNELS]


def small(**params):
    return TSGSU(**{**SMALL, **params})


@pytest.fixture
def data():
    return su_problem(n_similar=140, n_unlabeled=120)[:2]


def phi(blocks, X, t):
    """Features of a block, in float64."""
    if blocks.kernel.startswith("dot"):
        return textbook(blocks, X, t)
    Z = X.astype(float) @ blocks.frequencies(t, 1, X.shape[1])[0].astype(float)
    return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(Z.shape[1])


def authors_loop(model, pairs, U, X):
    """Values at X of the functions after every iteration, and how often r1 or r2 was below 0.

    Algorithm 1, one row and one block at a time.
    """
    m, S = model, pairs.reshape(-1, pairs.shape[2])
    blocks, pi, below = m.function_.blocks, m.prior_, SLOPES[m.delta]
    K = kernel_named(m.kernel).gram(U, U, m.sigma)
    eta = m.theta / (m.lam + np.linalg.eigvalsh(K)[-1] / len(U) / 2)
    if m.step == "paper":
        eta = m.theta / np.sqrt(m.n_iterations)
    pi_s, scale = pi**2 + (1 - pi) ** 2, 2 * pi - 1
    b, alphas, history, negative, r = m.batch_size, [], [], 0, np.zeros(2)
    window = max(1, max(len(S), len(U)) / b) if m.correction_at == "sample" else 1
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
        share = max(1 / window, 1 / (t + 1))
        r = (1 - share) * r + share * np.array([r1, r2])
        d1, d2 = np.where(r < 0, below, 1.0)
        negative += min(r) < 0
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


@pytest.mark.parametrize(("kernel", "delta", "at"), CORRECTED)
def test_fits_equal_the_authors_loop(kernel, delta, at, data, monkeypatch):
    """With rows kept and with rows streamed; steps so long that parts of the risk go below 0."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 4 * 20)
    pairs, U = data
    model = small(kernel=kernel, delta=delta, leak=-0.25, lam=1e-3, theta=1.9, tail="last")
    model.set_params(correction_at=at)
    expected, negative = authors_loop(model.fit(*data), pairs, U, U[:30])
    for resident in (True, False):
        monkeypatch.setattr(streaming._Run, "_is_resident", lambda self, table, k=resident: k)
        model.fit(*data)
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


@pytest.mark.parametrize("tail", ["last", "average"])
def test_observing_does_not_change_the_fit(tail, data):
    alone, seen = small(tail=tail).fit(*data), []
    model = small(tail=tail)
    training = {"X_similar": data[0], "X_unlabeled": data[1]}
    model.fit_observed(**training, at=[1, 6, 15], observe=lambda *of: seen.append(of))
    np.testing.assert_array_equal(model.function_.coef, alone.function_.coef)
    assert model.corrected_ == alone.corrected_
    history, _ = authors_loop(alone, *data, data[1])
    for t, (at, _, function) in zip((1, 6, 15), seen, strict=True):
        expected = history[t // 2 : t].mean(axis=0) if tail == "average" else history[t - 1]
        assert at == t and agree(function.decision_function(data[1]), expected)
    with pytest.raises(DataError, match="X has 2 features"):
        seen[0][2].decision_function(data[1][:, :2])


def test_the_step_is_measured_on_at_most_800_rows():
    U = np.random.default_rng(0).normal(size=(2000, 2))
    sample = U[np.arange(800) * 2000 // 800]
    K = kernel_named("laplacian").gram(sample, sample, 0.5)
    model = small(kernel="laplacian", sigma=0.5)
    pairs = U[U[:, 0] > 1][:40].reshape(20, 2, 2)
    p = Problem.of([model], model.data(pairs, U))
    found = unlabeled_curvatures(p, "laplacian", 0.5)[0]
    assert found == pytest.approx(np.linalg.eigvalsh(K / 800)[-1] / 2)


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


def test_running_means_are_below_0_more_rarely_than_small_batches():
    settings, rows = {"batch_size": 4, "n_iterations": 300, "lam": 0.3}, su_problem(100, 200)[:2]
    averaged, own = (small(**settings, correction_at=at).fit(*rows) for at in ("sample", "batch"))
    assert averaged.corrected_ < own.corrected_ / 4

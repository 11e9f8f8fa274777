"""TSGSU against the authors' loop, TSGSU-P against a written-out one."""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit import TSGSU, TSGSUP
from dsgkit.engine import sizes, streaming
from dsgkit.engine.curvature import unlabeled_curvatures
from dsgkit.engine.problem import Problem
from dsgkit.errors import DataError
from dsgkit.kernels import kernel_named
from dsgkit.random import draw_in_passes
from tests.engine import reference
from tests.estimators.similar.problems import SLOPES, parts, squared, su_problem

PAIRS, U, _ = su_problem(n_similar=140, n_unlabeled=120)
S = PAIRS.reshape(-1, 3)
SMALL = {"prior": 0.85, "sigma": 1.0, "lam": 0.05}
SMALL |= {"batch_size": 20, "n_features": 16, "n_iterations": 15}


def close(got, expected, tolerance=1e-4):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


def pulls(f_s, f_u, risks, below, prior):
    """Slopes of delta(r1) + delta(r2) by the values of a batch, with delta' at these risks."""
    share, scale = prior**2 + (1 - prior) ** 2, 2 * prior - 1
    d1, d2 = np.where(np.less(risks, 0), below, 1.0)
    c_s = share * (d1 * (f_s - 1) - d2 * (f_s + 1)) / 2 / scale / len(f_s)
    c_u = (d2 * prior * (f_u + 1) - d1 * (1 - prior) * (f_u - 1)) / 2 / scale / len(f_u)
    return c_s, c_u


def authors_loop(model):
    """Algorithm 1: the values at U after every iteration, and how often r1 or r2 was below 0."""
    m, T, b, pi = model, model.n_iterations, model.batch_size, model.prior_
    K = kernel_named(m.kernel).gram(U, U, m.sigma)
    eta = m.theta / (m.lam + np.linalg.eigvalsh(K)[-1] / len(U) / 2)
    if m.step == "paper":
        eta = m.theta / np.sqrt(T)
    window = max(1, max(len(S), len(U)) / b) if m.correction_at == "sample" else 1
    alphas, history, negative, r = [], [], 0, np.zeros(2)
    transform = m.function_.blocks.transform
    Phi = [[transform(rows, t).astype(float) for t in range(T)] for rows in (S, U)]
    for t in range(T):
        drawn = [draw_in_passes(0, k, t, 1, b, len(x))[0] for k, x in enumerate((S, U))]
        of_S, of_U = ([F[rows] for F in Fs] for Fs, rows in zip(Phi, drawn, strict=True))
        f_s, f_u = (
            sum((F @ a for F, a in zip(Fs[:t], alphas, strict=True)), np.zeros(b))
            for Fs in (of_S, of_U)
        )
        share = max(1 / window, 1 / (t + 1))
        r = (1 - share) * r + share * np.array(parts(f_s, f_u, pi, squared))
        negative += min(r) < 0
        c_s, c_u = pulls(f_s, f_u, r, SLOPES[m.delta], pi)
        now = eta * (1 - t / T) if m.tail == "decay" else eta
        alphas = [(1 - now * m.lam) * a for a in alphas]
        alphas.append(-now * (of_S[t].T @ c_s + of_U[t].T @ c_u))
        history.append(sum(F @ a for F, a in zip(Phi[1][: t + 1], alphas, strict=True)))
    return np.array(history), negative


LONG = {"leak": -0.25, "lam": 1e-3, "theta": 1.9, "tail": "last"}
"""Steps so long that parts of the risk go below 0."""
SETTINGS = [
    *(LONG | {"delta": delta, "correction_at": "batch"} for delta in SLOPES),
    *(LONG | {"delta": "leaky_relu", "kernel": k} for k in ("laplacian", "dot_product(3)")),
    *({"step": "measured", "tail": tail, "theta": 0.7} for tail in ("last", "average", "decay")),
    *({"step": "paper", "tail": tail, "theta": 0.7} for tail in ("last", "average", "decay")),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_fits_and_observed_functions_are_those_of_the_authors_loop(setting, monkeypatch):
    """With rows kept and with rows streamed."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 4 * 20)
    model, seen = TSGSU(**SMALL | setting), []
    history, negative = authors_loop(clone(model).fit(PAIRS, U))
    assert negative or setting["theta"] < 1
    training = {"X_similar": PAIRS, "X_unlabeled": U}
    for resident in (True, False):
        monkeypatch.setattr(streaming._Run, "_is_resident", lambda self, table, k=resident: k)
        alone = clone(model).fit(PAIRS, U)
        model.fit_observed(**training, at=[1, 6, 15], observe=lambda *of: seen.append(of))
        np.testing.assert_array_equal(model.function_.coef, alone.function_.coef)
        assert model.corrected_ == alone.corrected_ == negative / 15 and model.n_iter_ == 15
        for t, (at, _, function) in zip((1, 6, 15), seen[-3:], strict=True):
            of_tail = history[t // 2 : t] if model.tail == "average" else history[t - 1 : t]
            close(function.decision_function(U), of_tail.mean(axis=0))
            assert at == t
        close(model.decision_function(U), of_tail.mean(axis=0))
    with pytest.raises(DataError, match="X has 2 features"):
        seen[0][2].decision_function(U[:, :2])


def test_the_step_is_measured_on_at_most_800_rows():
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    sample = rows[np.arange(800) * 2000 // 800]
    model = TSGSU(kernel="laplacian", prior=0.85)
    problem = Problem.of([model], model.data(rows.reshape(1000, 2, 2), rows))
    found = unlabeled_curvatures(problem, "laplacian", 0.5)
    K = kernel_named("laplacian").gram(sample, sample, 0.5)
    assert found[0] == pytest.approx(np.linalg.eigvalsh(K / 800)[-1] / 2)


def test_a_factor_in_a_dot_product_is_one_in_lam_and_step():
    """On raw images L goes from 3e9 to 3e-6, as here: the measured step follows."""
    values = [
        TSGSU(**SMALL | {"sigma": sigma, "lam": lam}, kernel="dot_product(5)")
        .fit(PAIRS * 10, U * 10)
        .decision_function(U * 10)
        for sigma, lam in ((1.0, 1e8), (0.1, 1e3), (0.001, 1e-7))
    ]
    for other in values[1:]:
        close(other, values[0], 1e-3)


@pytest.mark.parametrize("batch_size", [12, 200])
@pytest.mark.parametrize("delta", SLOPES)
def test_sweeps_equal_the_written_out_loop(delta, batch_size):
    size = {"n_features": 8, "n_blocks": 3, "n_sweeps": 3, "batch_size": batch_size}
    model = TSGSUP(2.0**-10, 1.0, prior=0.9, delta=delta, leak=-0.25, **size).fit(PAIRS, U)
    blocks, negative = model.function_.blocks, []

    def bound(step, f):
        f_s, f_u = np.split(f, [len(S)])
        risks = parts(f_s, f_u, 0.9, squared)
        negative.append(min(risks) < 0)
        curvature = np.append(np.zeros(len(S)), np.full(len(f_u), 1 / (2 * len(f_u))))
        return np.concatenate(pulls(f_s, f_u, risks, SLOPES[delta], 0.9)), np.diag(curvature)

    sizes_of = {"T": 3, "n_sweeps": 3, "b": batch_size, "lam": 2.0**-10, "seed": 0, "source": 1}
    alpha = reference.swept(blocks, S, U, bound=bound, **sizes_of)
    close(model.decision_function(U), reference.of_blocks(blocks, alpha, U))
    assert model.corrected_ == sum(negative) / 9 > 0

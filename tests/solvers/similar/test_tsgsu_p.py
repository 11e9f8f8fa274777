"""TSGSU-P against the closed form, a written-out loop and single fits."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit import TSGSUP
from dsgkit.random.draws import draw_in_passes
from dsgkit.text.errors import DataError, FitError, MemoryLimitError
from tests.solvers.similar.problems import minimiser, su_problem

SMALL = {"prior": 0.85, "sigma": 1.0, "lam": 2.0**-5, "n_features": 8, "n_blocks": 3}
BELOW = {"abs": -1.0, "relu": 0.0, "leaky_relu": -0.25, "none": 1.0}
"""Slopes below 0, with leak -1/4."""


@pytest.fixture
def data():
    pairs, U, _ = su_problem(n_similar=140, n_unlabeled=120)
    return pairs, U


def test_without_correction_full_batches_converge_to_su_sl_on_the_same_features(data):
    pairs, U = data
    model = TSGSUP(**SMALL, delta="none", n_sweeps=150).fit(pairs, U)
    blocks = model._random_features().blocks()

    def features(rows):
        Phi = [blocks.transform(rows, t) for t in range(3)]
        return np.hstack(Phi).astype(np.float64) / np.sqrt(3)

    w = minimiser(features, pairs.reshape(-1, 3), U, model.lam, 0.85)
    expected = features(U) @ w
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * abs(expected).max())


def written_out(model, pairs, U):
    """Values at U and the batches with r1 or r2 < 0: one batch at a time, all blocks every time."""
    S, pi, T, b = pairs.reshape(-1, 3), model.prior, model.n_blocks, model.batch_size
    blocks, below = model._random_features().blocks(), BELOW[model.delta]
    of_S, of_U = ([blocks.transform(rows, t).astype(float) for t in range(T)] for rows in (S, U))
    pi_s, scale, mu = pi**2 + (1 - pi) ** 2, 2 * pi - 1, model.lam * T
    alpha, negative = np.zeros((T, blocks.width)), 0
    for step in range(T * model.n_sweeps):
        s, t = divmod(step, T)
        drawn, rho = np.arange(len(U)), 1.0
        if b < len(U):
            drawn, rho = draw_in_passes(model.random_state, 1, step, 1, b, len(U))[0], 1 / (s + 1)
        f_s = sum(of_S[j] @ alpha[j] for j in range(T))
        f_u = sum(of_U[j][drawn] @ alpha[j] for j in range(T))
        n_s, n_u = len(f_s), len(f_u)
        r1 = (pi_s * np.mean((f_s - 1) ** 2) - (1 - pi) * np.mean((f_u - 1) ** 2)) / 4 / scale
        r2 = (pi * np.mean((f_u + 1) ** 2) - pi_s * np.mean((f_s + 1) ** 2)) / 4 / scale
        d1, d2 = (below if r < 0 else 1.0 for r in (r1, r2))
        negative += r1 < 0 or r2 < 0
        c_s = pi_s * (d1 * (f_s - 1) - d2 * (f_s + 1)) / 2 / scale / n_s
        c_u = (d2 * pi * (f_u + 1) - d1 * (1 - pi) * (f_u - 1)) / 2 / scale / n_u
        Phi = of_U[t][drawn]
        H = Phi.T @ Phi / (2 * n_u) + mu * np.eye(blocks.width)
        gradient = of_S[t].T @ c_s + Phi.T @ c_u + mu * alpha[t]
        alpha[t] -= rho * np.linalg.solve(H, gradient)
    return sum(of_U[j] @ alpha[j] for j in range(T)), negative


@pytest.mark.parametrize("batch_size", [12, 200])
@pytest.mark.parametrize("delta", BELOW)
def test_fits_equal_the_written_out_loop(delta, batch_size, data):
    settings = SMALL | {"lam": 2.0**-10, "prior": 0.9, "delta": delta, "leak": -0.25}
    model = TSGSUP(**settings, batch_size=batch_size, n_sweeps=3)
    expected, negative = written_out(model, *data)
    values = model.fit(*data).decision_function(data[1])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * abs(expected).max())
    assert model.corrected_ == negative / 9 > 0


def test_what_cannot_be_solved_is_said(data):
    with pytest.raises(FitError, match="a block is singular to rounding"):
        TSGSUP(**SMALL | {"lam": 1e-300, "n_features": 64}).fit(*data)
    with pytest.raises(MemoryLimitError):
        TSGSUP(**SMALL | {"n_features": 10_000}, max_memory=1.0).fit(*data)
    with pytest.raises(DataError, match="n_blocks"):
        TSGSUP(**SMALL | {"n_blocks": 0}).fit(*data)

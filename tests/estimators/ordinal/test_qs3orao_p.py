"""QS3ORAO-P against the closed form, single fits and the binary method."""

from __future__ import annotations

import numpy as np

from dsgkit import QS3ORAOP
from tests.estimators.ordinal.problems import ordinal_problem

SETTINGS = {"lam": 2.0**-5, "sigma": 1.0, "n_features": 8, "n_blocks": 3}


def dense_form(codes, n_unlabeled, gammas):
    """M and v of METHODS section 3 at the labelled and the unlabelled rows, cut by cut."""
    n = len(codes)
    M, v = np.zeros((n + n_unlabeled,) * 2), np.zeros(n + n_unlabeled)
    u = np.append(np.zeros(n), np.full(n_unlabeled, 1 / n_unlabeled))
    for j, g in enumerate(gammas, start=1):
        p, q = (
            np.append(side / side.sum(), np.zeros(n_unlabeled)) for side in (codes >= j, codes < j)
        )
        for weight, a, b in ((g, p, q), (1 - g, p, u), (1 - g, u, q)):
            M += weight * (np.diag(a + b) - np.outer(a, b) - np.outer(b, a)) / len(gammas)
        v += (p - q) / len(gammas)
    return M, v


def test_full_batches_converge_to_the_closed_form_on_the_same_features():
    X, y, U, _ = ordinal_problem()
    model = QS3ORAOP(**SETTINGS, gamma=(0.2, 0.5, 1.0), n_sweeps=150).fit_function(X, y, U)
    rows = np.vstack([X, U])
    Phi = np.hstack([model.function_.blocks.transform(rows, t) for t in range(3)]) / np.sqrt(3)
    M, v = dense_form(y, len(U), (0.2, 0.5, 1.0))
    w = np.linalg.solve(2 * Phi.T @ M @ Phi + 2.0**-5 * np.eye(Phi.shape[1]), 2 * Phi.T @ v)
    expected = Phi @ w
    got = model.score_samples(rows)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * abs(expected).max())

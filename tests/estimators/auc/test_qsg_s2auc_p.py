from __future__ import annotations

import numpy as np

from dsgkit import QSGS2AUCP
from tests.estimators.brute_force import minimise, problem, samult_form

SETTINGS = {"lam": 2.0**-5, "sigma": 1.0, "gamma": 0.4, "n_features": 8, "n_blocks": 3}


def test_full_batches_converge_to_the_closed_form_on_the_same_features():
    X, y, U = problem()
    model = QSGS2AUCP(**SETTINGS, n_sweeps=150).fit(X, y, U)
    blocks = model.function_.blocks

    def features(rows):
        Phi = [blocks.transform(rows, t) for t in range(3)]
        return np.hstack(Phi).astype(np.float64) / np.sqrt(3)

    M, v = samult_form(y > 0, len(U), 0.4)
    expected = features(U) @ minimise(M, v, features(np.vstack([X, U])), 2.0**-6)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * abs(expected).max())

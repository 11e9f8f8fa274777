from __future__ import annotations

import numpy as np

from dsgkit import QSGS2AUCP
from dsgkit.objectives.pairwise_risk import samult_risk
from dsgkit.trainers.moments import feature_moments, solve
from tests.solvers.brute_force import problem

SETTINGS = {"lam": 2.0**-5, "sigma": 1.0, "gamma": 0.4, "n_features": 8, "n_blocks": 3}


def test_full_batches_converge_to_the_closed_form_on_the_same_features():
    X, y, U = problem()
    model = QSGS2AUCP(**SETTINGS, n_sweeps=150).fit(X, y, U)
    blocks = model.function_.blocks

    def features(rows):
        Phi = [blocks.transform(rows, t) for t in range(3)]
        return np.hstack(Phi).astype(np.float64) / np.sqrt(3)

    moments = feature_moments(features, X, U, 64)
    codes = np.where(y > 0, 0, 1)
    expected = features(U) @ solve(moments, codes, samult_risk(0.4), 2.0**-6)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * abs(expected).max())

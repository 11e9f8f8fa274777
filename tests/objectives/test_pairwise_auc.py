"""All pairs of a batch, against a double loop and its derivatives."""

from __future__ import annotations

import numpy as np

from dsgkit.objectives.pairwise_auc import PairwiseAUCObjective
from dsgkit.objectives.pairwise_risk import pnu_risk, samult_risk

RISKS = [samult_risk(0.3), samult_risk(1.0), pnu_risk(0.4, 0.3)]
SIZES = 4, 3, 6


def over_pairs(a, b):
    return np.mean([(1 - u + v) ** 2 for u in a for v in b])


def definitions(p, n, u):
    """The three risks, from means over pairs."""
    pn, pu, un, pp = over_pairs(p, n), over_pairs(p, u), over_pairs(u, n), over_pairs(p, p)
    return 0.3 * pn + 0.7 * (pu + un), pn, 0.6 * pn + 0.4 / 0.7 * (pu - 0.3 * pp)


def test_coefficients_are_the_gradient_by_central_differences():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(n, 1)) for n in SIZES]
    same = [np.repeat(f, 3, axis=1).astype(np.float32) for f in values]
    got = PairwiseAUCObjective(RISKS).coefficients(same)
    h = 1e-4
    for source, n in enumerate(SIZES):
        for i in range(n):
            up, down = [f[:, 0].copy() for f in values], [f[:, 0].copy() for f in values]
            up[source][i] += h
            down[source][i] -= h
            expected = (np.array(definitions(*up)) - definitions(*down)) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, atol=1e-5)


def test_a_class_without_rows_has_no_coefficients_and_a_model_of_nan_is_alone():
    rng = np.random.default_rng(1)
    values = [rng.normal(size=(n, 3)).astype(np.float32) for n in SIZES]
    expected = PairwiseAUCObjective(RISKS).coefficients(values)
    values[1][0, 2] = np.nan
    got = PairwiseAUCObjective(RISKS).coefficients(values)
    for c, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(c[:, :2], e[:, :2])
    some = PairwiseAUCObjective(RISKS).take(slice(1, 2))
    c_p, c_n, c_u = some.coefficients([f[:k, 1:2] for f, k in zip(values, (4, 0, 6), strict=True)])
    assert c_p.shape == (4, 1) and c_n.shape == (0, 1) and not c_u.any()

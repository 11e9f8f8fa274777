"""SU-DH's quadratic program against a lower bound of its objective."""

import numpy as np
import pytest

from dsgkit.exact.double_hinge import double_hinge


@pytest.mark.parametrize("lam", [2.0**-24, 2.0**-16, 2.0**-4, 4.0])
@pytest.mark.parametrize("n", [300, 1000])
def test_the_minimum_is_reached_also_where_the_penalty_is_tiny(n, lam):
    rng = np.random.default_rng(0)
    Phi = np.column_stack([rng.random((n, 9)), np.ones(n)])
    Phi[: n // 5, :9] += 0.3
    slope = -Phi[: n // 5].mean(axis=0)
    w = double_hinge(Phi, slope, lam)
    z = Phi @ w
    found = lam / 2 * w @ w + slope @ w + np.maximum(0, np.maximum((1 + z) / 2, z)).mean()
    # the loss lies above its tangents s z + c, with which the lowest value is known
    s = np.interp(z, [-1 - 1e-3, -1 + 1e-3, 1 - 1e-3, 1 + 1e-3], [0, 0.5, 0.5, 1])
    c = np.minimum(s, 1 - s)
    gradient = slope + Phi.T @ s / n
    bound = c.mean() - gradient @ gradient / (2 * lam)
    assert found == pytest.approx(bound, rel=1e-4, abs=1e-4)

"""TSGSU-P against a written-out loop."""

import numpy as np
import pytest

from dsgkit import TSGSUP
from tests.engine import reference
from tests.estimators.similar.problems import SLOPES, parts, squared, su_problem

SMALL = {"prior": 0.85, "sigma": 1.0, "lam": 2.0**-5, "n_features": 8, "n_blocks": 3}


@pytest.fixture
def data():
    return su_problem(n_similar=140, n_unlabeled=120)[:2]


def written_out(model, pairs, U):
    """Values at U, and the number of batches with r1 or r2 < 0."""
    S, pi, negative = pairs.reshape(-1, 3), model.prior, []
    pi_s, scale, below = pi**2 + (1 - pi) ** 2, 2 * pi - 1, SLOPES[model.delta]

    def bound(step, f):
        f_s, f_u = np.split(f, [len(S)])
        n_s, n_u = len(f_s), len(f_u)
        r1, r2 = parts(f_s, f_u, pi, squared)
        d1, d2 = (below if r < 0 else 1.0 for r in (r1, r2))
        negative.append(r1 < 0 or r2 < 0)
        c_s = pi_s * (d1 * (f_s - 1) - d2 * (f_s + 1)) / 2 / scale / n_s
        c_u = (d2 * pi * (f_u + 1) - d1 * (1 - pi) * (f_u - 1)) / 2 / scale / n_u
        return np.append(c_s, c_u), np.diag(np.append(np.zeros(n_s), np.full(n_u, 1 / (2 * n_u))))

    size = {"T": model.n_blocks, "n_sweeps": model.n_sweeps, "b": model.batch_size}
    draws = {"seed": model.random_state, "source": 1}
    blocks = model.function_.blocks
    alpha = reference.swept(blocks, S, U, lam=model.lam, bound=bound, **size, **draws)
    return reference.of_blocks(blocks, alpha, U), sum(negative)


@pytest.mark.parametrize("batch_size", [12, 200])
@pytest.mark.parametrize("delta", SLOPES)
def test_fits_equal_the_written_out_loop(delta, batch_size, data):
    settings = SMALL | {"lam": 2.0**-10, "prior": 0.9, "delta": delta, "leak": -0.25}
    model = TSGSUP(**settings, batch_size=batch_size, n_sweeps=3)
    values = model.fit(*data).decision_function(data[1])
    expected, negative = written_out(model, *data)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * abs(expected).max())
    assert model.corrected_ == negative / 9 > 0

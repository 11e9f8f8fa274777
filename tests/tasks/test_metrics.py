"""The risk of similar pairs and unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.tasks.metrics import su_risk
from tests.solvers.similar.problems import risk, squared, zero_one

LOSSES = {"squared": squared, "zero_one": zero_one}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("prior", [0.7, 0.2])
def test_the_risk_is_the_sum_over_pairs_and_rows(loss, prior):
    rng = np.random.default_rng(0)
    similar, unlabeled = rng.normal(size=(7, 2)), rng.normal(size=11)
    similar[0, 0] = unlabeled[0] = 0
    expected = risk(similar, unlabeled, prior, LOSSES[loss])
    assert su_risk(similar, unlabeled, prior, loss) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_unbiased(loss):
    """4,000 draws of pairs and rows; an offset of 5 standard errors has a chance of 1e-6."""
    rng, prior = np.random.default_rng(1), 0.7
    q = prior**2 / (prior**2 + (1 - prior) ** 2)
    pairs = np.where(rng.random((4000, 20)) < q, 1, -1)
    y = np.where(rng.random((4000, 30)) < prior, 1, -1)
    similar = rng.normal(size=(4000, 20, 2)) + pairs[..., None]
    unlabeled = rng.normal(size=(4000, 30)) + y
    risks = [su_risk(s, u, prior, loss) for s, u in zip(similar, unlabeled, strict=True)]
    z = rng.normal(size=10**6) + 1  # as far from the mean as in either class
    losses = {"squared": (z - 1) ** 2 / 4, "zero_one": z < 0}[loss]
    assert np.mean(risks) == pytest.approx(losses.mean(), abs=5 * np.std(risks) / 4000**0.5)

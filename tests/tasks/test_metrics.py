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

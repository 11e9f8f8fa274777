"""Values of risks, written out row by row; `tests.solvers.test_diagnostics` has those of fits."""

import numpy as np
import pytest

from dsgkit.objectives.risks import SquaredLoss


def test_the_squared_loss_is_the_mean_over_all_rows():
    rng = np.random.default_rng(0)
    positive, negative, unlabeled = (rng.normal(size=n) for n in (3, 7, 5))
    losses = [(f - 1) ** 2 / 4 for f in positive] + [(-f - 1) ** 2 / 4 for f in negative]
    found = SquaredLoss().value([positive, negative, unlabeled], np.array([3, 7]))
    assert found == pytest.approx(np.mean(losses))

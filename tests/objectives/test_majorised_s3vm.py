"""The quadratic bounds of the S3VM's losses."""

import numpy as np
import pytest

from dsgkit.objectives.majorised_s3vm import KINK_ROUNDING, MajorisedS3VMObjective, rounded
from dsgkit.objectives.s3vm import hinge

C, C_STAR = np.array([3.0, 0.5]), np.array([2.0, 0.0])
GRID = np.linspace(-3, 3, 601)


def objective(full_from=(0.0, 0.0)):
    return MajorisedS3VMObjective(C, C_STAR, np.array(full_from))


def one_row(source, f):
    """Values of a batch in which one row of a source is asked for; labelled rows are 2 of 2."""
    values = [np.full((1, 2), 5.0) for _ in range(3)]
    values[source] = np.tile(np.asarray(f, float), (2, 1)).T[:1]
    return [v.astype(np.float32) for v in values]


@pytest.mark.parametrize("source", range(3))
@pytest.mark.parametrize("f", [-2.5, -1.1, -1.0, -0.9, -0.3, 0.0, 0.3, 0.8, 1.0, 1.1, 2.5])
def test_the_bound_touches_the_rounded_loss_and_is_above_the_hinge_everywhere(source, f):
    """In one variable: the quadratic from coefficient and weight, against the losses on a grid."""
    tested, at = objective(), one_row(source, [f])
    slope, weight = tested.coefficients(at)[source][0], tested.weights(at)[source][0]
    per_row = C_STAR if source == 2 else C / 2
    margins = [GRID, -GRID, np.abs(GRID)][source]
    present = float([f, -f, abs(f)][source])
    step = (GRID - np.float32(f))[:, None]
    bound = rounded(np.float32(present)) * per_row + slope * step + weight * step**2 / 2
    assert np.all(bound >= per_row * hinge(margins)[:, None] - 1e-5)
    assert np.all(bound >= per_row * rounded(margins)[:, None] - 1e-5)
    assert np.all(weight >= 0)
    if abs(1 - present) >= KINK_ROUNDING:
        assert rounded(present) == pytest.approx(hinge(present), abs=1e-12)


def test_the_rounded_hinge_is_the_hinge_but_next_to_its_kink():
    z = np.linspace(-2, 4, 6001)
    more = rounded(z) - hinge(z)
    assert more.max() == pytest.approx(KINK_ROUNDING / 4) and z[more.argmax()] == pytest.approx(1)
    assert more.min() > -1e-12 and np.all(more[np.abs(1 - z) >= KINK_ROUNDING] < 1e-12)


def test_rows_without_weight_have_no_derivative_and_overflow_is_no_number():
    values = [np.array([[v, v]], np.float32) for v in (5.0, -5.0, 0.0)]
    assert all(np.all(c == 0) for c in objective().coefficients(values))
    assert np.all(objective().weights(values)[2] == [1.0, 0.0])  # sign(0) = 0: curvature C*/2
    values[0][0, 1] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(objective().coefficients(values)[0][0, 1])

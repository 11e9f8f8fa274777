import numpy as np
import pytest

from dsgkit.objectives.s3vm import UNLABELED_LOSSES, S3VMObjective, hinge
from tests.engine.reference import unlabeled_slope

EVERY_LOSS = ["shg", "sshg", "ramp", "ramp", "da"]
RAMP_S = np.array([0.0, 0.0, 0.0, -0.5, 0.0])


def objective(C=(1.0, 2.0, 10.0, 0.5, 4.0), share=0.3, **more):
    C = np.array(C)
    return S3VMObjective(C, C[::-1] / 3, share, EVERY_LOSS, RAMP_S, **more)


@pytest.mark.parametrize("loss", UNLABELED_LOSSES)
@pytest.mark.parametrize("r", [-1.0, -0.5, -0.0, 0.0, 0.5, 1.0])
def test_at_kinks_the_derivative_is_as_stated(loss, r):
    got = UNLABELED_LOSSES[loss].derivative(np.float32(r), np.float32(-0.5))
    assert got == pytest.approx(unlabeled_slope(loss, r, -0.5), rel=1e-6)
    if r == 0:
        assert got == 0


def test_the_loss_of_a_batch_weights_classes_by_their_share():
    values = [np.full((4, 5), 0.5), np.full((4, 5), -3.0), np.full((4, 5), 5.0)]
    no_unlabeled = S3VMObjective(np.full(5, 2.0), np.zeros(5), 0.3, EVERY_LOSS, RAMP_S)
    np.testing.assert_allclose(no_unlabeled.batch_loss(values), 2 * 0.3 * 0.5)
    assert hinge(-1.0) == 2


def test_the_weights_of_models_taken_grow_as_they_do_among_all():
    growing = objective(full_from=np.array([0, 4, 10, 4, 0.5]))
    for t in (1, 4, 10):
        some = growing.take(slice(1, 3)).at(t).C_star
        np.testing.assert_allclose(some, growing.at(t).C_star[1:3])

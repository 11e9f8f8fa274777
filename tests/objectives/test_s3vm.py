import numpy as np
import pytest

from dsgkit.risks.margin import UNLABELED_LOSSES, S3VMObjective, hinge
from tests.engine.reference import unlabeled_slope

EVERY_LOSS = ["shg", "sshg", "ramp", "ramp", "da"]
RAMP_S = np.array([0.0, 0.0, 0.0, -0.5, 0.0])


def objective(C=(1.0, 2.0, 10.0, 0.5, 4.0), share=0.3, **more):
    C = np.array(C)
    return S3VMObjective(C, C[::-1] / 3, share, EVERY_LOSS, RAMP_S, **more)


@pytest.mark.parametrize(
    ("loss", "s", "r", "expected"),
    [
        ("shg", 0, 0.25, 0.75),
        ("shg", 0, -0.25, 0.75),
        ("shg", 0, -1.5, 0),
        ("sshg", 0, -0.5, 0.125),
        ("sshg", 0, 3, 0),
        ("ramp", -0.5, 0, 2),
        ("ramp", -0.5, 0.75, 1.75),
        ("ramp", -0.5, -0.75, 1.75),
        ("ramp", -0.5, 2, 1.5),
        ("da", 0, -0.5, np.exp(-1.25)),
    ],
)
def test_losses_are_those_of_the_paper(loss, s, r, expected):
    assert UNLABELED_LOSSES[loss].value(np.float64(r), s) == pytest.approx(expected)


def test_the_ramp_at_s_0_is_the_symmetric_hinge_and_1():
    r = np.linspace(-3, 3, 601)
    shg, ramp = UNLABELED_LOSSES["shg"], UNLABELED_LOSSES["ramp"]
    np.testing.assert_allclose(ramp.value(r, 0), shg.value(r, 0) + 1, atol=1e-12)
    np.testing.assert_array_equal(ramp.derivative(r, 0), shg.derivative(r, 0))


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


def test_the_weight_of_unlabelled_rows_grows_until_it_is_full():
    growing = objective(full_from=np.array([0, 4, 10, 4, 0.5]))
    for t, shares in ((1, [1, 1 / 64, 1e-3, 1 / 64, 1]), (4, [1, 1, 0.064, 1, 1]), (10, [1] * 5)):
        now = growing.at(t)
        np.testing.assert_allclose(now.C_star, growing.C_star * np.array(shares), rtol=1e-6)
        np.testing.assert_array_equal(now.C, growing.C)
        np.testing.assert_allclose(growing.take(slice(1, 3)).at(t).C_star, now.C_star[1:3])

import numpy as np

from dsgkit.engine import ConstantStep, DecreasingStep, EitherStep


def test_each_model_follows_its_own_rule():
    lam, t0 = np.array([1.0, 2.0, 0.5]), np.array([0.0, 3.0, 7.0])
    decreasing = DecreasingStep(theta_lam=np.ones(3), lam=lam, t0=t0)
    constant = ConstantStep(np.array([0.1, 0.2, 0.3]), lam)
    either = EitherStep(decreasing, constant, follows_first=np.array([True, False, True]))
    np.testing.assert_array_equal(either.lam, lam)
    for t in (1, 2, 50):
        for got, of_first, of_second in zip(either(t), decreasing(t), constant(t), strict=True):
            np.testing.assert_array_equal(got, [of_first[0], of_second[1], of_first[2]])
        for got, everything in zip(either.take(slice(1, 3))(t), either(t), strict=True):
            np.testing.assert_array_equal(got, everything[1:])

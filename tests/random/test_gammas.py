import math

import numpy as np
import pytest
from scipy import stats

from dsgkit import random as gammas


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 2.5, 40.0])
def test_numbers_are_of_the_gamma_law(shape):
    """Kolmogorov-Smirnov; by chance one in 10^4 samples fails, and the seed is fixed."""
    numbers = gammas.gamma_blocks(3, 0, 40, 1000, shape)
    assert stats.kstest(numbers.ravel(), stats.gamma(shape).cdf).pvalue > 1e-4


def test_numbers_depend_on_their_place_alone():
    whole = gammas.gamma_blocks(2**64 - 1, 5, 6, 40, 1.5)
    np.testing.assert_array_equal(gammas.gamma_blocks(2**64 - 1, 7, 2, 30, 1.5), whole[2:4, :30])
    assert len(np.unique(whole)) == whole.size
    assert (gammas.gamma_blocks(0, 5, 6, 40, 1.5) != whole).all()


def test_functions_are_those_of_the_standard_library():
    for x in np.geomspace(1e-300, 1e300, 4001):
        assert gammas.log(x) == pytest.approx(math.log(x), rel=2e-15, abs=2e-15)
    for x in np.linspace(-600, 0, 4001):
        assert gammas.exp(x) == pytest.approx(math.exp(x), rel=1e-12)
    assert gammas.log(1.0) == 0
    assert gammas.exp(0.0) == 1


def test_tiny_shapes_give_positive_numbers():
    assert (gammas.gamma_blocks(0, 0, 10, 100, 1e-4) > 0).all()

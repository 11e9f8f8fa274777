"""Solvers with a kernel other than the Gaussian one."""

import numpy as np
import pytest

from dsgkit import FRS3VM, QSGS2AUC
from dsgkit.errors import DataError
from dsgkit.features import random_features
from tests.estimators.brute_force import problem


def test_kernels_without_random_features_are_refused():
    X, y, U = problem()
    with pytest.raises(DataError, match="a shift-invariant kernel: this kernel has no random"):
        FRS3VM(kernel="dot_product(3)").fit(X, y, U)
    text = r"a kernel: this kernel has no random features; dot_product\(1\) with sigma = 1 has"
    with pytest.raises(DataError, match=text):
        QSGS2AUC(kernel="linear").fit(X, y, U)
    with pytest.raises(DataError, match="the linear kernel has no random features"):
        random_features("linear", 1.0, 8, 0)


@pytest.mark.parametrize("size", [1e-3, 30.0])
def test_stable_steps_do_not_depend_on_the_scale_of_a_dot_product(size):
    """Sigma s times as large with lam s^p times as large is the same problem, up to rounding."""
    X, y, U = problem()
    U = U * np.float32(0.5)  # the longest row is a labelled one, or both are
    settings = {"gamma": 0.4, "kernel": "dot_product(3)", "n_iterations": 50, "n_features": 32}
    one = QSGS2AUC(0.5, 1.0, **settings).fit(X, y, U).decision_function(U)
    other = QSGS2AUC(0.5 * size**3, size, **settings).fit(X, y, U).decision_function(U)
    np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-3 * np.abs(one).max())

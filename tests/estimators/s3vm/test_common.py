"""What all S3VMs have in common: parameters, many settings at once, defaults, examples."""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit.errors import DataError
from dsgkit.estimators import s3vm
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import problem

QUICK = {"C": 10.0, "sigma": 0.3, "n_features": 16, "n_iterations": 30, "batch_size": 8}
S3VMS = [name for name, info in SOLVERS.items() if issubclass(info.load(), s3vm.S3VM)]


@pytest.fixture(params=S3VMS)
def quick(request):
    info = SOLVERS[request.param]
    return info.load()(**{key: value for key, value in QUICK.items() if key in info.params})


def test_unlabelled_rows_of_weight_0_do_not_count(quick):
    X, y, U = problem()
    quick.set_params(C_star=0)
    if "balance" in quick.get_params():
        quick.set_params(balance=False)  # which holds the mean over the unlabelled rows
    elsewhere = U[:, ::-1] ** 2
    f, g = (clone(quick).fit(X, y, rows).decision_function(U) for rows in (U, elsewhere))
    np.testing.assert_allclose(f, g, atol=1e-5 * np.abs(f).max())


def test_the_ratio_of_the_weights_is_another_way_to_say_the_same(quick):
    X, y, U = problem(n_labeled=16, n_unlabeled=64)
    papers = clone(quick).set_params(C_star=2.5).fit(X, y, U).decision_function(U)
    np.testing.assert_array_equal(quick.fit(X, y, U).decision_function(U), papers)
    by_weight = clone(quick).set_params(C_star=5.0).fit(X, y, U).decision_function(U)
    by_ratio = clone(quick).set_params(C_star_ratio=0.5).fit(X, y, U).decision_function(U)
    np.testing.assert_array_equal(by_ratio, by_weight)
    both = clone(quick).set_params(C_star=5.0, C_star_ratio=0.5)
    with pytest.raises(DataError, match=r"C_star is 5 and C_star_ratio is 0\.5: leave one"):
        both.fit(X, y, U)
    with pytest.raises(DataError, match="leave one of them out"):
        both.fit_points([{"C": 1.0}], X=X, y=y, X_unlabeled=U)

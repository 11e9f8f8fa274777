"""What every solver refuses: parameters out of range, rows, folds, too little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dsgkit import SAMULT
from dsgkit.data.rows import Rows
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.text.errors import DataError, MemoryLimitError
from tests.solvers.brute_force import folds_of, problem
from tests.solvers.given import SEMI_SUPERVISED, given

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.text.errors.DsgWarning")

OUT_OF_RANGE = {
    "lam": [0, -1, np.nan, "1"],
    "sigma": [0, -1.0, np.inf, None],
    "gamma": [-0.1, 1.1, "0.5"],
    "eta": [-1.5],
    "prior": [0.0, 1.0, "kmm"],
    "theta_lam": [0, np.inf],
    "t0": [-1, np.nan, None],
    "C": [0, np.inf],
    "batch_size": [0, 2.5],
    "n_features": [0, "many"],
    "n_iterations": [0, 10.5],
    "n_centers": [0, 2.5],
    "n_landmarks": [-1, None],
    "random_state": [-1, 2**64, 0.5, None],
}
SOME = [
    (name, parameter, value)
    for name, info in SOLVERS.items()
    for parameter, values in OUT_OF_RANGE.items()
    for value in values
    if parameter in info.params and (parameter != "gamma" or name in SEMI_SUPERVISED)
]


@pytest.mark.parametrize(("name", "parameter", "value"), SOME)
def test_a_parameter_out_of_range_is_refused(name, parameter, value):
    model = SOLVERS[name].load()(**{parameter: value})
    with pytest.raises(DataError, match=f"^{parameter} must be ") as caught:
        model.fit(**given(model, *problem()))
    assert "\n" not in str(caught.value)


def rows(**changes):
    X, y, U = problem()
    return {"X": X, "y": y, "X_unlabeled": U} | changes


X, y, U = problem()
WRONG_ROWS = [
    ({"X_unlabeled": U[:, :2]}, {}, "X_unlabeled has 2 features, .* expecting 3"),
    ({"y": y[1:]}, {}, "15 labels, 16 rows"),
    ({"X_unlabeled": U[:0]}, {}, "at least one row"),
    ({"y": np.ones(16)}, {}, "two classes"),
    ({}, {"folds": [np.flatnonzero(y > 0)]}, "class"),
    ({}, {"folds": [np.arange(17)]}, "a fold must be an array of held-out positions in 0..15"),
]


@pytest.mark.parametrize(("change", "searched", "told"), WRONG_ROWS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_rows_that_do_not_fit_together_are_refused(name, change, searched, told):
    model = SOLVERS[name].load()()
    with pytest.raises(DataError, match=told):
        if searched:
            model.fit_points([{}], **searched, **rows(**change))
        else:
            model.fit(**rows(**change))


WITH_LIMIT = [name for name, info in SOLVERS.items() if "max_memory" in info.params]


@pytest.mark.parametrize("name", WITH_LIMIT)
def test_what_does_not_fit_the_memory_limit_is_refused(name):
    prior = {"prior": 0.4} if "prior" in SOLVERS[name].params else {}
    model = SOLVERS[name].load()(max_memory=1e-6, **prior)
    training = given(model, *problem())
    with pytest.raises(MemoryLimitError, match="limit"):
        model.fit(**training)
    if name in SEMI_SUPERVISED:
        with pytest.raises(MemoryLimitError, match="limit"):
            model.fit_points([{}], folds=folds_of(16, 2), **training)


@pytest.mark.parametrize(
    ("endless", "most"),
    [
        (Rows(np.broadcast_to(X[:1], (10**6, 3))), 2**20),  # its kernel matrix would take 8 TB
        (sparse.csr_array((10**6, 3)), 2**23),  # three words a row would be 23 MiB
    ],
)
def test_a_fit_above_the_limit_is_refused_before_it_allocates(endless, most):
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=r"needs 745\d\.\d GiB, limit 1\.0 GiB"):
            SAMULT(max_memory=1.0).fit(X, y, endless)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()

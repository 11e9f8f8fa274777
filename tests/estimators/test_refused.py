"""What every solver refuses: values of parameters, rows, labels, folds, too little memory."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dsgkit import SAMULT
from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, MemoryLimitError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.parameters import in_python
from tests.estimators.brute_force import problem
from tests.estimators.given import SEMI_SUPERVISED
from tests.estimators.small import arrays, folds_for, made, of_task, rows_at

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")

HOSTILE = [math.nan, math.inf, 10**400, "", "no such", None, True, [], [1.0, "a"], {}, 0.5, -1, 0]


def refused_values(parameter):
    """Return hostile values and such beside the ends of a range, that a parameter cannot take."""
    ends = [parameter.range.low, parameter.range.high]
    for value in [*HOSTILE, *ends, ends[0] - 1, ends[1] + 1]:
        if parameter.name == "random_state" and value is None:
            continue
        try:
            parameter.parse(value, in_python)
        except ValueError as error:
            yield value, str(error)


@pytest.mark.parametrize("name", SOLVERS)
def test_values_that_a_parameter_cannot_take_are_told_in_one_line(name):
    training = arrays(name)
    for key, parameter in SOLVERS[name].parameters.items():
        refused = list(refused_values(parameter))
        assert len(refused) >= 3
        for value, text in refused:
            for fit in (
                lambda key=key, value=value: made(name, **{key: value}).fit(**training),
                lambda key=key, value=value: made(name).fit_points([{key: value}], **training),
            ):
                with pytest.raises(DataError) as caught:
                    fit()
                assert str(caught.value) == f"{key} {text}" and "\n" not in text


X, y, U = problem()
WRONG_ROWS = [
    ({"X_unlabeled": U[:, :2]}, {}, "X_unlabeled has 2 features, .* expecting 3"),
    ({"y": y[1:]}, {}, "15 labels, 16 rows"),
    ({"X_unlabeled": U[:0]}, {}, "at least one row"),
    ({"y": np.ones(16)}, {}, "two classes"),
    ({}, {"folds": [np.flatnonzero(y > 0)]}, "class"),
    *(
        ({}, {"folds": folds}, "a fold must be an array of held-out positions in 0..15")
        for folds in ([np.arange(17)], [(np.arange(3), np.arange(3, 10))], [np.ones(2, bool)])
    ),
]


@pytest.mark.parametrize(("change", "searched", "told"), WRONG_ROWS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_rows_that_do_not_fit_together_are_refused(name, change, searched, told):
    model = SOLVERS[name].load()()
    training = {"X": X, "y": y, "X_unlabeled": U} | change
    with pytest.raises(DataError, match=told):
        model.fit_points([{}], **searched, **training) if searched else model.fit(**training)


NO_USE_OF_UNLABELLED = (
    *("svorex", "svorim", "all_threshold", "constant_median", "kernel_ridge"),
    "supervised_svm",
)


# rows that are kept, and streamed
@pytest.mark.parametrize(("value", "n_unlabeled"), [(np.nan, 30), (-np.inf, 3000)])
@pytest.mark.parametrize("name", SOLVERS)
def test_rows_that_are_not_finite_are_refused_in_one_line(name, value, n_unlabeled):
    training = arrays(name, n_unlabeled)
    folds = {} if name in of_task("clustering") else {"folds": folds_for(training)}
    for part in {"X", "X_unlabeled", "X_similar"} & set(training):
        if part == "X_unlabeled" and name in NO_USE_OF_UNLABELLED:
            continue
        bad = training[part].copy()
        bad[len(bad) // 2 :, ..., 1] = value
        for fit in (
            lambda wrong: made(name).fit(**wrong),
            lambda wrong: made(name).fit_points([{}, {}], **folds, **wrong),
        ):
            with pytest.raises(DataError, match="NaN or infinite values") as caught:
                fit(training | {part: bad})
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_prediction_at_rows_that_are_not_finite_is_refused(name):
    training = arrays(name)
    rows = rows_at(training).copy()
    rows[3, 1] = np.nan
    model = made(name).fit(**training)
    if name != "constant_median":
        with pytest.raises(DataError, match="NaN or infinite"):
            model.decision_function(rows)


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if "max_memory" in s.params])
def test_what_does_not_fit_the_memory_limit_is_refused(name):
    model, training = made(name, max_memory=1e-6), arrays(name)
    with pytest.raises(MemoryLimitError, match="limit"):
        model.fit(**training)
    if name not in of_task("clustering"):
        for folds in ({}, {"folds": folds_for(training)}):
            with pytest.raises(MemoryLimitError, match="limit"):
                model.fit_points([{}], **folds, **training)


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

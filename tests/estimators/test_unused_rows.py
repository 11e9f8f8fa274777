"""What says that it does not use unlabelled rows gives the same values whatever they are."""

import pickle

import numpy as np
import pytest

from dsgkit.estimators import catalogue
from dsgkit.tasks.base import depends_on, named_by_fit

RNG = np.random.default_rng(0)
X, y = RNG.random((40, 3)), np.tile([1, 2], 20)
ORDERED = np.tile([1, 2, 3, 4], 10)
UNLABELED = RNG.random((30, 3))
OTHERS = 2 * RNG.random((50, 3)) - 1
ROWS = ("X_unlabeled", "y_unlabeled")

UNUSED = [
    ("samult", {"gamma": 1, "sigma": 1}, y),
    ("kernel_ridge", {}, ORDERED),
    ("all_threshold", {}, ORDERED),
    ("svorex", {"thresholds": "own"}, ORDERED),
    ("svorim", {}, ORDERED),
    ("constant_median", {}, ORDERED),
    ("supervised_svm", {}, y),
    ("sklearn.linear_model:LogisticRegression", {}, y),
]
USED = [
    ("samult", {"gamma": 0.5, "sigma": 1}, y),
    ("samult", {"gamma": 1, "sigma": "scale"}, y),
    ("kernel_ridge", {"thresholds": "share"}, ORDERED),
    ("bls3vm", {}, y),
    ("all_labels_svm", {}, y),
    ("exact_s2or", {}, ORDERED),
    ("sklearn.semi_supervised:LabelSpreading", {}, y),
]


@pytest.mark.parametrize(("kind", "params", "labels"), UNUSED)
def test_values_do_not_depend_on_rows_that_are_not_used(kind, params, labels):
    estimators = [catalogue.get(kind).load()(**params) for _ in range(2)]
    assert not depends_on(estimators[0], ROWS)
    for estimator, rows in zip(estimators, (UNLABELED, OTHERS), strict=True):
        estimator.fit(X, labels, **named_by_fit(estimator, {"X_unlabeled": rows}))
    first, second = (estimator.decision_function(X) for estimator in estimators)
    assert np.array_equal(first, second)


@pytest.mark.parametrize(("kind", "params", "labels"), USED)
def test_what_uses_unlabelled_rows_says_so(kind, params, labels):
    assert depends_on(catalogue.get(kind).load()(**params), ROWS)


@pytest.mark.parametrize("kind", ["qsg_s2auc", "qsg_s2auc_p", "rff_s2auc", "tsgs3vm", "qs3orao"])
def test_a_model_of_random_features_does_not_hold_the_unlabelled_rows(kind):
    solver = catalogue.get(kind).load()
    model = solver(n_features=4).set_params(random_state=1)
    if "n_iterations" in model.get_params():
        model.set_params(n_iterations=20, batch_size=8)
    rows = RNG.random((5000, 3))
    model.fit(X, ORDERED if kind == "qs3orao" else y, rows)
    assert len(pickle.dumps(model)) < rows.nbytes / 4

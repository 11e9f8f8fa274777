"""What says that it does not use unlabelled rows gives the same values whatever they are."""

import pickle

import numpy as np
import pytest

from dsgkit.estimators import catalogue
from dsgkit.tasks.base import depends_on, named_by_fit

RNG = np.random.default_rng(0)
X, Y, ORDERED = RNG.random((40, 3)), np.tile([1, 2], 20), np.tile([1, 2, 3, 4], 10)
UNLABELED, OTHERS = RNG.random((30, 3)), 2 * RNG.random((50, 3)) - 1

CASES = [
    # whether they are used, by what, with which settings and labels
    (False, "samult", {"gamma": 1, "sigma": 1}, Y),
    (False, "kernel_ridge", {}, ORDERED),
    (False, "all_threshold", {}, ORDERED),
    (False, "svorex", {"thresholds": "own"}, ORDERED),
    (False, "svorim", {}, ORDERED),
    (False, "constant_median", {}, ORDERED),
    (False, "supervised_svm", {}, Y),
    (False, "sklearn.linear_model:LogisticRegression", {}, Y),
    (True, "samult", {"gamma": 0.5, "sigma": 1}, Y),
    (True, "samult", {"gamma": 1, "sigma": "scale"}, Y),
    (True, "kernel_ridge", {"thresholds": "share"}, ORDERED),
    (True, "bls3vm", {}, Y),
    (True, "all_labels_svm", {}, Y),
    (True, "exact_s2or", {}, ORDERED),
    (True, "sklearn.semi_supervised:LabelSpreading", {}, Y),
]


@pytest.mark.parametrize(("used", "kind", "params", "labels"), CASES)
def test_values_do_not_depend_on_rows_that_are_not_used(used, kind, params, labels):
    values = []
    for rows in (UNLABELED, OTHERS):
        estimator = catalogue.get(kind).load()(**params)
        assert depends_on(estimator, ("X_unlabeled", "y_unlabeled")) == used
        if not used:
            estimator.fit(X, labels, **named_by_fit(estimator, {"X_unlabeled": rows}))
            values.append(estimator.decision_function(X))
    assert used or np.array_equal(*values)


@pytest.mark.parametrize("kind", ["qsg_s2auc", "qsg_s2auc_p", "rff_s2auc", "tsgs3vm", "qs3orao"])
def test_a_model_of_random_features_does_not_hold_the_unlabelled_rows(kind):
    model = catalogue.get(kind).load()(n_features=4, random_state=1)
    small = {"n_iterations": 20, "batch_size": 8}
    model.set_params(**{k: v for k, v in small.items() if "n_iterations" in model.get_params()})
    rows = RNG.random((5000, 3))
    model.fit(X, ORDERED if kind == "qs3orao" else Y, rows)
    assert len(pickle.dumps(model)) < rows.nbytes / 4

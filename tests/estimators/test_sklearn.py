"""Scikit-learn's own checks of estimators, on every solver that it can call."""

import inspect

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from dsgkit.clustering.fuzzy import FuzzyCMeans
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.given import SEMI_SUPERVISED
from tests.estimators.small import of_task

QUICK = {"n_features": 16, "n_blocks": 4, "n_iterations": 20, "batch_size": 8, "n_passes": 1}
QUICK |= {"n_sweeps": 1, "prior": 0.5}

EXPECTED = {
    "check_classifiers_classes": "of labels -1 and 1, those of -1 are unlabelled rows: one class is"
    " left, which is refused rather than guessed at",
    "check_methods_subset_invariance": "it wants 1e-7: values are sums in float32, whose last bits"
    " depend on the rows of a tile on some processors; the test below wants 1e-5",
}

OF_RANKINGS = dict.fromkeys(
    (
        "check_classifiers_train",
        "check_classifiers_train(readonly_memmap=True)",
        "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
    ),
    "a ranking has no threshold at 0: predict takes those that the labelled rows give",
)


def quick(solver):
    """Return an estimator that trains in next to no time."""
    known = inspect.signature(solver).parameters
    return solver(**{name: value for name, value in QUICK.items() if name in known})


def expected(estimator):
    return EXPECTED | (OF_RANKINGS if "semi_supervised_auc" in estimator.tasks else {})


@pytest.mark.slow
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_scikit_learn_accepts(name):
    estimator = quick(SOLVERS[name].load())
    check_estimator(estimator, expected_failed_checks=expected(estimator), on_skip=None)


OTHERS = [SOLVERS[name].load() for name in (*of_task("clustering"), "supervised_sl")]


@pytest.mark.filterwarnings("ignore:.* rows at the default gamma:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("solver", [*OTHERS, FuzzyCMeans, SOLVERS["majority_class"].load()])
def test_scikit_learn_accepts_without_exception(solver):
    check_estimator(solver(), on_skip=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_values_are_those_of_rows_alone(name):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
    model = quick(SOLVERS[name].load()).fit(X, y, X_unlabeled=rng.standard_normal((30, 3)))
    alone = [model.decision_function(X[[row]])[0] for row in range(len(X))]
    np.testing.assert_allclose(model.decision_function(X), alone, rtol=1e-5, atol=1e-5)

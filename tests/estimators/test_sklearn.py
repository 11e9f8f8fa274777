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
    " depend on the rows of a tile on some processors; the test wants 1e-5",
}
RANKS = "a ranking has no threshold at 0: predict takes those that the labelled rows give"
OF_RANKINGS = {
    f"check_classifiers_train{of}": RANKS
    for of in ("", "(readonly_memmap=True)", "(readonly_memmap=True,X_dtype=float32)")
}


def quick(solver):
    """Return an estimator that trains in next to no time."""
    known = inspect.signature(solver).parameters
    return solver(**{name: value for name, value in QUICK.items() if name in known})


@pytest.mark.slow
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_scikit_learn_accepts(name):
    model = quick(SOLVERS[name].load())
    expected = EXPECTED | (OF_RANKINGS if "semi_supervised_auc" in model.tasks else {})
    check_estimator(model, expected_failed_checks=expected, on_skip=None)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
    model.fit(X, y, X_unlabeled=rng.standard_normal((30, 3)))
    alone = [model.decision_function(X[[row]])[0] for row in range(len(X))]
    np.testing.assert_allclose(model.decision_function(X), alone, rtol=1e-5, atol=1e-5)


OTHERS = (*of_task("clustering"), "supervised_sl", "majority_class")


@pytest.mark.filterwarnings("ignore:.* rows at the default gamma:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("solver", [FuzzyCMeans, *(SOLVERS[name].load() for name in OTHERS)])
def test_scikit_learn_accepts_without_exception(solver):
    check_estimator(solver(), on_skip=None)

"""Scikit-learn's own checks of estimators, on every solver."""

from __future__ import annotations

import inspect

import pytest
from sklearn.utils.estimator_checks import check_estimator

from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from tests.solvers.given import SEMI_SUPERVISED

QUICK = {
    "n_features": 16,
    "n_blocks": 4,
    "n_iterations": 20,
    "batch_size": 8,
    "n_passes": 1,
    "n_sweeps": 1,
    "prior": 0.5,
}

EXPECTED = {
    "check_classifiers_classes": "of labels -1 and 1, those of -1 are unlabelled rows: one class is"
    " left, which is refused rather than guessed at",
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
    ranks = isinstance(estimator, PairwiseAUCEstimator | OrdinalEstimator)
    return EXPECTED | (OF_RANKINGS if ranks else {})


@pytest.mark.slow
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_scikit_learn_accepts(name):
    estimator = quick(SOLVERS[name].load())
    check_estimator(estimator, expected_failed_checks=expected(estimator), on_skip=None)

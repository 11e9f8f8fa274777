"""Support vector machines of labelled rows, by LIBSVM.

It is scikit-learn's `SVC` with our kernels. Its linear kernel lacks our constant 1, which changes
nothing: the coefficients sum to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data
from dsgkit.errors import FitError
from dsgkit.kernels import (
    CANCELLING_SQUARED_NORM,
    check_projections,
    expansion_flops,
    expansion_memory,
    finite_rows,
)
from dsgkit.linalg import Array

CACHE_MIB = 500
"""Size of LIBSVM's cache of kernel values."""

PROBABILITY_FOLDS = 5
"""Folds that probabilities are fitted on; fewer if a class has fewer labelled rows."""


def support_machine(
    data: Data, C: float, kernel: str, sigma: float, tol: float, class_weight: Any = None
) -> Expansion:
    """Return the machine of labelled rows, the first class positive; C weights the mean loss."""
    X, y = np.asarray(data.X[:], np.float64), 1 - data.codes
    svm = _untrained(C / len(X), kernel, sigma, tol, class_weight)
    return _machine(svm.fit(_readable(X, kernel, sigma), y), X, kernel, sigma)


def self_trained(
    data: Data, C: float, kernel: str, sigma: float, tol: float, threshold: float, max_iter: int
) -> tuple[Expansion, int, int]:
    """Return the log-odds of a machine that labels rows, its rounds, and how many it labelled.

    It is scikit-learn's `SelfTrainingClassifier` around a calibrated `SVC`.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.semi_supervised import SelfTrainingClassifier

    X, U = (finite_rows(table[:]) for table in data.tables)
    smaller = int(data.counts.min())
    if smaller < 2:
        raise FitError("probabilities need at least two labelled rows of each class")
    svm = _untrained(C / len(X), kernel, sigma, tol)
    calibrated = CalibratedClassifierCV(svm, cv=min(PROBABILITY_FOLDS, smaller), ensemble=False)
    model = SelfTrainingClassifier(calibrated, threshold=threshold, max_iter=max_iter)
    rows = np.concatenate([X, U])
    labels = np.append(1 - data.codes, np.full(len(U), -1))
    model.fit(_readable(rows, kernel, sigma), labels)
    (calibrated,) = model.estimator_.calibrated_classifiers_
    (sigmoid,), svm = calibrated.calibrators, calibrated.estimator
    taken = model.transduction_ != -1
    # the probability is 1 / (1 + exp(a f + b))
    function = _machine(svm, rows[taken], kernel, sigma, -sigmoid.a_, -sigmoid.b_)
    return function, int(model.n_iter_), int(np.count_nonzero(taken[len(X) :]))


def machine_cost(n: int, n_inputs: int, n_machines: int = 1) -> Cost:
    """Return the cost of support vector machines on ``n`` rows.

    They take 3 steps per row (0.5 for a small C, 10 and more for a large one).
    """
    rows = 8 * n * (3 * n_inputs + 20)
    return Cost(
        flops=n_machines * n**2 * (ENTRY_FLOPS + 6.0 * n_inputs + 3 * 100.0),
        memory=max(min(4 * n**2, CACHE_MIB * 2**20) + rows, expansion_memory(n, n_inputs)),
        flops_per_row=expansion_flops(n, n_inputs),
    )


def _untrained(C: float, kernel: str, sigma: float, tol: float, class_weight: Any = None) -> Any:
    from sklearn.svm import SVC

    shape = {"kernel": "linear"} if kernel == "linear" else {"kernel": "rbf", "gamma": sigma}
    return SVC(C=C, class_weight=class_weight, tol=tol, cache_size=CACHE_MIB, **shape)


def _readable(X: Array, kernel: str, sigma: float) -> Array:
    """Return rows without a large offset; refuse those so far apart that distances are wrong.

    LIBSVM computes them as differences of squared norms.
    """
    if kernel == "linear":
        return X
    if sigma * np.square(X).sum(axis=1).max() > CANCELLING_SQUARED_NORM:
        X = X - X.mean(axis=0)
    check_projections(X, sigma, labeled=False)
    return X


def _machine(
    svm: Any, X: Array, kernel: str, sigma: float, factor: float = 1.0, offset: float = 0.0
) -> Expansion:
    """Return ``factor f + offset`` for the function f of an `SVC` trained on rows."""
    coef = factor * svm.dual_coef_[0][:, None]
    intercept = float(factor * svm.intercept_[0] + offset)
    return Expansion(kernel, sigma, X[svm.support_], coef, intercept)

"""Searches and thresholds of ordinal estimators take less work than refits, and have their values.

Also where a fold holds all rows of a class: then a cut is left out.
"""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit import QS3ORAO, QS3ORAOP
from dsgkit.engine.problem import Data, Fold, Problem
from dsgkit.estimators.base import held_out
from dsgkit.linalg import training_rows
from tests.estimators.brute_force import folds_of
from tests.estimators.ordinal.problems import ordinal_problem

X, CODES, U, _ = ordinal_problem()
DATA = Data(X, CODES, U, 4)
ALL_CLASSES = folds_of(40, 4)
SOME_CLASSES = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES)[::2], np.flatnonzero(CODES)[1::2]]
SWEPT = {"sigma": 1.0, "n_features": 8, "n_blocks": 3}
STREAMED = {"sigma": 0.3, "batch_size": 8, "n_features": 4, "n_iterations": 20, "t0": 9.0}
STEPS = [
    {"lam": 0.1, "gamma": 1.0},
    {"lam": 0.1, "gamma": (0.1, 0.9, 0.5), "theta_lam": 2.0},
    {"lam": 2.0, "gamma": 0.25, "t0": 1.0, "sigma": 2.0},
]
SWEEPS = [{"lam": 0.1}, {"lam": 0.1, "gamma": (0.9, 0.5, 0.0)}, {"lam": 0.01, "gamma": 1.0}]
CASES = [
    (QS3ORAO(**STREAMED), STEPS, 1e-4),
    (QS3ORAOP(**SWEPT, batch_size=8), SWEEPS, 1e-5),
    (QS3ORAOP(**SWEPT, batch_size=1024), SWEEPS, 1e-5),
]


def refitted(model, fold, **point):
    """Return the function of a model that is trained without a fold."""
    alone = clone(model).set_params(**point)
    alone.sigma_ = alone.sigma
    part = DATA.take(training_rows(fold, len(X)), None)
    return alone.learn(Problem.of([alone], part))


@pytest.mark.parametrize("folds", [ALL_CLASSES, SOME_CLASSES], ids=["all classes", "some"])
@pytest.mark.parametrize(("model", "points", "tolerance"), CASES)
def test_a_grid_on_folds_has_the_values_of_refits(model, points, tolerance, folds):
    got = model.fit_points(points, folds=folds, X=X, y=CODES, X_unlabeled=U)
    for values, point in zip(got, points, strict=True):
        for fold in folds:
            expected = refitted(model, fold, **point).values(X[fold])[:, 0]
            np.testing.assert_allclose(values[fold], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("folds", [ALL_CLASSES, SOME_CLASSES], ids=["all classes", "some"])
@pytest.mark.parametrize(("model", "tolerance"), [(case[0], case[2]) for case in CASES])
def test_held_out_values_for_thresholds_are_those_of_refits(model, tolerance, folds):
    model = clone(model).fit_function(X, CODES, U)
    held = [Fold(fold) for fold in folds]
    functions = model.learn(Problem.of([model], DATA, held, values_only=False))
    got = held_out(functions, DATA, held, centre=U[:20])[0][0]
    for fold in folds:
        alone = refitted(model, fold)
        expected = alone.values(X[fold])[:, 0] - alone.values(U[:20]).mean()
        np.testing.assert_allclose(got[fold], expected, rtol=0, atol=tolerance)

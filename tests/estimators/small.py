"""Every solver of the catalogue, made quick, and a small problem for it."""

import numpy as np

from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import folds_of, problem
from tests.estimators.given import arguments, given
from tests.estimators.ordinal.problems import ordinal_problem
from tests.estimators.similar.problems import su_problem
from tests.estimators.test_fingerprints import PARAMS


def of_task(*tasks):
    return [name for name, info in SOLVERS.items() if set(tasks) & set(info.tasks)]


def made(name, **changes):
    """Return an estimator with few features and steps; at its prior the risk has a minimum."""
    params = PARAMS[name] | ({"most_rows": 4000} if "most_rows" in PARAMS[name] else {})
    if "prior" in params:
        params["prior"] = 0.4 if "auc" in name else 0.85
    return SOLVERS[name].load()(**params | changes)


def arrays(name, n_unlabeled=30):
    """Return what its ``fit`` takes, by name."""
    solver = SOLVERS[name].load()
    X, y, U = problem(24, n_unlabeled)
    if "clustering" in solver.tasks:
        return {"X": X}
    if "ordinal" in solver.tasks:
        X, y, U, _ = ordinal_problem(24, n_unlabeled)
        X, U = X.astype(np.float32), U.astype(np.float32)
    if "X_similar" in arguments(solver):
        pairs, U, _ = su_problem(40, n_unlabeled)
        return {"X_similar": pairs, "X_unlabeled": U}
    return given(solver, X, y, U)


def rows_at(training):
    """Return rows that a fitted model can be evaluated at."""
    return training.get("X_unlabeled", training.get("X"))


def folds_for(training, n_folds=3):
    """Return folds, with one row, and one pair, outside of all of them."""
    if "X_similar" not in training:
        return folds_of(len(training["X"]) - 1, n_folds)
    counts = [len(training[key]) - 1 for key in ("X_similar", "X_unlabeled")]
    return list(zip(*(folds_of(n, n_folds) for n in counts), strict=True))

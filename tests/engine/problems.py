"""Small training problems of the engine."""

from types import SimpleNamespace

import numpy as np

from dsgkit.engine.problem import Data, Fold, Problem, Steps
from dsgkit.features import random_features
from dsgkit.risks.pairwise import SemiSupervisedAUC


def rows(seed, n_labeled=30, n_unlabeled=50, d=3):
    """Return X, which rows are positive, and unlabelled rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, d), dtype=np.float32)
    positive = np.arange(n_labeled) % 3 == 0
    X[positive] += np.float32(0.3)
    return X, positive, rng.random((n_unlabeled, d), dtype=np.float32)


def problem(losses, n_unlabeled=50, folds=None, seed=10):
    """Return the problem of losses of one model each, on all rows or outside of folds."""
    X, positive, U = rows(seed, n_unlabeled=n_unlabeled)
    models = [SimpleNamespace(risk=lambda part, loss=loss: loss) for loss in losses]
    folds = folds and [fold if isinstance(fold, Fold) else Fold(fold) for fold in folds]
    return Problem.of(models, Data(X, np.where(positive, 0, 1), U), folds, values_only=False)


def auc(*gammas, **more):
    return problem([SemiSupervisedAUC(gamma) for gamma in gammas], **more)


def constant(etas, lam=1.0):
    etas = np.array(etas, np.float64)
    return Steps(np.full(len(etas), lam), np.full(len(etas), np.nan), 0 * etas, etas)


def blocks(m=6, seed=3, kernel="gaussian", sigma=1.0):
    return random_features(kernel, sigma, m, seed)


def close(actual, expected, relative=1e-4):
    return np.abs(actual - expected).max() <= relative * np.abs(expected).max()

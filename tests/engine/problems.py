"""Small training problems of the engine."""

import numpy as np

from dsgkit.engine.problem import Data, Fold, Problem, Steps, stacked
from dsgkit.features import random_features
from dsgkit.linalg import training_rows
from dsgkit.risks.pairwise import SemiSupervisedAUC


def rows(seed, n_labeled=30, n_unlabeled=50, d=3):
    """Return X, which rows are positive, and unlabelled rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, d), dtype=np.float32)
    positive = np.arange(n_labeled) % 3 == 0
    X[positive] += np.float32(0.3)
    return X, positive, rng.random((n_unlabeled, d), dtype=np.float32)


def problem(losses, n_unlabeled=50, folds=None, seed=10, **more):
    """Return the problem of losses of one model each, on all rows or outside of folds."""
    X, positive, U = rows(seed, n_unlabeled=n_unlabeled)
    data = Data(X, np.where(positive, 0, 1), U)
    pools, pools_u, parts = [np.arange(len(X))], None, [data]
    if folds is not None:
        folds = [fold if isinstance(fold, Fold) else Fold(fold) for fold in folds]
        pools = [training_rows(fold.labeled, len(X)) for fold in folds]
        if folds[0].unlabeled is not None:
            pools_u = [training_rows(fold.unlabeled, len(U)) for fold in folds]
        both = zip(pools, pools_u or [None] * len(pools), strict=True)
        parts = [data.take(own, own_u) for own, own_u in both]
    counts = [part.counts for part in parts for _ in losses]
    pool = np.repeat(np.arange(len(pools)), len(losses))
    loss = stacked(list(losses) * len(pools), counts)
    return Problem(data, loss, pool, [None] * len(pool), pools, pools_u, **more)


def auc(*gammas, **more):
    """Return the problem of models with these weights of the labelled pairs."""
    return problem([SemiSupervisedAUC(gamma) for gamma in gammas], **more)


def constant(etas, lam=1.0, last=np.inf):
    """Return constant steps."""
    etas = np.array(etas, np.float64)
    return Steps(np.full(len(etas), lam), np.full(len(etas), np.nan), 0 * etas, etas, last)


def blocks(m=6, seed=3, kernel="gaussian", sigma=1.0):
    return random_features(kernel, sigma, m, seed)


def close(actual, expected, relative=1e-4):
    """Return whether values agree relative to the size of the function."""
    return np.abs(actual - expected).max() <= relative * np.abs(expected).max()

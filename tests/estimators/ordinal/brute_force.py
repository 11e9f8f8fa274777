"""The ordinal risk spelled out pair by pair: what the closed forms are compared with."""

import numpy as np

from tests.estimators.brute_force import N, P, U, combine, pair_form


def ordinal_form(codes, n_unlabeled, gammas):
    """Return (M, v) of the mean over the cuts; ``gammas`` has one for every cut, dropped or not."""
    n = len(codes)
    forms = []
    for cut, gamma in enumerate(gammas):
        rows = {
            P: np.flatnonzero(codes > cut),
            N: np.flatnonzero(codes <= cut),
            U: np.arange(n, n + n_unlabeled),
        }
        if len(rows[P]) and len(rows[N]):
            terms = ((gamma, (P, N)), (1 - gamma, (P, U)), (1 - gamma, (U, N)))
            forms.append(combine(*((weight, pair_form(rows, *ab)) for weight, ab in terms)))
    return combine(*((1 / len(forms), form) for form in forms))


def ordinal_problem(n_labeled=25, n_unlabeled=30, n_inputs=3, n_classes=4, seed=0):
    """Return X, y in 1..n_classes of unequal sizes, X_unlabeled in float32."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, n_inputs)).astype(np.float32)
    score = X.sum(axis=1) + 0.2 * rng.normal(size=n_labeled)
    shares = np.cumsum(np.arange(1, n_classes)) / np.arange(1, n_classes + 1).sum()
    y = 1 + np.searchsorted(np.quantile(score, shares), score)
    return X, y, rng.random((n_unlabeled, n_inputs)).astype(np.float32)

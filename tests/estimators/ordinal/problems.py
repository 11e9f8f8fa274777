"""A small ordinal problem, and the ordinal risk spelled out pair by pair."""

import numpy as np

from tests.estimators.brute_force import N, P, U, combine, pair_form


def ordinal_problem(n_labeled=40, n_unlabeled=50, n_classes=4, seed=0, n_inputs=3):
    """Return X, codes from 0, X_unlabeled and their codes; noisy classes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled + n_unlabeled, n_inputs))
    score = X[:, :3] @ [1.0, 2.0, 0.5] + rng.normal(scale=0.25, size=len(X))
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X[:n_labeled], codes[:n_labeled], X[n_labeled:], codes[n_labeled:]


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

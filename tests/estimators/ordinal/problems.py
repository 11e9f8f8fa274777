"""A small ordinal problem."""

import numpy as np


def ordinal_problem(n_labeled=40, n_unlabeled=50, n_classes=4, seed=0, n_inputs=3):
    """Return X, codes from 0, X_unlabeled and their codes; noisy classes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled + n_unlabeled, n_inputs))
    score = X[:, :3] @ [1.0, 2.0, 0.5] + rng.normal(scale=0.25, size=len(X))
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X[:n_labeled], codes[:n_labeled], X[n_labeled:], codes[n_labeled:]

"""QSG-S2AUC as the papers' authors write it, in plain numpy: the baseline of the benchmarks.

Each iteration regenerates every earlier block of frequencies from its seed, evaluates the whole
batch of three times ``batch_size`` rows on it, and decays every coefficient.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fit(
    X: NDArray,
    y: NDArray,
    X_unlabeled: NDArray,
    *,
    n_iterations: int,
    batch_size: int = 256,
    n_features: int = 256,
    lam: float = 0.125,
    sigma: float = 1.0,
    gamma: float = 0.5,
    theta_lam: float = 1.5,
) -> NDArray:
    """Train one model (Algorithm 1 of Shi et al., IJCAI 2019).

    Labels are -1 and 1; the dtype of X, float32 or float64, is the precision of all computations.
    Returns the coefficients of each block, shape (n_iterations, 2 * n_features).
    """
    b, m = batch_size, n_features
    pools = X[y > 0], X[y <= 0], X_unlabeled
    draws = np.random.default_rng(0)
    alpha = np.zeros((n_iterations, 2 * m), X.dtype)
    for t in range(n_iterations):
        rows = np.concatenate([pool[draws.integers(0, len(pool), b)] for pool in pools])
        f = np.zeros(3 * b, X.dtype)
        for j in range(t):
            f += features(rows, j, m, sigma) @ alpha[j]
        c = np.concatenate(coefficients(f[:b], f[b : 2 * b], f[2 * b :], gamma)) / b
        alpha[:t] *= 1 - theta_lam / (t + 1)
        alpha[t] = -theta_lam / lam / (t + 1) * (features(rows, t, m, sigma).T @ c)
    return alpha


def coefficients(p: NDArray, n: NDArray, u: NDArray, gamma: float) -> list[NDArray]:
    """Return the derivatives of the triplets' losses with respect to the values of their rows."""
    pn, pu = 2 * gamma * (1 - p + n), 2 * (1 - gamma) * (1 - p + u)
    un = 2 * (1 - gamma) * (1 - u + n)
    return [-pn - pu, pn + un, pu - un]


def features(X: NDArray, block: int, n_features: int, sigma: float) -> NDArray:
    """Return the features of a block from its seed, shape (n, 2 * n_features)."""
    rng = np.random.default_rng(block)
    W = rng.standard_normal((X.shape[1], n_features), dtype=X.dtype.type)
    Z = X @ (W * X.dtype.type(np.sqrt(2 * sigma)))
    return np.concatenate([np.cos(Z), np.sin(Z)], axis=1) / X.dtype.type(np.sqrt(n_features))

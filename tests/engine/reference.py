"""The method as papers' authors write it: the oracle of the engine.

One model at a time, float64, numpy: every iteration makes every earlier block of frequencies
again, evaluates the whole batch on it and decays every coefficient.
"""

import numpy as np

from dsgkit.engine.draws import draw_in_passes, draw_with_replacement
from dsgkit.features.stream import normal_blocks


def features(X, seed, t, m, sigma):
    """phi_t(X) with the factor sqrt(1/m)."""
    W = normal_blocks(seed, t, 1, X.shape[1], m)[0].astype(np.float64) * np.sqrt(2 * sigma)
    Z = X.astype(np.float64) @ W
    return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(m)


def predict(X, alphas, seed, m, sigma):
    """Algorithm 2."""
    f = np.zeros(len(X))
    for t, alpha in enumerate(alphas):
        f += features(X, seed, t, m, sigma) @ alpha
    return f


def decreasing(lam, theta_lam, t0):
    """The step of iteration t, and what it leaves of earlier blocks."""
    return lambda t: (theta_lam / lam / (t + t0), 1 - theta_lam / (t + t0))


def qsg_s2auc(X, positive, XU, *, lam, sigma, gamma, theta_lam, t0, T, b, m, seed):
    """Algorithm 1 for one model; returns the list of coefficient vectors."""
    step = decreasing(lam, theta_lam, t0)
    return s2auc(X, positive, XU, step=step, sigma=sigma, gamma=gamma, T=T, b=b, m=m, seed=seed)


def s2auc(X, positive, XU, *, step, sigma, gamma, T, b, m, seed):
    """Algorithm 1 with any steps."""
    P, N = X[positive], X[~positive]
    alphas = []
    for t in range(1, T + 1):
        p = P[draw_with_replacement(seed, 0, t - 1, 1, b, len(P))[0]]
        n = N[draw_with_replacement(seed, 1, t - 1, 1, b, len(N))[0]]
        u = XU[draw_in_passes(seed, 2, t - 1, 1, b, len(XU))[0]]
        fp, fn, fu = (predict(rows, alphas, seed, m, sigma) for rows in (p, n, u))
        c_p = gamma * -2 * (1 - fp + fn) + (1 - gamma) * -2 * (1 - fp + fu)
        c_n = gamma * 2 * (1 - fp + fn) + (1 - gamma) * 2 * (1 - fu + fn)
        c_u = (1 - gamma) * (2 * (1 - fp + fu) - 2 * (1 - fu + fn))
        gradient = sum(
            features(rows, seed, t - 1, m, sigma).T @ c / b
            for rows, c in ((p, c_p), (n, c_n), (u, c_u))
        )
        eta, decay = step(t)
        alphas = [decay * alpha for alpha in alphas] + [-eta * gradient]
    return alphas

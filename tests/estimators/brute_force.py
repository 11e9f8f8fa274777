"""Risks spelled out pair by pair and row by row: what estimators are compared with."""

import numpy as np


def ranking(above, below):
    """Return the mean of (1 - a + b)^2 over all pairs."""
    return np.mean([[(1 - a + b) ** 2 for b in below] for a in above])


def semi_supervised(p, n, u, gamma):
    return gamma * ranking(p, n) + (1 - gamma) * (ranking(p, u) + ranking(u, n) - 0.5)


def pnu(p, n, u, eta, prior):
    if eta >= 0:
        corrected = (ranking(p, u) - prior * ranking(p, p)) / (1 - prior)
    else:
        corrected = (ranking(u, n) - (1 - prior) * ranking(n, n)) / prior
    return (1 - abs(eta)) * ranking(p, n) + abs(eta) * corrected


def ordinal(classes, u, gammas):
    """Return the mean over the cuts with rows on both sides, which weigh alike on a side."""
    risks = []
    for cut, gamma in enumerate(gammas, 1):
        above, below = np.concatenate(classes[cut:]), np.concatenate(classes[:cut])
        if len(above) and len(below):
            risks.append(semi_supervised(above, below, u, gamma))
    return np.mean(risks)


def hinge(z):
    return np.maximum(0, 1 - z)


def rounded(z):
    """The hinge with a parabola within 1/4 of its kink."""
    return np.where(abs(1 - z) < 0.25, (1.25 - z) ** 2, hinge(z))


def _ramp(z, s):
    return hinge(z) - np.maximum(0, s - z)


UNLABELED = {
    "shg": lambda r, s: hinge(abs(r)),
    "sshg": lambda r, s: hinge(abs(r)) ** 2 / 2,
    "ramp": lambda r, s: _ramp(r, s) + _ramp(-r, s),
    "da": lambda r, s: np.exp(-5 * r**2),
}
"""Losses of unlabelled rows in Table 2 of Geng et al., for both signs."""


def kernel(A, B, sigma):
    """Gaussian kernel from differences, not from norms."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    return np.exp(-sigma * ((A[:, None] - B) ** 2).sum(axis=2))


def problem(n_labeled=16, n_unlabeled=30, n_inputs=3, seed=0):
    """Return X, y (-1/+1), X_unlabeled in float32."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, n_inputs)).astype(np.float32)
    y = np.where(X.sum(axis=1) > np.median(X.sum(axis=1)), 1, -1)
    y[: n_labeled // 8] *= -1
    return X, y, rng.random((n_unlabeled, n_inputs)).astype(np.float32)


def folds_of(n, k, seed=0):
    return np.array_split(np.random.default_rng(seed).permutation(n), k)

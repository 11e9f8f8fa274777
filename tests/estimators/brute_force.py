"""Pairwise risks spelled out pair by pair: what the closed forms are compared with."""

import numpy as np

P, N, U = "p", "n", "u"


def pair_form(rows, a, b):
    """Return (M, v) of the mean of (1 - z_i + z_j)^2 over i in a, j in b, by a double loop."""
    n = sum(map(len, rows.values()))
    M, v = np.zeros((n, n)), np.zeros(n)
    for i in rows[a]:
        for j in rows[b]:
            difference = np.zeros(n)
            difference[i] += 1
            difference[j] -= 1
            M += np.outer(difference, difference) / (len(rows[a]) * len(rows[b]))
            v += difference / (len(rows[a]) * len(rows[b]))
    return M, v


def combine(*terms):
    return sum(c * M for c, (M, _) in terms), sum(c * v for c, (_, v) in terms)


def class_rows(positive, n_unlabeled):
    """Row numbers of each class; labelled rows first, in their own order."""
    n = len(positive)
    return {
        P: np.flatnonzero(positive),
        N: np.flatnonzero(~positive),
        U: np.arange(n, n + n_unlabeled),
    }


def samult_form(positive, n_unlabeled, gamma):
    rows = class_rows(positive, n_unlabeled)
    return combine(
        (gamma, pair_form(rows, P, N)),
        (1 - gamma, pair_form(rows, P, U)),
        (1 - gamma, pair_form(rows, U, N)),
    )


def pnu_form(positive, n_unlabeled, eta, prior):
    rows = class_rows(positive, n_unlabeled)
    if eta >= 0:
        weight = eta / (1 - prior)
        semi = (
            (weight, pair_form(rows, P, U)),
            (-weight * prior, pair_form(rows, P, P)),
        )
    else:
        weight = -eta / prior
        semi = (
            (weight, pair_form(rows, U, N)),
            (-weight * (1 - prior), pair_form(rows, N, N)),
        )
    return combine((1 - abs(eta), pair_form(rows, P, N)), *semi)


def minimise(M, v, Phi, penalty):
    """Minimise z'M z - 2 v'z + penalty |w|^2 over z = Phi w; None if there is no minimum."""
    A = Phi.T @ M @ Phi + penalty * np.eye(Phi.shape[1])
    if np.linalg.eigvalsh(A)[0] <= 0:
        return None
    return np.linalg.solve(A, Phi.T @ v)


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

"""Ordinal AUC: the mean over the cuts between k ordered classes of the semi-supervised AUC risk.

``R = 1/(k-1) sum_j [gamma_j R_PN^j + (1 - gamma_j) (R_PU^j + R_NU^j - 1/2)]``; the positive rows of
cut j are those of the classes above it, the negative ones those below, pooled in proportion to
their numbers (Shi et al., AAAI 2020, Eq. 8-10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Single
from dsgkit.system.jit import exact


def open_cuts(counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which cuts have rows on both sides.

    Parameters
    ----------
    counts : ndarray of int, shape (..., k)
        Rows of each class, in ascending order.

    Returns
    -------
    ndarray of bool, shape (..., k - 1)
    """
    below = counts.cumsum(axis=-1)[..., :-1]
    return (below > 0) & (below < counts.sum(axis=-1, keepdims=True))


@exact  # without contraction: with two classes, the bits of the binary objective
def _coefficients(f: Single, share: Single, weight: Single, gamma: Single) -> None:
    """Replace the stacked values by the result of `OrdinalAUCObjective.coefficients`."""
    k, n_models = f.shape[0] - 1, f.shape[2]
    one, two, b = np.float32(1.0), np.float32(2.0), np.float32(f.shape[1])
    labeled, rest = two * gamma, two * (one - gamma) / b
    P, N = np.empty(n_models, np.float32), np.empty(n_models, np.float32)
    c = np.empty((k + 1, n_models), np.float32)
    for i in range(f.shape[1]):
        u = f[k, i]
        c[:] = 0
        for j in range(k - 1):
            n_above = k - 1 - j
            P[:] = 0
            N[:] = 0
            for s in range(n_above):
                _add(share[j, s], f[s, i], P)
            for s in range(n_above, k):
                _add(share[j, s], f[s, i], N)
            for s in range(n_above):
                p = f[s, i]
                for g in range(n_models):
                    pn = labeled[j, g] * (one - p[g] + N[g]) / b
                    pu = rest[j, g] * (one - p[g] + u[g])
                    c[s, g] -= weight[j, g] * share[j, s, g] * (pn + pu)
            for s in range(n_above, k):
                n = f[s, i]
                for g in range(n_models):
                    pn = labeled[j, g] * (one - P[g] + n[g]) / b
                    un = rest[j, g] * (one - u[g] + n[g])
                    c[s, g] += weight[j, g] * share[j, s, g] * (pn + un)
            for g in range(n_models):
                pu, un = rest[j, g] * (one - P[g] + u[g]), rest[j, g] * (one - u[g] + N[g])
                c[k, g] += weight[j, g] * (pu - un)
        f[:, i] = c


@exact
def _add(weight: Single, values: Single, out: Single) -> None:
    for g in range(len(out)):
        out[g] += weight[g] * values[g]


class OrdinalAUCObjective:
    """The ordinal AUC risk for models that differ in gamma and in their training rows.

    Sources: the k classes from the highest to the lowest, then unlabelled rows. The i-th rows of
    the k + 1 batches form one tuple: in every cut, each row is paired with those of the other side
    and with the unlabelled one, weighted by the share of its class in its side. This is the
    expectation of drawing both classes of a pair by their shares.

    A cut without rows on one side is dropped, and the mean is over the others. A class without rows
    has weight 0: its batch may hold any row.

    Parameters
    ----------
    gamma : array-like of shape (G, k - 1)
        Weight of the labelled pairs in each cut, in 0..1; the first cut is above the lowest class.
    counts : array-like of int, shape (G, k)
        Training rows of each class, in ascending order, of two or more classes.
    """

    def __init__(self, gamma: NDArray[np.floating], counts: NDArray[np.integer]) -> None:
        self.gamma = np.asarray(gamma, np.float32)
        self.counts = np.asarray(counts)
        used = open_cuts(self.counts)
        self._weight = _by_cut(used / used.sum(axis=1, keepdims=True))
        self._share = _shares(self.counts)
        self._gamma = _by_cut(self.gamma)

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the batch's mean loss with respect to each drawn row's value."""
        stacked = np.stack(values)
        _coefficients(stacked, self._share, self._weight, self._gamma)
        return list(stacked)

    def take(self, models: slice) -> OrdinalAUCObjective:
        """Return the objective of some of the models."""
        return OrdinalAUCObjective(self.gamma[models], self.counts[models])


def _by_cut(table: NDArray[np.floating]) -> Single:
    """Return an array of shape (G, k - 1) with the cuts first."""
    return np.ascontiguousarray(table.T, np.float32)


def _shares(counts: NDArray[np.integer]) -> Single:
    """Return each source's share of its side of each cut, shape (k - 1, k, G)."""
    k = counts.shape[1]
    n = counts[:, ::-1].T.astype(np.float64)  # sources begin with the highest class
    share = np.zeros((k - 1, k, len(counts)))
    for j in range(k - 1):
        for side in (slice(0, k - 1 - j), slice(k - 1 - j, k)):
            share[j, side] = n[side] / np.maximum(n[side].sum(axis=0), 1)
    return share.astype(np.float32)

"""Hessians of many models from one eigendecomposition, if labelled rows are few.

Models with the same batch of unlabelled rows share ``Phi_u'Phi_u``: in its eigenbasis
``N = mu I + 2 d_u Phi_u'Phi_u / n_u`` is diagonal, whatever mu and d_u. The rest of a Hessian is
``R'J R`` with the features R of the labelled rows and, last, the mean of the unlabelled ones; so

    (N + R'J R)^-1 g = N^-1 [ g - R'J (I + P J)^-1 R N^-1 g ],   P = R N^-1 R'.

All folds share P, and each model needs only a system of the size of its labelled rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dsgkit.engine.block_problem import BlockProblem, Rows
from dsgkit.engine.hessians import BlockFeatures, Moments
from dsgkit.linalg import EIGH_FLOPS, Array, eigh

_FURTHER_PRODUCTS = 300
"""Overhead of each model's system, in matrix-vector products of its size."""


@dataclass(frozen=True, eq=False)
class _Group:
    """The rows of R that a group is trained on.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
    source : ndarray of int, shape (r,)
        Source of each row.
    means : ndarray of shape (r, n_sources)
        W; its columns compute the means of the sources.
    weight : ndarray of shape (r,)
        Weight of each row in its source; 0 for the mean of the unlabelled ones, whose own term is
        in N.
    """

    rows: Rows
    source: Rows
    means: Array
    weight: Array


class RowHessians:
    """The Hessians of a run, as low-rank changes of a matrix that models share.

    Parameters and attributes are those of `BlockHessians`. It needs ``Phi'Phi`` of the unlabelled
    rows and the features of labelled ones.
    """

    needs_rows = True

    def __init__(self, problem: BlockProblem, mu: Array) -> None:
        p, objective = problem, problem.quadratic
        self._diagonal, self._cross = objective.diagonal, objective.cross
        self._group_of, self._mu = p.group, mu
        self.needs_gram: NDArray[np.bool_] = np.zeros(self._diagonal.shape[1], bool)
        self.needs_gram[-1] = (self._diagonal[:, -1] != 0).any()
        self._groups = [_group(group.labeled, p.X.shape[0]) for group in p.groups]
        pool = p.group if p.pooled else np.zeros(p.n_models, np.int64)
        self._pools: dict[int, dict[tuple[float, float], list[int]]] = {}
        for model in range(p.n_models):
            key = float(mu[model]), float(self._diagonal[model, -1])
            shared = self._pools.setdefault(int(pool[model]), {})
            shared.setdefault(key, []).append(model)

    @staticmethod
    def flops(problem: BlockProblem, mu: Array) -> float:
        """Return the approximate operations of a step, in matrix products."""
        width, n_rows = problem.features.width, problem.X.shape[0] + 1
        pool = problem.group if problem.pooled else np.zeros(problem.n_models)
        weights = problem.quadratic.diagonal[:, -1]
        n_shared = len(np.unique(np.column_stack([pool, mu, weights]), axis=0))
        n_pools = len(np.unique(pool))
        return (
            n_pools * EIGH_FLOPS * width**3
            + n_shared * 2.0 * n_rows**2 * width
            + problem.n_models * n_rows**2 * (n_rows / 3 + _FURTHER_PRODUCTS)
        )

    def solve(self, features: BlockFeatures, gradient: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding.

        Parameters
        ----------
        features : BlockFeatures
        gradient : ndarray of shape (width, G)
        """
        assert features.labeled is not None
        solution = np.empty_like(gradient)
        for shared in self._pools.values():
            members = [model for models in shared.values() for model in models]
            unlabeled = features.moments[self._group_of[members[0]]][-1]
            R = np.vstack([features.labeled, unlabeled.total / unlabeled.n_rows])
            spectrum, vectors = _eigenbasis(unlabeled)
            if vectors is None:
                solution[:, members] = self._solve(shared, R, spectrum, gradient[:, members])
                continue
            g = vectors.T @ gradient[:, members]
            solution[:, members] = vectors @ self._solve(shared, R @ vectors, spectrum, g)
        return solution

    def _solve(
        self,
        shared: dict[tuple[float, float], list[int]],
        R: Array,
        spectrum: Array,
        gradient: Array,
    ) -> Array:
        """Return the solutions of models in the eigenbasis, in the order of ``shared``."""
        out, first = np.empty_like(gradient), 0
        for (mu, weight), models in shared.items():
            columns = slice(first, first + len(models))
            first += len(models)
            N = (mu + 2 * weight * spectrum)[:, None]
            g = gradient[:, columns] / N
            scaled = R / np.sqrt(N.T)
            P = scaled @ scaled.T
            z = R @ g
            y = np.zeros_like(z)
            for column, model in enumerate(models):
                rows = self._groups[self._group_of[model]].rows
                y[rows, column] = self._within(model, P, z[:, column])
            out[:, columns] = g - (R.T @ y) / N
        return out

    def _within(self, model: int, P: Array, z: Array) -> Array:
        """Return ``J (I + P J)^-1 z`` at the rows of a model's group.

        ``J = diag(d) + W S W'``. Without the second term the system has the symmetric form
        ``I + sqrt(d) P sqrt(d)``; the second term has the rank of W and enters through ``s = W'x``.
        """
        group = self._groups[self._group_of[model]]
        P, z = P[np.ix_(group.rows, group.rows)], z[group.rows]
        W, S = group.means, 2 * self._cross[model]
        d = 2 * self._diagonal[model][group.source] * group.weight
        root = np.sqrt(d)
        A = P * root
        A *= root[:, None]
        np.einsum("ii->i", A)[:] += 1
        right = np.empty((len(z), 1 + len(S)))
        right[:, 0], right[:, 1:] = z, P @ W
        # LAPACK, as the checks of `linalg.cho_factor` take as long as these small systems
        factor, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return np.full(len(z), np.nan)
        solved, _ = lapack.dpotrs(factor, root[:, None] * right, lower=1)
        right -= P @ (root[:, None] * solved)
        projected = W.T @ right
        s = np.linalg.solve(np.eye(len(S)) + projected[:, 1:] @ S, projected[:, 0])
        x = right[:, 0] - right[:, 1:] @ (S @ s)
        return np.asarray(d * x + W @ (S @ s))


def _group(labeled: Sequence[Rows], n_labeled: int) -> _Group:
    """Return the rows of R for a group: its labelled rows by source, and the unlabelled mean."""
    rows = np.concatenate([*labeled, [n_labeled]]).astype(np.int64)
    source = np.repeat(np.arange(len(labeled) + 1), [*map(len, labeled), 1])
    means = np.zeros((len(rows), len(labeled) + 1))
    means[np.arange(len(rows)), source] = 1 / np.bincount(source)[source]
    return _Group(rows, source, means, means[:, :-1].sum(axis=1))


def _eigenbasis(unlabeled: Moments) -> tuple[Array, Array | None]:
    """Return eigenvalues and eigenvectors of ``Phi_u'Phi_u / n_u``; without it, 0 and None."""
    if unlabeled.gram is None:
        return np.zeros(len(unlabeled.total)), None
    return eigh(np.asfortranarray(unlabeled.gram / unlabeled.n_rows))

"""Minimisers of the similar-unlabelled risk with the squared loss: one linear system.

With ``l(z, t) = (t z - 1)^2/4`` the risk is, up to a constant, ``mean_U f^2/4 + c_u mean_U f -
c_s mean_S f`` with ``c_u = 1/(2 (2 pi - 1))`` and ``c_s = pi_S/(2 pi - 1)``: its matrix does not
depend on the prior. S are the points of all pairs, U the unlabelled rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from dsgkit.numerics.linear_systems import eigh, solve_penalised
from dsgkit.numerics.rows import row_blocks
from dsgkit.objectives.similar_unlabeled import similar_share

Array = NDArray[np.float64]
FeatureMap = Callable[[Any], NDArray[np.floating]]

BLOCK_ROWS = 8192
"""Rows whose features are held at a time."""

SINGULAR_SYSTEM = "the regulariser is so small that the system is singular to rounding; enlarge lam"


def weights(prior: float) -> tuple[float, float]:
    """Return c_s and c_u, the weights of the means of f."""
    return similar_share(prior) / (2 * prior - 1), 0.5 / (2 * prior - 1)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of the features of some rows.

    Attributes
    ----------
    gram : ndarray of shape (n_features, n_features)
        Lower triangle of ``Phi'Phi``, Fortran-contiguous.
    total : ndarray of shape (n_features,)
        Sum of the features.
    n_rows : int
    """

    gram: Array
    total: Array
    n_rows: int

    def less(self, other: Moments | None) -> Moments:
        """Return the moments without those of some of the rows, as a copy."""
        if other is None:
            return Moments(self.gram.copy(order="F"), self.total, self.n_rows)
        return Moments(self.gram - other.gram, self.total - other.total, self.n_rows - other.n_rows)


def moments(features: FeatureMap, X: Any, rows: NDArray[np.integer] | None = None) -> Moments:
    """Accumulate the moments of rows in double precision, block by block.

    Parameters
    ----------
    features : callable
        Takes rows to their features, shape (n, n_features), float32 or float64; refuses those with
        NaN or infinite values.
    X : rows
        At least one.
    rows : int array, optional
        Positions of those to take; by default all.
    """
    n_rows = len(X) if rows is None else len(rows)
    gram, total = None, 0.0
    for block in row_blocks(n_rows, BLOCK_ROWS):
        Phi = features(X[block] if rows is None else X[rows[block]])
        gram = _add_gram(gram, Phi)
        total = total + Phi.sum(axis=0, dtype=np.float64)
        del Phi  # before the next block is allocated
    assert gram is not None
    return Moments(gram, np.asarray(total), n_rows)


def _add_gram(gram: Array | None, Phi: NDArray[np.floating]) -> Array:
    """Add ``Phi'Phi`` to the lower triangle of ``gram``, in place."""
    if gram is None:
        gram = np.zeros((Phi.shape[1], Phi.shape[1]), order="F")
    if Phi.dtype == np.float64:
        return blas.dsyrk(1.0, Phi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    gram += blas.ssyrk(1.0, Phi.T, lower=1)
    return gram


def mean_features(features: FeatureMap, X: Any) -> Array:
    """Return the mean features of rows."""
    total = 0.0
    for block in row_blocks(len(X), BLOCK_ROWS):
        total = total + features(X[block]).sum(axis=0, dtype=np.float64)
    return np.asarray(total) / len(X)


def evaluate(
    features: FeatureMap, X: Any, coefficients: Array, rows: NDArray[np.integer] | None = None
) -> Array:
    """Return ``Phi w`` at rows, for one w or for every column of an array of them."""
    n_rows = len(X) if rows is None else len(rows)
    values = np.empty((n_rows, *coefficients.shape[1:]))
    for block in row_blocks(n_rows, BLOCK_ROWS):
        Phi = features(X[block] if rows is None else X[rows[block]])
        values[block] = Phi.astype(np.float64, copy=False) @ coefficients
    return values


def solve_primal(unlabeled: Moments, mean_similar: Array, lam: float, prior: float) -> Array:
    """Return the w that minimises the risk of ``f = Phi w`` plus ``lam/2 ||w||^2``.

    Destroys ``unlabeled.gram``.

    Raises
    ------
    FitError
        If the system is singular to rounding.
    """
    right = _primal_right(unlabeled, mean_similar, prior)
    matrix = unlabeled.gram
    matrix *= 0.5 / unlabeled.n_rows
    return solve_penalised(matrix, lam, right, singular=SINGULAR_SYSTEM)


def solve_primal_grid(
    unlabeled: Moments, mean_similar: Array, lams: Sequence[float], priors: Sequence[float]
) -> Array:
    """Return the minimisers of many settings from one eigendecomposition, a column for each.

    Destroys ``unlabeled.gram``.
    """
    spectrum, vectors = eigh(unlabeled.gram)
    right = np.column_stack([_primal_right(unlabeled, mean_similar, prior) for prior in priors])
    right = vectors.T @ right
    right /= spectrum[:, None] / (2 * unlabeled.n_rows) + np.asarray(lams)
    return vectors @ right


def _primal_right(unlabeled: Moments, mean_similar: Array, prior: float) -> Array:
    c_s, c_u = weights(prior)
    return c_s * mean_similar - c_u * unlabeled.total / unlabeled.n_rows


def solve_dual(gram: Array, mean_similar: Array, lam: float, prior: float) -> tuple[Array, float]:
    """Return the f that minimises the risk plus ``lam/2 ||f||^2`` in the space of a kernel.

    ``f(x) = sum_i a_i k(u_i, x) + b mean_S k(s, x)``: all points of pairs have the same
    coefficient.

    Parameters
    ----------
    gram : ndarray of shape (n_unlabeled, n_unlabeled)
        Kernel of the unlabelled rows; destroyed.
    mean_similar : ndarray of shape (n_unlabeled,)
        ``mean_S k(s, u)`` at the unlabelled rows u.
    lam, prior : float

    Returns
    -------
    a : ndarray of shape (n_unlabeled,)
    b : float

    Raises
    ------
    FitError
        If the system is singular to rounding.
    """
    c_s, c_u = weights(prior)
    right = -c_s / lam * mean_similar - 2 * c_u
    a = solve_penalised(gram.T, 2 * len(gram) * lam, right, singular=SINGULAR_SYSTEM)
    return a, c_s / lam


def solve_dual_grid(
    gram: Array, mean_similar: Array, lams: Sequence[float], priors: Sequence[float]
) -> tuple[Array, Array]:
    """Return what `solve_dual` does for many settings, from one eigendecomposition.

    Returns
    -------
    a : ndarray of shape (n_unlabeled, n_settings)
    b : ndarray of shape (n_settings,)
    """
    c_s, c_u = np.array([weights(prior) for prior in priors]).T
    penalties = np.asarray(lams)
    spectrum, vectors = eigh(gram.T)
    of_similar, of_ones = vectors.T @ mean_similar, vectors.sum(axis=0)
    right = -np.outer(of_similar, c_s / penalties) - np.outer(of_ones, 2 * c_u)
    right /= spectrum[:, None] + 2 * len(spectrum) * penalties
    return vectors @ right, c_s / penalties

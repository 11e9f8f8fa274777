"""Closed-form fits with explicit features, accumulated in one pass over the unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from dsgkit.linalg import Array, row_blocks
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.trainers.linear import BLOCK_ROWS, FeatureMap
from dsgkit.trainers.responses import (
    Codes,
    PrimalResponse,
    cholesky,
    label_weights,
    primal_response,
)


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Statistics of the rows from which a closed form is computed.

    Attributes
    ----------
    labeled : ndarray of shape (n_labeled, n_features)
        Features of the labelled rows.
    gram : ndarray of shape (n_features, n_features)
        Lower triangle of ``Phi_u'Phi_u``, Fortran-contiguous.
    mean : ndarray of shape (n_features,)
        Mean feature of the unlabelled rows.
    """

    labeled: Array
    gram: Array
    mean: Array
    n_unlabeled: int


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of the features of some rows.

    Attributes
    ----------
    gram : ndarray of shape (n_features, n_features)
        Lower triangle of ``Phi'Phi``, Fortran-contiguous.
    total : ndarray of shape (n_features,)
        Sum of the features.
    """

    gram: Array
    total: Array
    n_rows: int

    def less(self, other: Moments | None) -> Moments:
        """Return a copy of the moments without those of some of the rows."""
        if other is None:
            return Moments(self.gram.copy(order="F"), self.total, self.n_rows)
        return Moments(self.gram - other.gram, self.total - other.total, self.n_rows - other.n_rows)


def moments(
    features: FeatureMap,
    X: Any,
    rows: NDArray[np.integer] | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Moments:
    """Accumulate the moments of rows in double precision, block by block.

    Parameters
    ----------
    features : callable
        Maps rows to their features, shape (n, n_features), float32 or float64; raises for NaN and
        infinite values.
    X : rows
        At least one.
    rows : int array, optional
        Positions of the rows to use; by default all.
    block_rows : int
    """
    n_rows = len(X) if rows is None else len(rows)
    gram, total = None, 0.0
    for block in row_blocks(n_rows, block_rows):
        Phi = features(X[block] if rows is None else X[rows[block]])
        if gram is None:
            gram = np.zeros((Phi.shape[1], Phi.shape[1]), order="F")
        gram = _add_gram(gram, Phi)
        total = total + Phi.sum(axis=0, dtype=np.float64)
        del Phi  # before the next block is allocated
    assert gram is not None
    return Moments(gram, np.asarray(total), n_rows)


def mean_features(features: FeatureMap, X: Any) -> Array:
    """Return the mean features of rows."""
    total = 0.0
    for block in row_blocks(len(X), BLOCK_ROWS):
        total = total + features(X[block]).sum(axis=0, dtype=np.float64)
    return np.asarray(total) / len(X)


def feature_moments(
    features: FeatureMap, X: Any, X_unlabeled: Any, block_rows: int = BLOCK_ROWS
) -> FeatureMoments:
    """Accumulate `FeatureMoments` over blocks of unlabelled rows; see `moments`."""
    unlabeled = moments(features, X_unlabeled, block_rows=block_rows)
    labeled = features(X[:]).astype(np.float64, copy=False)
    n = unlabeled.n_rows
    return FeatureMoments(labeled, unlabeled.gram, unlabeled.total / n, n)


def _add_gram(gram: Array, Phi: NDArray[np.floating], scale: float = 1.0) -> Array:
    """Add ``scale * Phi'Phi`` to the lower triangle of ``gram``, in place."""
    if Phi.dtype == np.float64:
        return blas.dsyrk(scale, Phi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    gram += blas.ssyrk(scale, Phi.T, lower=1)
    return gram


def solve(moments: FeatureMoments, codes: Codes, risk: PairwiseRisk, penalty: float) -> Array:
    """Return the minimiser w of ``risk(Phi w) + penalty ||w||^2``; overwrites ``moments.gram``.

    Raises
    ------
    IndefiniteError, FitError
        If there is no minimiser, or it cannot be computed.
    """
    weights = label_weights(codes, risk.n_classes)
    means = np.column_stack([moments.labeled.T @ weights, moments.mean])
    matrix = moments.gram
    matrix *= risk.diagonal[-1] / moments.n_unlabeled
    for code in np.unique(codes):
        rows = codes == code
        matrix = _add_gram(matrix, moments.labeled[rows], risk.diagonal[code] / rows.sum())
    matrix = blas.dsyr2k(0.5, means, means @ risk.cross, beta=1.0, c=matrix, lower=1, overwrite_c=1)
    np.einsum("ii->i", matrix)[:] += penalty
    return linalg.cho_solve(cholesky(matrix, risk), means @ risk.linear, check_finite=False)


def moments_response(moments: FeatureMoments) -> PrimalResponse:
    """Return the response for a grid of closed forms; overwrites ``moments.gram``."""
    return PrimalResponse(np.vstack([moments.labeled, moments.mean]), moments.gram)


def moments_response_at(moments: FeatureMoments, penalty: float, weight: float) -> Array:
    """Return the response at one penalty and weight; overwrites ``moments.gram``."""
    features = np.vstack([moments.labeled, moments.mean])
    return primal_response(features, moments.gram, penalty, weight)

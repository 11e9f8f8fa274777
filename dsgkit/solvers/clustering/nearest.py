"""Clusters of rows by their nearest row of known cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_argmin

from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import row_blocks
from dsgkit.solvers.clustering.centre import middle
from dsgkit.solvers.clustering.label_tree import LabelTree
from dsgkit.system.progress import report

MAX_TREE_INPUTS = 15
"""Columns up to which a k-d tree is faster than all distances."""

BLOCK_ROWS = 2**15
"""Rows that are assigned at a time."""

CANCELLATION_RATIO = 2.0**-30
"""Squared distance, relative to the squared norms that it is made of, up to which it is computed
again: from products it is within some 2^-50 of these."""

_EXACT_DISTANCES = 2**20
"""Distances that are computed from differences together."""


class NearestRow:
    """Known clusters of some rows, and those of others by the nearest of these.

    Parameters
    ----------
    X : rows of shape (n, n_inputs)
    rows : ndarray of int64, shape (m,)
        The rows of known cluster, of which a copy is kept if there are several clusters.
    labels : ndarray of int64, shape (m,)
        Their clusters.
    """

    def __init__(self, X: Any, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
        self._first = int(labels[0])
        self._known: LabelTree | _Products | None = None
        if (labels != labels[0]).any():
            points = np.ascontiguousarray(X[rows], np.float64)
            few = X.shape[1] <= MAX_TREE_INPUTS
            self._known = LabelTree(points, labels) if few else _Products(points, labels)

    def labels_of(self, X: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the clusters of some rows of ``X``, shape (len(rows),)."""
        found = np.full(len(rows), self._first)
        if self._known is not None:
            for block in row_blocks(len(rows), BLOCK_ROWS):
                some = np.ascontiguousarray(X[rows[block]], np.float64)
                found[block] = self._known.nearest_labels(some)
                report(block.stop / len(rows))
        return found


class _Products:
    """Points of known label, whose distances are computed by matrix products.

    They are seen from their middle: a common offset would cancel all digits of the distances. Where
    their spread does so, distances are computed from differences.
    """

    def __init__(self, points: Array, labels: NDArray[np.int64]) -> None:
        self._points, self._labels = points, labels
        self._centre = middle(points)

    def nearest_labels(self, X: Array) -> NDArray[np.int64]:
        """Return the label of the nearest point to each row, of equally near ones the first."""
        rows, points = X - self._centre, self._points - self._centre
        found = pairwise_distances_argmin(rows, points)
        with np.errstate(over="ignore"):
            nearest = _squared_norms(rows - points[found])
            largest = _squared_norms(rows) + _squared_norms(points).max()
            doubtful = np.flatnonzero((nearest > 0) & ~(nearest > CANCELLATION_RATIO * largest))
        for some in row_blocks(len(doubtful), max(1, _EXACT_DISTANCES // len(points))):
            distances = cdist(X[doubtful[some]], self._points, "sqeuclidean")
            found[doubtful[some]] = distances.argmin(axis=1)
        return self._labels[found]


def _squared_norms(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))

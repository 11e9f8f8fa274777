"""Clusters of rows from their nearest row with a known cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_argmin

from dsgkit.linalg import Array, row_blocks
from dsgkit.solvers.clustering.centre import middle
from dsgkit.solvers.clustering.label_tree import LabelTree
from dsgkit.system.progress import report

MAX_TREE_INPUTS = 15
"""Most columns for which a k-d tree is faster than all distances."""

BLOCK_ROWS = 2**15
"""Rows per block."""

CANCELLATION_RATIO = 2.0**-30
"""Squared distances below this multiple of the squared norms are computed again from differences:
from products, their error is some 2^-50 of the norms."""

_EXACT_DISTANCES = 2**20
"""Distances from differences per block."""


class NearestRow:
    """Classifier of rows by the nearest row with a known cluster.

    Parameters
    ----------
    X : rows of shape (n, n_inputs)
    rows : ndarray of int64, shape (m,)
        Rows with a known cluster, which are copied if there are several clusters.
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
        labels = np.full(len(rows), self._first)
        if self._known is not None:
            for block in row_blocks(len(rows), BLOCK_ROWS):
                points = np.ascontiguousarray(X[rows[block]], np.float64)
                labels[block] = self._known.nearest_labels(points)
                report(block.stop / len(rows))
        return labels


class _Products:
    """Labelled points whose distances are computed by matrix products.

    Points are taken relative to their centre, as a common offset would cancel all digits of the
    distances. Distances that their spread cancels are computed from differences.
    """

    def __init__(self, points: Array, labels: NDArray[np.int64]) -> None:
        self._points, self._labels = points, labels
        self._centre = middle(points)

    def nearest_labels(self, X: Array) -> NDArray[np.int64]:
        """Return the label of the point nearest to each row, of equally near ones the first."""
        rows, points = X - self._centre, self._points - self._centre
        nearest = pairwise_distances_argmin(rows, points)
        with np.errstate(over="ignore"):
            squared = _squared_norms(rows - points[nearest])
            norms = _squared_norms(rows) + _squared_norms(points).max()
            inexact = np.flatnonzero((squared > 0) & ~(squared > CANCELLATION_RATIO * norms))
        for block in row_blocks(len(inexact), max(1, _EXACT_DISTANCES // len(points))):
            distances = cdist(X[inexact[block]], self._points, "sqeuclidean")
            nearest[inexact[block]] = distances.argmin(axis=1)
        return self._labels[nearest]


def _squared_norms(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))

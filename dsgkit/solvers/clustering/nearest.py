"""Clusters of rows by their nearest row of known cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.metrics import pairwise_distances_argmin

from dsgkit.kernels.gaussian import row_blocks
from dsgkit.progress import report
from dsgkit.threads import thread_counts

Array = NDArray[np.float64]

MOST_TREE_INPUTS = 15
"""Columns up to which a k-d tree is faster than all distances."""

BLOCK = 2**15
"""Rows that are assigned at a time."""


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
        self._labels = labels[:1].copy()
        self._points = self._tree = None
        if (labels != labels[0]).any():
            self._labels = labels
            self._points = np.ascontiguousarray(X[rows], np.float64)
            if X.shape[1] <= MOST_TREE_INPUTS:
                # cut in the middle of its cells: rows with a column in common have no median
                self._tree = cKDTree(self._points, balanced_tree=False)

    def labels_of(self, X: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the clusters of some rows of ``X``, shape (len(rows),)."""
        labels = np.full(len(rows), self._labels[0])
        if self._points is not None:
            for block in row_blocks(len(rows), BLOCK):
                labels[block] = self._labels[self._nearest(np.asarray(X[rows[block]], np.float64))]
                report(block.stop / len(rows))
        return labels

    def _nearest(self, X: Array) -> NDArray[np.int64]:
        if self._tree is None:
            return pairwise_distances_argmin(X, self._points)
        return self._tree.query(X, workers=thread_counts()[0])[1]

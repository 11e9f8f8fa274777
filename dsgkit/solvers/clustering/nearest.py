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
    """The clusters of rows, and of others by the nearest of these.

    Parameters
    ----------
    points : ndarray of shape (n, n_inputs)
    labels : ndarray of int64, shape (n,)
    """

    def __init__(self, points: Array, labels: NDArray[np.int64]) -> None:
        self._points = points
        self._labels = labels
        self._same = bool((labels == labels[0]).all())
        # cutting in the middle of the cells is quicker than at medians, which ties may share
        by_tree = not self._same and points.shape[1] <= MOST_TREE_INPUTS
        self._tree = cKDTree(points, balanced_tree=False) if by_tree else None

    def labels_of(self, X: Any) -> NDArray[np.int64]:
        """Return the clusters of the rows of ``X``, shape (n,)."""
        labels = np.full(len(X), self._labels[0])
        if not self._same:
            for block in row_blocks(len(X), BLOCK):
                labels[block] = self._labels[self._nearest(np.asarray(X[block], np.float64))]
                report(block.stop / len(X))
        return labels

    def _nearest(self, X: Array) -> NDArray[np.int64]:
        if self._tree is None:
            return pairwise_distances_argmin(X, self._points)
        return self._tree.query(X, workers=thread_counts()[0])[1]

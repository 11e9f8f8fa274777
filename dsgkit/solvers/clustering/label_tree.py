"""k-d tree that finds the label of the nearest neighbour without always finding the neighbour.

Once a candidate is known, boxes whose points all have its label cannot change the answer. Only the
other boxes are searched, for a nearer point with another label. For well-separated clusters this
ends at once, however many points and columns there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from dsgkit.linalg import Array
from dsgkit.system.jit import exact, exact_parallel, prange

Labels = NDArray[np.int64]

LEAF_POINTS = 16
"""Least points of a leaf; it has up to twice as many."""

_MIXED_LABEL = -1
"""Label of a box whose points have several labels."""


class _Boxes(NamedTuple):
    """Binary tree of boxes around points: the children of ``i`` are ``2 i + 1`` and ``2 i + 2``.

    Attributes
    ----------
    bounds : ndarray of shape (n_boxes, 2, n_inputs)
    starts, stops : ndarray of int64, shape (n_boxes,)
        Ranges of their points.
    only : ndarray of int64, shape (n_boxes,)
        Common label of the points, or `_MIXED_LABEL`.
    """

    bounds: Array
    starts: Labels
    stops: Labels
    only: Labels


class LabelTree:
    """Labelled points in a k-d tree.

    Parameters
    ----------
    points : ndarray of shape (m, n_inputs)
        Copied.
    labels : ndarray of int64, shape (m,)
        From 0 on.
    """

    def __init__(self, points: Array, labels: Labels) -> None:
        _, order, nodes, bounds = KDTree(points, leaf_size=LEAF_POINTS).get_arrays()
        self._order = np.asarray(order, np.int64)
        self._labels = labels[self._order]
        self._columns = points.T.take(self._order, axis=1)
        starts, stops = nodes["idx_start"].copy(), nodes["idx_end"].copy()
        self._boxes = _Boxes(
            np.ascontiguousarray(np.asarray(bounds).transpose(1, 0, 2)),
            starts,
            stops,
            _labels_of_boxes(starts, stops, self._labels),
        )
        self._largest = int((stops - starts)[len(starts) // 2 :].max())

    def nearest_labels(self, X: Array) -> Labels:
        """Return the label of the point nearest to each row, of equally near ones the first."""
        return _nearest_labels(
            X, self._columns, self._order, self._labels, self._boxes, self._largest
        )


@exact
def _labels_of_boxes(starts, stops, labels):  # type: ignore[no-untyped-def]
    """Return the common label of each box, or `_MIXED_LABEL`."""
    only = np.empty(len(starts), np.int64)
    for box in range(len(starts) - 1, -1, -1):
        child = 2 * box + 1
        if child < len(starts):
            only[box] = only[child] if only[child] == only[child + 1] else _MIXED_LABEL
        else:
            only[box] = labels[starts[box]]
            for j in range(starts[box], stops[box]):
                if labels[j] != only[box]:
                    only[box] = _MIXED_LABEL
    return only


@exact_parallel
def _nearest_labels(X, columns, order, labels, boxes, largest):  # type: ignore[no-untyped-def]
    """Return the label of the point nearest to each row."""
    result = np.empty(len(X), np.int64)
    for i in prange(len(X)):
        squared = np.empty(largest)
        result[i] = _nearest_label(X[i], columns, order, labels, boxes, squared)
    return result


@exact
def _nearest_label(x, columns, order, labels, boxes, squared):  # type: ignore[no-untyped-def]
    """Return the label of the nearest point; ``squared`` is a buffer for the points of a leaf."""
    leaf = _leaf_near(x, boxes.bounds)
    best, nearest = _nearer(x, columns, order, boxes, leaf, math.inf, 0, squared)
    again = True
    while again:
        best, nearest, again = _search(x, columns, order, labels, boxes, best, nearest, squared)
    return labels[nearest]


@exact
def _search(x, columns, order, labels, boxes, best, nearest, squared):  # type: ignore[no-untyped-def]
    """Search for a nearer point; return its squared distance and place, and whether to repeat.

    Boxes are skipped if they only have the current label; if that changed later, the search must be
    repeated.
    """
    n_levels = int(math.log2(len(boxes.only) + 1))
    left, gaps = np.empty(n_levels + 1, np.int64), np.empty(n_levels + 1)
    left[0], gaps[0], n_left = 0, _gap(x, boxes.bounds[0]), 1
    skipped = changed = False
    while n_left > 0:
        n_left -= 1
        box = left[n_left]
        if gaps[n_left] > best:
            continue
        if boxes.only[box] == labels[nearest]:
            skipped = True
            continue
        child = 2 * box + 1
        if child >= len(boxes.only):
            label = labels[nearest]
            best, nearest = _nearer(x, columns, order, boxes, box, best, nearest, squared)
            changed = changed or labels[nearest] != label
            continue
        first, second = _gap(x, boxes.bounds[child]), _gap(x, boxes.bounds[child + 1])
        # the last one, the nearer child, is visited next
        near = 1 if first <= second else 0
        left[n_left + near], gaps[n_left + near] = child, first
        left[n_left + 1 - near], gaps[n_left + 1 - near] = child + 1, second
        n_left += 2
    return best, nearest, skipped and changed


@exact
def _leaf_near(x, bounds):  # type: ignore[no-untyped-def]
    """Return the leaf reached by always descending into the nearer child."""
    box = 0
    while 2 * box + 1 < len(bounds):
        child = 2 * box + 1
        box = child if _gap(x, bounds[child]) <= _gap(x, bounds[child + 1]) else child + 1
    return box


@exact
def _gap(x, bounds):  # type: ignore[no-untyped-def]
    """Return the squared distance of a point from a box, a lower bound for the points inside."""
    squared = 0.0
    for k in range(len(x)):
        outside = max(bounds[0, k] - x[k], x[k] - bounds[1, k], 0.0)
        squared += outside * outside
    return squared


@exact
def _nearer(x, columns, order, boxes, leaf, best, nearest, squared):  # type: ignore[no-untyped-def]
    """Return the squared distance and place of the nearest point, given that before this leaf."""
    start, stop = boxes.starts[leaf], boxes.stops[leaf]
    n = stop - start
    squared[:n] = 0.0
    for k in range(len(x)):
        coordinate, centre = columns[k, start:stop], x[k]
        for j in range(n):
            difference = coordinate[j] - centre
            squared[j] += difference * difference
    for j in range(n):
        if squared[j] < best or (squared[j] == best and order[start + j] < order[nearest]):
            best, nearest = squared[j], start + j
    return best, nearest

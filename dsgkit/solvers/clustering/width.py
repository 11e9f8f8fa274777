"""Kernel width chosen by the number of neighbours of a row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dsgkit.linalg import Array, spaced

MAX_ROWS = 500
"""Most rows used; evenly spaced ones if there are more."""

_FEWEST = 7
"""Least neighbours, but at most half of the rows."""

_RANGE = -10, 20
"""Range of log2(gamma), with gamma in units of the inverse variance."""

_HALVINGS = 40


def gamma_of_neighbours(X: Any, share: float, variance: float) -> float:
    """Return the gamma at which a row has a given share of all rows as neighbours.

    The neighbours of row i are counted by the perplexity ``exp(-sum_j p_j log p_j)`` of
    ``p_j = exp(-gamma ||x_i - x_j||^2)``, scaled to sum to 1 over all rows j that differ from row
    i [1]_: k rows at one distance, all others far away, count as k. The geometric mean of these
    numbers equals the share of all rows. Unlike a rule based on the variance alone, it gives narrow
    groups in a plane a larger gamma than a cloud in many columns.

    Parameters
    ----------
    X : rows of shape (n, n_inputs)
    share : float
        Between 0 and 1.
    variance : float
        Sum of the columns' variances, above 0: 1/variance is the unit of gamma in the search.

    References
    ----------
    .. [1] Hinton & Roweis, "Stochastic neighbor embedding", NIPS 2002.
    """
    points = np.asarray(spaced(X, MAX_ROWS), np.float64)
    n = len(points)
    squares = cdist(points, points, "sqeuclidean") / variance
    if not squares.any():
        return 1 / variance
    target = math.log(min(max(share * n, _FEWEST), n / 2))
    low, high = (math.log(2.0**power) for power in _RANGE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _mean_entropy(squares, math.exp(middle)) > target:
            low = middle
        else:
            high = middle
    return math.exp(high) / variance


def _mean_entropy(squares: Array, gamma: float) -> float:
    """Return the mean entropy of the neighbour distributions."""
    other = squares > 0
    nearest = np.where(other, squares, np.inf).min(axis=1, keepdims=True)
    exponents = gamma * np.where(other, squares - nearest, 0.0)
    weights = np.where(other, np.exp(-exponents), 0.0)
    total = weights.sum(axis=1)
    entropies = np.log(total) + (weights * exponents).sum(axis=1) / total
    return float(entropies.mean())

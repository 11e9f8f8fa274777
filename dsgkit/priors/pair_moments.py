"""A confidence interval for the class prior from the moments of similar pairs.

The two points x, x' of a pair are independent given their class. For every function f, with class
means m+ and m-, shares pi of positive rows and ``q = pi^2/pi_S`` of positive pairs::

    cov(f(x), f(x')) = q (1 - q) (m+ - m-)^2
    mean of f at pairs - mean at unlabelled rows = (q - pi) (m+ - m-)

and ``q - pi = (2 pi - 1) sqrt(q (1 - q))``: so the second is ``2 pi - 1`` times the root of the
first, up to its sign, for any distributions of the classes, even overlapping ones. Both are
estimated by means with known standard errors, which gives an interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array
from dsgkit.priors.labeled import random_rows
from dsgkit.random.seeds import derive_seed, permutation

N_CENTERS = 50
"""Gaussian functions that f combines; their width is the median distance to unlabelled rows."""

N_FOLDS = 5
"""Folds: f is chosen without the pairs and rows at which it is evaluated."""

RIDGE = 1.0
"""Added to the variances of the functions, in units of their mean."""

NORMAL_QUANTILE = 1.96
"""Standard errors to either side: 95% of a normal distribution."""

UNKNOWN_INTERVAL = (0.5, 1.0)
"""Interval for uninformative pairs."""

_CANDIDATES = np.linspace(0.5, 1, 501)


def similar_prior_interval(
    pairs: Any, X_unlabeled: Any, *, random_state: int = 0
) -> tuple[float, float]:
    """Return a 95% confidence interval for the larger of the two class priors.

    Parameters
    ----------
    pairs : array of shape (n_similar, 2, n_inputs)
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
        Of more than `dsgkit.priors.labeled.MAX_ROWS` of either, a random sample is used.
    random_state : int
        Seed of the rows, the centres and the folds.

    Returns
    -------
    low, high : float
        In 1/2..1; `UNKNOWN_INTERVAL` if there are too few pairs, or their points appear
        independent.

    Raises
    ------
    DataError
        If the rows hold NaN or infinite values.
    """
    seeds = [derive_seed(random_state, "pair moments", part) for part in ("pairs", "rows")]
    P = np.asarray(random_rows(pairs, seeds[0]), np.float64)
    U = np.asarray(random_rows(X_unlabeled, seeds[1]), np.float64)
    if not (np.isfinite(P).all() and np.isfinite(U).all()):
        raise DataError("features hold NaN or infinite values; remove or replace those rows")
    centers = U[permutation(len(U), derive_seed(seeds[1], "centers"))[:N_CENTERS]]
    squared = cdist(U, centers, "sqeuclidean")
    median = np.median(squared)
    n_folds = min(N_FOLDS, len(P) // 2, len(U) // 2)
    if n_folds < 2 or not 0 < median < np.inf:
        return UNKNOWN_INTERVAL
    at_pairs = cdist(P.reshape(-1, P.shape[2]), centers, "sqeuclidean").reshape(len(P), 2, -1)
    return _interval(
        *(np.exp(distances / (-2 * median)) for distances in (at_pairs, squared)),
        *(_folds(len(part), n_folds, seed) for part, seed in zip((P, U), seeds, strict=True)),
    )


def _folds(n: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the number of the fold of each row."""
    return permutation(n, derive_seed(seed, "folds")) * n_folds // n


def _interval(
    P: Array, U: Array, fold_p: NDArray[np.int64], fold_u: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the interval from the functions' values at pairs, shape (n, 2, c), and at rows."""
    n_folds = int(fold_p.max()) + 1
    difference = covariance = 0.0
    means, products, others = np.empty(len(P)), np.empty(len(P)), np.empty(len(U))
    for fold in range(n_folds):
        p, u = fold_p == fold, fold_u == fold
        weights = _function(P[~p], U[~u])
        at_pairs, at_rows = P[p] @ weights, U[u] @ weights
        pair_means = at_pairs.mean(axis=1)
        mean = pair_means.mean()
        product = (at_pairs - mean).prod(axis=1)
        difference += (mean - at_rows.mean()) / n_folds
        # products are too small by the variance of the estimated mean
        covariance += (product.mean() + pair_means.var(ddof=1) / len(pair_means)) / n_folds
        means[p], products[p] = pair_means - mean, product - product.mean()
        others[u] = at_rows - at_rows.mean()
    if covariance <= 0:
        return UNKNOWN_INTERVAL
    root = np.sqrt(covariance)
    slopes = 2 * _CANDIDATES - 1
    # delta method; pairs and unlabelled rows are independent
    variances = np.var(means - np.outer(slopes, products / (2 * root)), axis=1) / len(P)
    errors = np.sqrt(variances + np.var(others) / len(U))
    within = np.abs(abs(difference) - slopes * root) <= NORMAL_QUANTILE * errors
    accepted = _CANDIDATES[within] if within.any() else _CANDIDATES[-1:]
    return float(accepted[0]), float(accepted[-1])


def _function(P: Array, U: Array) -> Array:
    """Return weights of the functions whose sum differs most between the classes.

    Both the covariance within pairs and the difference of means have the direction of ``m+ - m-``,
    whose length in units of the spread is maximised. The sign makes the difference positive.
    """
    centre = P.mean(axis=(0, 1))
    first, second, rows = P[:, 0] - centre, P[:, 1] - centre, U - centre
    cross = first.T @ second / len(P)
    difference = -rows.mean(axis=0)
    spread = np.atleast_2d(np.cov(np.concatenate([first, second, rows]), rowvar=False))
    spread[np.diag_indices_from(spread)] += RIDGE * spread.trace() / len(spread)
    signal = (cross + cross.T) / 2 + np.outer(difference, difference)
    _, vectors = linalg.eigh(signal, spread, subset_by_index=[len(cross) - 1] * 2)
    weights: Array = vectors[:, 0]
    return weights if difference @ weights >= 0 else -weights

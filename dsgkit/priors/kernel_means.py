"""The share of a component in a mixture from kernel means: KM1 and KM2 [1]_.

With F the mixture and H the component, ``G = lam F + (1 - lam) H`` is a distribution if lam is at
most ``1/(1 - share)``. Beyond, the distance d(lam) of its kernel mean from those of all
distributions on the rows grows. The two estimates differ in the threshold on the slope of d.

References
----------
.. [1] Ramaswamy, Scott & Tewari, "Mixture proportion estimation via kernel embeddings of
   distributions", ICML 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.qp import solve_qp
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed

MAX_ROWS = 300
"""Rows of either kind that an estimate uses; of more, a random sample. With as many, a dozen
quadratic programs with a variable per row take some 5 seconds."""

WIDTHS = np.logspace(-1, 1, 5)
"""Widths of the Gaussian kernel in units of the median distance between rows."""

MAX_LAM = 100.0
"""Largest lam that is tried, that of a share of 0.99."""

LAM_TOLERANCE = 0.04
"""Tolerance of lam, as in the authors' program."""

_FIRST_LAM = 1.05
_EIGENVALUE_CUTOFF = 1e-8
"""Eigenvalues below this share of the largest one are dropped if K then has low rank."""


def km1_share(component: Any, mixture: Any, *, random_state: int = 0) -> float:
    """Return the share of a component in a mixture by KM1.

    The threshold on the slope is ``1/sqrt(min(n_component, n_mixture))``, or that of `km2_share` if
    this exceeds 0.9 of the largest slope.

    Parameters
    ----------
    component : rows of shape (n_component, n_inputs)
    mixture : rows of shape (n_mixture, n_inputs)
        Of more than `MAX_ROWS` rows of either, a random sample is used.
    random_state : int
        Seed of the samples.

    Returns
    -------
    float
        In 0..0.99.

    Raises
    ------
    DataError
        If there are fewer than two rows of either, or they hold NaN or infinite values, or the two
        have the same mean.
    """
    means = _kernel_means(component, mixture, random_state)
    return means.share(means.absolute_slope())


def km2_share(component: Any, mixture: Any, *, random_state: int = 0) -> float:
    """Return the share of a component in a mixture by KM2.

    The threshold on the slope is 0.8 times that between lam of 1 and 1.05, plus 0.2 times the
    largest one. Parameters and returns are those of `km1_share`.
    """
    means = _kernel_means(component, mixture, random_state)
    return means.share(means.relative_slope())


@dataclass(frozen=True, eq=False)
class _KernelMeans:
    """The kernel matrix of the rows of a mixture, followed by those of a component.

    Attributes
    ----------
    gram : ndarray of shape (n, n)
    factor : ndarray of shape (rank, n) or None
        ``factor'factor`` is the matrix, if its rank is low.
    difference : ndarray of shape (n,)
        Weights of the mean of the mixture minus that of the component.
    steepest : float
        Distance between the two means, which bounds the slope of d.
    """

    gram: Array
    factor: Array | None
    n_mixture: int
    difference: Array
    steepest: float

    def share(self, slope: float) -> float:
        """Return the share at which the slope of d reaches a threshold."""
        low, high = 1.0, MAX_LAM
        while high - low > LAM_TOLERANCE:
            middle = (low + high) / 2
            # the authors' slope is the difference quotient of middle and middle + LAM_TOLERANCE/2
            if self._distance(middle + LAM_TOLERANCE / 4)[1] > slope:
                high = middle
            else:
                low = middle
        return 1 - 2 / (low + high)

    def absolute_slope(self) -> float:
        """Return the threshold of KM1."""
        slope = 1 / math.sqrt(min(self.n_mixture, len(self.difference) - self.n_mixture))
        return slope if slope <= 0.9 * self.steepest else self.relative_slope()

    def relative_slope(self) -> float:
        """Return the threshold of KM2."""
        return 0.8 * self._distance(_FIRST_LAM)[0] / (_FIRST_LAM - 1) + 0.2 * self.steepest

    def _distance(self, lam: float) -> tuple[float, float]:
        """Return d and its derivative; d is convex, and 0 at lam = 1.

        For the derivative, the nearest distribution can be held fixed (envelope theorem).
        """
        weights = lam * np.maximum(self.difference, 0) - (lam - 1) * np.maximum(-self.difference, 0)
        residual = weights - self._nearest(weights)
        image = self.gram @ residual
        distance = math.sqrt(max(0.0, float(residual @ image)))
        if distance < 1e-6:  # rounding
            return distance, 0.0
        return distance, float(image @ self.difference) / distance

    def _nearest(self, weights: Array) -> Array:
        """Return weights of the distribution whose kernel mean is nearest to that of others."""
        n = len(weights)
        ones = sparse.csc_matrix(np.ones((1, n)))
        if self.factor is None:
            return solve_qp(
                sparse.csc_matrix(self.gram),
                -self.gram @ weights,
                (ones, np.ones(1)),
                (-sparse.eye(n), np.zeros(n)),
                dense=True,
            )
        # the variables are v and factor (weights - v)
        rank = len(self.factor)
        equal = sparse.bmat([[sparse.csc_matrix(self.factor), sparse.eye(rank)], [ones, None]])
        return solve_qp(
            sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(rank)]),
            np.zeros(n + rank),
            (equal, np.append(self.factor @ weights, 1.0)),
            (sparse.eye(n, n + rank) * -1, np.zeros(n)),
        )[:n]


def _kernel_means(component: Any, mixture: Any, random_state: int) -> _KernelMeans:
    """Return the kernel matrix of the width with the largest distance between the two means.

    Raises
    ------
    DataError
        As `km1_share`.
    """
    F = _sample(mixture, derive_seed(random_state, "kernel means", "mixture"))
    H = _sample(component, derive_seed(random_state, "kernel means", "component"))
    if min(len(F), len(H)) < 2:
        raise DataError("a share needs at least 2 rows of the component and 2 of the mixture")
    rows = np.vstack([F, H])
    if not np.isfinite(rows).all():
        raise DataError("features hold NaN or infinite values; remove or replace those rows")
    squared = cdist(rows, rows, "sqeuclidean")
    median = np.median(squared)
    difference = np.repeat([1 / len(F), -1 / len(H)], [len(F), len(H)])
    best, steepest = None, 0.0
    for width in WIDTHS if median > 0 else ():
        gram = np.exp(squared / (-2 * width**2 * median))
        distance = math.sqrt(max(0.0, float(difference @ gram @ difference)))
        if distance > steepest:
            best, steepest = gram, distance
    if best is None or steepest < 1e-6:
        raise DataError("no share can be estimated: the component and the mixture are alike")
    return _KernelMeans(best, _low_rank(best), len(F), difference, steepest)


def _low_rank(gram: Array) -> Array | None:
    """Return a factor of a matrix whose rank is low up to rounding; None if it is not."""
    spectrum, vectors = linalg.eigh(gram, check_finite=False)
    kept = spectrum > _EIGENVALUE_CUTOFF * spectrum[-1]
    if kept.sum() > len(gram) / 5:
        return None
    return (vectors[:, kept] * np.sqrt(spectrum[kept])).T


def _sample(rows: Any, seed: int) -> Array:
    """Return all rows, or `MAX_ROWS` random ones if there are more."""
    if len(rows) > MAX_ROWS:
        rows = rows[np.sort(draw_in_passes(seed, 0, 0, 1, MAX_ROWS, len(rows))[0])]
    return np.asarray(rows[:], np.float64)

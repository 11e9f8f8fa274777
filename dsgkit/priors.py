"""Shares of classes, estimated from rows with other shares, or from pairs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError, DsgWarning
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array, solve_qp
from dsgkit.random import draw_in_passes
from dsgkit.seeds import derive_seed, permutation

MAX_ROWS = 20_000
"""Unlabelled rows that an estimate uses; of more, a random sample. The standard error of its mean
is 0.7% of the spread, far below that of the few labelled rows."""

CANDIDATES = np.linspace(0.05, 0.95, 19)
"""Candidate priors of penalised L1."""


@dataclass(frozen=True, eq=False)
class PenL1Prior:
    """Class prior from positive and unlabelled rows by penalised-L1 distance minimisation [1]_.

    For a candidate prior, with Gaussian functions phi at some unlabelled rows as centres,
    ``beta = prior * mean_P phi - mean_U phi`` and ``alpha = max(0, beta)/lam``; the distance is
    ``alpha'beta - prior + 1``, and the candidate with the smallest distance is the estimate. Width
    and lam are chosen for every candidate to maximise the cross-validated ``alpha'beta``. As that
    is proportional to 1/lam, the choice is the smallest lam (or the largest, if the best value is
    negative): the range of ``lams`` matters. The defaults are the authors'.

    Parameters
    ----------
    widths : ndarray, optional
        Widths s of ``exp(-||x - c||^2 / (2 s^2))``; by default ten from 0.01 to 10 times the root
        of the median squared distance between unlabelled rows and centres.
    lams : ndarray
        Regularisers.
    n_centers, n_folds, random_state : int

    References
    ----------
    .. [1] du Plessis, Niu & Sugiyama, "Class-prior estimation for learning from positive and
       unlabeled data", ACML 2015.
    """

    widths: Array | None = None
    lams: Array = field(default_factory=lambda: np.logspace(-3, 1, 10))
    n_centers: int = 300
    n_folds: int = 5
    random_state: int = 0

    def estimate(self, X_positive: Any, X_unlabeled: Any) -> float:
        """Return the estimated share of positives, one of `CANDIDATES`.

        Parameters
        ----------
        X_positive : rows of shape (n_positive, n_inputs)
            At least two.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            At least two.

        Raises
        ------
        DataError
            If there are too few rows, they hold NaN or infinite values, or nearly all unlabelled
            rows are equal.
        """
        rows = random_rows(X_unlabeled, self._seed("rows"))
        if not (np.isfinite(rows).all() and np.isfinite(X_positive[:]).all()):
            raise DataError("features hold NaN or infinite values; remove or replace those rows")
        centers = rows[permutation(len(rows), self._seed("centers"))[: self.n_centers]]
        return float(CANDIDATES[self.distances(X_positive[:], rows, centers).argmin()])

    def memory_needed(self, n_unlabeled: int) -> int:
        """Return the bytes that an estimate allocates: distances to the centres, twice."""
        n_rows = min(n_unlabeled, MAX_ROWS)
        return 2 * 8 * n_rows * min(self.n_centers, n_rows)

    def distances(self, X_positive: Array, X_unlabeled: Array, centers: Array) -> Array:
        """Return the distance of every candidate, for given centres."""
        n_folds = min(self.n_folds, len(X_positive), len(X_unlabeled))
        if n_folds < 2:
            raise DataError("a class prior needs at least 2 positive and 2 unlabelled rows")
        member_p = _fold_members(len(X_positive), n_folds, self._seed("positive"))
        member_u = _fold_members(len(X_unlabeled), n_folds, self._seed("unlabeled"))
        widths = self._widths(X_unlabeled, centers)
        held_out = np.empty((len(widths), len(CANDIDATES)))
        full = np.empty_like(held_out)
        for i, width in enumerate(widths):
            sums_p = member_p @ gaussian_gram(X_positive, centers, 0.5 / width**2)
            sums_u = member_u @ gaussian_gram(X_unlabeled, centers, 0.5 / width**2)
            held_out[i] = _held_out_overlaps(sums_p, member_p, sums_u, member_u)
            beta = _beta(sums_p.sum(0) / len(X_positive), sums_u.sum(0) / len(X_unlabeled))
            full[i] = (np.maximum(0, beta) * beta).sum(axis=1)
        return self._chosen(held_out, full) - CANDIDATES + 1

    def _chosen(self, held_out: Array, full: Array) -> Array:
        """Return alpha'beta of all rows, at the width and lam chosen by cross-validation."""
        n_widths, n_candidates = held_out.shape
        scores = held_out / self.lams[:, None, None]
        best = scores.reshape(-1, n_candidates).argmax(axis=0)
        return full[best % n_widths, np.arange(n_candidates)] / self.lams[best // n_widths]

    def _seed(self, purpose: str) -> int:
        return derive_seed(self.random_state, "penl1", purpose)

    def _widths(self, X_unlabeled: Array, centers: Array) -> Array:
        if self.widths is not None:
            return self.widths
        median = np.median(cdist(X_unlabeled, centers, "sqeuclidean"))
        if not 0 < median < np.inf:
            raise DataError(
                f"no class prior can be estimated: the median squared distance of rows is {median}"
            )
        return np.sqrt(median) * np.logspace(-2, 1, 10)


def penalised_l1_share(component: Any, mixture: Any, *, random_state: int = 0) -> float:
    """Return the share of a component in a mixture by `PenL1Prior` with its authors' settings.

    Parameters
    ----------
    component : rows of shape (n_component, n_inputs)
        Positive rows, for the share of positives.
    mixture : rows of shape (n_mixture, n_inputs)
        Unlabelled rows.
    random_state : int

    Returns
    -------
    float
        One of `CANDIDATES`.

    Raises
    ------
    DataError
        As `PenL1Prior.estimate`.
    """
    return PenL1Prior(random_state=random_state).estimate(component, mixture)


def energy_distance_prior(X_positive: Any, X_negative: Any, X_unlabeled: Any) -> float:
    """Return the class prior that matches labelled to unlabelled rows in energy distance [1]_.

    Minimises over theta the energy distance between the unlabelled rows and the mixture of theta
    parts positives and 1 - theta parts negatives; theta is clipped to 0..1.

    Parameters
    ----------
    X_positive, X_negative, X_unlabeled : rows

    Returns
    -------
    float

    Raises
    ------
    DataError
        If positives and negatives have the same distribution, so that any theta fits.

    References
    ----------
    .. [1] Kawakubo, du Plessis & Sugiyama, "Computationally efficient class-prior estimation under
       class balance change using energy distance", IEICE Transactions E99-D, 2016.
    """
    P, N = X_positive[:], X_negative[:]
    U = random_rows(X_unlabeled, derive_seed(0, "energy", "rows"))
    pn, pp, nn = cdist(P, N).mean(), cdist(P, P).mean(), cdist(N, N).mean()
    between = 2 * pn - pp - nn  # energy distance of positives and negatives, never negative
    if not between > 0:
        raise DataError("no class prior can be estimated: positives and negatives are alike")
    negative_share = (cdist(P, U).mean() - cdist(N, U).mean() + pn - pp) / between
    return 1 - float(np.clip(negative_share, 0, 1))


def random_rows(rows: Any, seed: int) -> Any:
    """Return all rows, or `MAX_ROWS` random ones if there are more."""
    if len(rows) <= MAX_ROWS:
        return rows[:]
    return rows[np.sort(draw_in_passes(seed, 0, 0, 1, MAX_ROWS, len(rows))[0])]


def _fold_members(n_rows: int, n_folds: int, seed: int) -> Array:
    """Return the membership of rows in folds as 0 and 1, shape (n_folds, n_rows)."""
    folds = permutation(n_rows, seed) * n_folds // n_rows
    return (folds == np.arange(n_folds)[:, None]).astype(np.float64)


def _beta(mean_positive: Array, mean_unlabeled: Array) -> Array:
    """Return beta of every candidate, shape (n_candidates, n_centers)."""
    return np.outer(CANDIDATES, mean_positive) - mean_unlabeled


def _held_out_overlaps(sums_p: Array, member_p: Array, sums_u: Array, member_u: Array) -> Array:
    """Return ``max(0, beta_train)'beta_test`` of every candidate, averaged over the folds."""
    sizes_p, sizes_u = member_p.sum(axis=1), member_u.sum(axis=1)
    overlaps = np.zeros(len(CANDIDATES))
    for p, u, n_p, n_u in zip(sums_p, sums_u, sizes_p, sizes_u, strict=True):
        train = _beta(
            (sums_p.sum(0) - p) / (sizes_p.sum() - n_p), (sums_u.sum(0) - u) / (sizes_u.sum() - n_u)
        )
        overlaps += (np.maximum(0, train) * _beta(p / n_p, u / n_u)).sum(axis=1)
    return overlaps / len(sizes_p)


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
        Of more than `dsgkit.priors.MAX_ROWS` of either, a random sample is used.
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


KM_ROWS = 300
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
        Of more than `KM_ROWS` rows of either, a random sample is used.
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
    """Return all rows, or `KM_ROWS` random ones if there are more."""
    if len(rows) > KM_ROWS:
        rows = rows[np.sort(draw_in_passes(seed, 0, 0, 1, KM_ROWS, len(rows))[0])]
    return np.asarray(rows[:], np.float64)


_SHARES = {"km1": km1_share, "km2": km2_share, "penalised_l1": penalised_l1_share}


def similar_prior(
    X_similar: Any,
    X_unlabeled: Any,
    *,
    method: Literal["km1", "km2", "penalised_l1"] = "km2",
    random_state: int = 0,
) -> float:
    """Return the larger of the two class priors from similar pairs and unlabelled rows.

    With pi > 1/2, points of pairs are positive with probability ``q = pi^2/pi_S``, unlabelled rows
    with pi, where ``pi_S = pi^2 + (1 - pi)^2``. If neither class contains a share of the other, the
    largest share of the similar points' distribution in that of the unlabelled rows is
    ``a = pi/q = pi_S/pi``, and vice versa it is ``b = (1 - q)/(1 - pi) = (1 - pi)/pi_S``: so
    ``a b = (1 - pi)/pi``, and ``pi = 1/(1 + a b)``. Both shares are estimated.

    Section 3.3 of [1]_ uses pi_S for the first share, because unlabelled rows are a mixture of
    similar and dissimilar points; but the distribution of dissimilar points contains a share of
    similar ones, so that the largest share is ``pi_S/pi``. Two priors have the same value of it, so
    it does not determine the prior by itself.

    The rows do not determine which class is the larger one; if it is the negative class, use
    ``1 - pi``.

    Near 1/2 the estimate is far too large: similar points and unlabelled rows hardly differ, and
    errors reduce both shares. With 500 pairs and 2,000 unlabelled rows of two normal distributions
    3 standard deviations apart, KM2 gave .78, .89 and .89 for a prior of .52; for .7 it gave .73,
    .78 and .84. Estimators use `checked_similar_prior`, which is more accurate, and takes
    milliseconds instead of seconds.

    Parameters
    ----------
    X_similar : rows of shape (n_points, n_inputs)
        Points of all pairs.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
    method : {"km1", "km2", "penalised_l1"}
        Estimator of the shares. Of the three, KM2 was nearest to the truth on real rows; penalised
        L1 takes a tenth of its time, and is too low at priors far from 1/2.
    random_state : int
        Seed of the samples of rows.

    Returns
    -------
    float
        In 1/2..1.

    Raises
    ------
    DataError
        If the rows do not allow an estimate.

    References
    ----------
    .. [1] Shi, Gu, Li, Deng & Huang, "Triply stochastic gradient method for large-scale nonlinear
       similar unlabeled classification", Machine Learning 110, 2021; as Bao, Niu & Sugiyama, ICML
       2018.
    """
    if method not in _SHARES:
        raise DataError(f"method must be one of {', '.join(_SHARES)}, got {method!r}")
    share = _SHARES[method]
    a = share(X_similar, X_unlabeled, random_state=random_state)
    b = share(X_unlabeled, X_similar, random_state=random_state)
    return 1 / (1 + a * b)


def checked_similar_prior(pairs: Any, X_unlabeled: Any) -> tuple[float, tuple[float, float]]:
    """Return an estimate of the prior, the midpoint of `similar_prior_interval`, and the interval.

    With 500 pairs and 2,000 unlabelled rows of two normal distributions, of skin and of cod-rna,
    and priors of .6, .7 and .9, its mean error was .065, that of `similar_prior` .13
    (``scripts/study_priors.py``). With 60 pairs and 180 rows of breast cancer its error is .05.

    Parameters
    ----------
    pairs : array of shape (n_similar, 2, n_inputs)
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)

    Warns
    -----
    DsgWarning
        If the interval includes 1/2.
    """
    low, high = similar_prior_interval(pairs, X_unlabeled)
    prior = (low + high) / 2
    if low == 0.5:
        warnings.warn(
            f"{len(pairs)} pairs and {len(X_unlabeled)} unlabelled rows do not determine the prior "
            f"of the larger class: its 95% confidence interval, {low:.3g} to {high:.3g}, includes "
            f"1/2, and the fit uses {prior:.3g}; set prior to the share of the class 1 among the "
            "unlabelled rows, or get more pairs",
            DsgWarning,
            stacklevel=2,
        )
    return prior, (low, high)

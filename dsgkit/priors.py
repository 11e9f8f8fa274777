"""Estimates of class priors: the share of positives among unlabelled rows.

From labelled positive and unlabelled rows by penalised L1 (`PenL1Prior`); from similar pairs and
unlabelled rows by moments (`similar_prior_interval`), whose midpoint is `checked_similar_prior`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError, FitError, warn
from dsgkit.kernels import finite_rows, gaussian_gram
from dsgkit.linalg import Array
from dsgkit.random import drawn_rows
from dsgkit.risks.similar import MIN_PRIOR_GAP, similar_share
from dsgkit.seeds import derive_seed, permutation

MAX_ROWS = 20_000
"""Unlabelled rows, or pairs, that an estimate uses; of more, a random sample. The standard error of
a mean is then 0.7% of the spread, far below that of few labelled rows."""

NOISY_RISK_STD = 0.1
"""A fit warns if the sampling of labels gives the risk a larger standard deviation than this."""

CANDIDATES = np.linspace(0.05, 0.95, 19)
"""Candidate priors of penalised L1."""

N_CENTERS = 50
"""Gaussian functions that a moment's f combines; their width is the median distance to rows."""

N_FOLDS = 5  # f is chosen without the pairs and rows at which it is evaluated
RIDGE = 1.0  # added to the variances of the functions, in units of their mean
NORMAL_QUANTILE = 1.96  # standard errors to either side: 95% of a normal distribution

UNKNOWN_INTERVAL = (0.5, 1.0)
"""Interval for uninformative pairs."""

_PRIORS_OF_PAIRS = np.linspace(0.5, 1, 501)


@dataclass(frozen=True, eq=False)
class PenL1Prior:
    """Class prior from positive and unlabelled rows by penalised-L1 distance minimisation [1]_.

    For a candidate prior, with Gaussian functions phi at some unlabelled rows as centres,
    ``beta = prior * mean_P phi - mean_U phi`` and ``alpha = max(0, beta)/lam``; the distance is
    ``alpha'beta - prior + 1``, and the candidate with the smallest distance is the estimate. Width
    and lam are chosen for every candidate to maximise the cross-validated ``alpha'beta``. As that
    is proportional to 1/lam, the choice is the smallest lam (or the largest, if the best value is
    negative): the range of ``lams`` matters. The defaults are the authors'.

    References
    ----------
    .. [1] du Plessis, Niu & Sugiyama, "Class-prior estimation for learning from positive and
       unlabeled data", ACML 2015.
    """

    widths: Array | None = None  # s of ``exp(-||x - c||^2 / (2 s^2))``; None: `_widths`
    lams: Array = field(default_factory=lambda: np.logspace(-3, 1, 10))
    n_centers: int = 300
    n_folds: int = 5
    random_state: int = 0

    def estimate(self, X_positive: Any, X_unlabeled: Any) -> float:
        """Return the estimated share of positives, of ``CANDIDATES``; at least 2 rows of each."""
        rows, positive = _random_rows(X_unlabeled, self._seed("rows")), X_positive[:]
        for table in (rows, positive):
            finite_rows(table)
        centers = rows[permutation(len(rows), self._seed("centers"))[: self.n_centers]]
        return float(CANDIDATES[self.distances(positive, rows, centers).argmin()])

    def memory_needed(self, n_unlabeled: int) -> int:
        """Return the bytes that an estimate allocates: distances to the centres, twice."""
        n_rows = min(n_unlabeled, MAX_ROWS)
        return 2 * 8 * n_rows * min(self.n_centers, n_rows)

    def distances(self, X_positive: Array, X_unlabeled: Array, centers: Array) -> Array:
        """Return the distance of every candidate, for given centres."""
        n_p, n_u = len(X_positive), len(X_unlabeled)
        n_folds = min(self.n_folds, n_p, n_u)
        if n_folds < 2:
            raise DataError("a class prior needs at least 2 positive and 2 unlabelled rows")
        member_p = _fold_members(n_p, n_folds, self._seed("positive"))
        member_u = _fold_members(n_u, n_folds, self._seed("unlabeled"))
        size_p, size_u = (member.sum(axis=1, keepdims=True) for member in (member_p, member_u))
        widths = self._widths(X_unlabeled, centers)
        held_out = np.empty((len(widths), len(CANDIDATES)))
        full = np.empty_like(held_out)
        for i, width in enumerate(widths):
            of_p = member_p @ gaussian_gram(X_positive, centers, 0.5 / width**2)
            of_u = member_u @ gaussian_gram(X_unlabeled, centers, 0.5 / width**2)
            all_p, all_u = of_p.sum(axis=0), of_u.sum(axis=0)
            trained = _beta((all_p - of_p) / (n_p - size_p), (all_u - of_u) / (n_u - size_u))
            overlaps = np.maximum(0, trained) * _beta(of_p / size_p, of_u / size_u)
            held_out[i] = overlaps.sum(axis=2).mean(axis=1)
            beta = _beta(all_p / n_p, all_u / n_u)
            full[i] = (np.maximum(0, beta) * beta).sum(axis=1)
        scores = (held_out / self.lams[:, None, None]).reshape(-1, len(CANDIDATES))
        lam, width_number = np.divmod(scores.argmax(axis=0), len(widths))
        chosen = full[width_number, np.arange(len(CANDIDATES))] / self.lams[lam]
        return chosen - CANDIDATES + 1

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


def _random_rows(rows: Any, seed: int) -> Any:
    """Return all rows, or `MAX_ROWS` random ones if there are more."""
    if len(rows) <= MAX_ROWS:
        return rows[:]
    return rows[drawn_rows(seed, MAX_ROWS, len(rows))]


def _fold_members(n_rows: int, n_folds: int, seed: int) -> Array:
    """Return the membership of rows in folds as 0 and 1, shape (n_folds, n_rows)."""
    folds = permutation(n_rows, seed) * n_folds // n_rows
    return (folds == np.arange(n_folds)[:, None]).astype(np.float64)


def _beta(mean_positive: Array, mean_unlabeled: Array) -> Array:
    """Return beta of every candidate, shape (n_candidates, .., n_centers)."""
    return np.multiply.outer(CANDIDATES, mean_positive) - mean_unlabeled


def checked_similar_prior(pairs: Any, X_unlabeled: Any) -> tuple[float, tuple[float, float]]:
    """Return the midpoint of `similar_prior_interval`, and the interval; warn if it includes 1/2.

    With 500 pairs and 2,000 unlabelled rows of two normal distributions, of skin and of cod-rna,
    and priors of .6, .7 and .9, its mean error was .065; with 60 pairs and 180 rows of breast
    cancer it is .05. Estimates from shares by kernel means (KM1, KM2; Ramaswamy, Scott & Tewari
    2016) had twice that error, and took seconds; that of TSGSU's paper, ``(1 + sqrt(2 pi_S -
    1))/2``, takes the share of similar points for pi_S, which it is not.
    """
    low, high = similar_prior_interval(pairs, X_unlabeled)
    prior = (low + high) / 2
    if low == 0.5:
        warn(
            f"{len(pairs)} pairs and {len(X_unlabeled)} unlabelled rows do not determine the prior "
            f"of the larger class: its 95% confidence interval, {low:.3g} to {high:.3g}, includes "
            f"1/2, and the fit uses {prior:.3g}; set prior to the share of the class 1 among the "
            "unlabelled rows, or get more pairs"
        )
    return prior, (low, high)


def similar_prior_interval(
    pairs: Any, X_unlabeled: Any, *, random_state: int = 0
) -> tuple[float, float]:
    """Return a 95% confidence interval in 1/2..1 for the larger of the two class priors.

    The two points x, x' of a pair are independent given their class. For every function f, with
    class means m+ and m-, shares pi of positive rows and ``q = pi^2/pi_S`` of positive pairs::

        cov(f(x), f(x')) = q (1 - q) (m+ - m-)^2
        mean of f at pairs - mean at unlabelled rows = (q - pi) (m+ - m-)

    and ``q - pi = (2 pi - 1) sqrt(q (1 - q))``: so the second is ``2 pi - 1`` times the root of the
    first, up to its sign, for any distributions of the classes, even overlapping ones. Both are
    estimated by means with known standard errors, which gives an interval.

    Pairs are of shape (n_similar, 2, n_inputs). With too few of them, or if their points appear
    independent, it is ``UNKNOWN_INTERVAL``.
    """
    seeds = [derive_seed(random_state, "pair moments", part) for part in ("pairs", "rows")]
    pairs = np.asarray(_random_rows(pairs, seeds[0]), np.float64)
    rows = finite_rows(_random_rows(X_unlabeled, seeds[1]))
    finite_rows(pairs)
    centers = rows[permutation(len(rows), derive_seed(seeds[1], "centers"))[:N_CENTERS]]
    squared = cdist(rows, centers, "sqeuclidean")
    median = np.median(squared)
    n_folds = min(N_FOLDS, len(pairs) // 2, len(rows) // 2)
    if n_folds < 2 or not 0 < median < np.inf:
        return UNKNOWN_INTERVAL
    at_pairs = cdist(pairs.reshape(-1, pairs.shape[2]), centers, "sqeuclidean")
    P, U = (
        np.exp(at_pairs.reshape(len(pairs), 2, -1) / (-2 * median)),
        np.exp(squared / (-2 * median)),
    )
    fold_p, fold_u = (
        permutation(len(part), derive_seed(seed, "folds")) * n_folds // len(part)
        for part, seed in zip((P, U), seeds, strict=True)
    )
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
    slopes = 2 * _PRIORS_OF_PAIRS - 1
    # delta method; pairs and unlabelled rows are independent
    variances = np.var(means - np.outer(slopes, products / (2 * root)), axis=1) / len(P)
    errors = np.sqrt(variances + np.var(others) / len(U))
    within = np.abs(abs(difference) - slopes * root) <= NORMAL_QUANTILE * errors
    accepted = _PRIORS_OF_PAIRS[within] if within.any() else _PRIORS_OF_PAIRS[-1:]
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
    weights = vectors[:, 0]
    return np.asarray(weights if difference @ weights >= 0 else -weights)


def check_prior(prior: float) -> None:
    """Raise `DataError` for a prior of 1/2."""
    if abs(prior - 0.5) <= MIN_PRIOR_GAP:
        raise DataError(
            f"prior must differ from 1/2 by more than {MIN_PRIOR_GAP:g}, got {prior!r}: with "
            "two classes of the same size, similar pairs and unlabelled rows have the same "
            "distribution, and every term of the risk is divided by 2 prior - 1 = 0"
        )


def known_prior(
    prior: float | str, pairs: Array, X_unlabeled: Any
) -> tuple[float, tuple[float, float] | None]:
    """Return the prior and, for an estimate, its interval; warn if noise dominates the risk."""
    interval = None
    if prior == "estimate":
        known, interval = checked_similar_prior(pairs, X_unlabeled)
        if abs(known - 0.5) <= MIN_PRIOR_GAP:
            raise FitError(
                "the estimated prior is 1/2, with which the risk cannot be estimated: set prior"
            )
    else:
        known = float(prior)
    noise = label_noise(known, len(pairs), len(X_unlabeled))
    if noise > NOISY_RISK_STD:
        warn(
            f"prior {known:g} is so close to 1/2 that, with {len(pairs)} pairs and "
            f"{len(X_unlabeled)} unlabelled rows, the labels that were drawn move the risk by "
            f"{noise:.2g} (standard deviation): the result may be noise"
        )
    return known, interval


def label_noise(prior: float, n_similar: int, n_unlabeled: int) -> float:
    """Return the standard deviation of the risk due to the sampling of the hidden labels.

    ``sqrt(4 pi_S^2 q (1 - q)/n_similar + pi (1 - pi)/n_unlabeled)/|2 pi - 1|``, where
    ``q = pi^2/pi_S`` is the share of positive pairs.
    """
    share = similar_share(prior)
    q = prior**2 / share
    pair_variance = 4 * share**2 * q * (1 - q) / n_similar
    return math.sqrt(pair_variance + prior * (1 - prior) / n_unlabeled) / abs(2 * prior - 1)

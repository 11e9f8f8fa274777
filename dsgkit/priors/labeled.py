"""Estimators of the class prior of unlabelled rows: the share of positives among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.kernels.gaussian import gaussian_gram
from dsgkit.numerics.arrays import Array
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed, permutation

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

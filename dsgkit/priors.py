"""Estimators of the class prior of unlabelled rows: the share of positives among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dsgkit.errors import DataError
from dsgkit.kernels import gaussian_gram
from dsgkit.sampling import derive_seed, permutation

Array = NDArray[np.float64]

MAX_ROWS = 20_000
"""Unlabelled rows that an estimate uses: a random subset if there are more. Their means are then
known to 0.7% of the spread, far better than those of the few labelled rows."""

CANDIDATES = np.linspace(0.05, 0.95, 19)
"""Priors among which penalised L1 chooses."""


@dataclass(frozen=True, eq=False)
class PenL1Prior:
    """Penalised-L1 distance minimisation (du Plessis, Niu & Sugiyama, ACML 2015).

    For a candidate prior, with Gaussian functions at ``n_centers`` unlabelled rows,
    ``beta = prior * mean_P phi - mean_U phi``, ``alpha = max(0, beta)/lam``, and the distance is
    ``alpha'beta - prior + 1``; the prior with the smallest distance is the estimate. Width and lam
    are chosen for every candidate by cross-validating ``-alpha'beta``. As that score is
    proportional to 1/lam, its minimum is at the smallest or at the largest lam offered, in
    practice at the smallest: the range of lam matters. The defaults are the authors'.

    Attributes
    ----------
    widths : ndarray or None
        Widths s of ``exp(-||x - c||^2 / (2 s^2))``; None: ten from 0.01 to 10 times the root of the
        median squared distance between unlabelled rows and centres.
    lams : ndarray
        Regularisers.
    n_centers, n_folds, random_state : int
    """

    widths: Array | None = None
    lams: Array = np.logspace(-3, 1, 10)  # noqa: RUF009  never changed
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
        """
        rows = _random_rows(X_unlabeled, self._seed("rows"))
        centers = rows[permutation(len(rows), self._seed("centers"))[: self.n_centers]]
        return float(CANDIDATES[self.distances(X_positive[:], rows, centers).argmin()])

    def distances(self, X_positive: Array, X_unlabeled: Array, centers: Array) -> Array:
        """Return the penalised distance of every candidate, for given centres."""
        n_folds = min(self.n_folds, len(X_positive), len(X_unlabeled))
        if n_folds < 2:
            raise DataError("the class prior needs two positive and two unlabelled rows at least")
        folds_p = _assign_folds(len(X_positive), n_folds, self._seed("positive"))
        folds_u = _assign_folds(len(X_unlabeled), n_folds, self._seed("unlabeled"))
        scores, overlaps = [], []
        for width in self._widths(X_unlabeled, centers):
            positive = _fold_sums(X_positive, centers, width, folds_p)
            unlabeled = _fold_sums(X_unlabeled, centers, width, folds_u)
            scores.append(_held_out_overlaps(positive, unlabeled, folds_p, folds_u))
            beta = _beta(positive.sum(axis=0) / len(X_positive), unlabeled.mean(axis=0))
            overlaps.append((np.maximum(0, beta) * beta).sum(axis=1))
        return _chosen(np.array(scores), np.array(overlaps), self.lams) - CANDIDATES + 1

    def _seed(self, purpose: str) -> int:
        return derive_seed(self.random_state, "penl1", purpose)

    def _widths(self, X_unlabeled: Array, centers: Array) -> Array:
        if self.widths is not None:
            return self.widths
        median = np.median(cdist(X_unlabeled, centers, "sqeuclidean"))
        if not median > 0:
            raise DataError("the class prior cannot be estimated: most unlabelled rows are equal")
        return np.sqrt(median) * np.logspace(-2, 1, 10)

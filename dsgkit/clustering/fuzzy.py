"""Fuzzy C-means, a baseline for pictures of clusterings."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dsgkit.costs import Cost, Pace
from dsgkit.errors import DataError
from dsgkit.estimators.inputs import as_rows, check_distances, naming_bad_rows
from dsgkit.estimators.parameters import COUNT, NOT_NEGATIVE, SEED, Range, check_parameters
from dsgkit.linalg import Array

_USUAL_STEPS = 50.0  # until convergence, approximately
_TINY = np.finfo(np.float64).tiny


@dataclass(eq=False, repr=False)
class FuzzyCMeans(ClusterMixin, BaseEstimator):
    """Fuzzy C-means: every row belongs to every cluster, to degrees that sum to 1 [1]_.

    It minimises ``sum_ik u_ik^m ||x_i - v_k||^2`` over the centres v and the memberships u in turn.

    Parameters
    ----------
    n_clusters : int >= 1, default 3
    m : float > 1, default 2.0
        Fuzzifier: with values near 1, memberships are nearly 0 or 1, as in k-means; with large ones
        they are nearly equal.
    tol : float >= 0, default 1e-5
        The fit ends when no membership changes by more.
    max_iter : int >= 1, default 300
        Most steps.
    random_state : int, default 0
        Seed of the initial memberships.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster to which each row belongs most.
    memberships_ : ndarray of shape (n, n_clusters)
    cluster_centers_ : ndarray of shape (n_clusters, n_inputs)
    objective_ : float
        The minimised sum at the memberships and centres.
    n_iter_ : int
        Steps.

    References
    ----------
    .. [1] Bezdek, "Pattern recognition with fuzzy objective function algorithms", 1981.
    """

    tasks: ClassVar[tuple[str, ...]] = ("clustering",)
    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(per_model=10)

    n_clusters: Annotated[int, COUNT] = 3
    _: KW_ONLY
    m: Annotated[float, Range(1, open_low=True)] = 2.0
    tol: Annotated[float, NOT_NEGATIVE] = 1e-5
    max_iter: Annotated[int, COUNT] = 300
    random_state: Annotated[int, SEED] = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of ``X``, shape (n, n_inputs); ``y`` is ignored."""
        check_parameters(self)
        rows = self._dense(X, reset=True)
        if len(rows) < self.n_clusters:
            raise DataError(f"{len(rows)} rows are too few for n_clusters = {self.n_clusters}")
        rng = np.random.default_rng(self.random_state)
        u = rng.dirichlet(np.ones(self.n_clusters), size=len(rows))
        change, self.n_iter_ = np.inf, 0
        while change > self.tol and self.n_iter_ < self.max_iter:
            before = u
            centers = centers_of(rows, before, self.m)
            u = memberships_of(rows, centers, self.m)
            change = np.abs(u - before).max()
            self.n_iter_ += 1
        self.cluster_centers_, self.memberships_ = centers, u
        self.objective_ = float((u**self.m * cdist(rows, centers, "sqeuclidean")).sum())
        self.labels_ = u.argmax(axis=1)
        return self

    def memberships(self, X: Any) -> Array:
        """Return the memberships of new rows, shape (n, n_clusters)."""
        check_is_fitted(self, "cluster_centers_")
        return memberships_of(self._dense(X, reset=False), self.cluster_centers_, self.m)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the clusters to which new rows belong most, shape (n,)."""
        return self.memberships(X).argmax(axis=1)

    def cost(self, n_inputs: int, *, n_models: int = 1, n_rows: int) -> Cost:
        """Estimate the cost of a fit: distances, powers and sums of every step."""
        row = self.n_clusters * (8.0 * n_inputs + 160)
        memory = 8 * n_rows * (n_inputs + 6 * self.n_clusters)
        return Cost(n_models * _USUAL_STEPS * n_rows * row, memory, row)

    @naming_bad_rows
    def _dense(self, X: Any, *, reset: bool) -> Array:
        rows = as_rows(self, X, reset=reset)
        check_distances(rows)
        return np.asarray(rows[:], np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def centers_of(X: Array, u: Array, m: float) -> Array:
    """Return the best centres: ``v_k = sum_i u_ik^m x_i / sum_i u_ik^m``."""
    weights = u**m
    return np.asarray(weights.T @ X / np.maximum(weights.sum(axis=0), _TINY)[:, None])


def memberships_of(X: Array, centers: Array, m: float) -> Array:
    """Return the optimal memberships: ``u_ik = 1 / sum_j (d_ik/d_ij)^(2/(m - 1))``.

    A row that equals a centre belongs to it alone, or in equal parts to all centres that it equals.
    """
    squared = cdist(X, centers, "sqeuclidean")
    nearest = squared.min(axis=1, keepdims=True)
    # relative to the nearest centre, so that no power overflows
    ratios = np.divide(nearest, squared, out=np.ones_like(squared), where=squared > 0)
    u = ratios ** (1 / (m - 1))
    return np.asarray(u / u.sum(axis=1, keepdims=True))

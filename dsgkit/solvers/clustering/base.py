"""Base of the estimators that cluster rows inside a domain that encloses them."""

from __future__ import annotations

import math
import warnings
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from typing_extensions import Doc

from dsgkit.errors import DataError, DsgWarning
from dsgkit.linalg import row_blocks
from dsgkit.solvers.base import Estimator, RequiredMethods
from dsgkit.solvers.clustering.groups import Clusters, Grouping, Machine, TrainedDomain
from dsgkit.solvers.clustering.width import gamma_of_neighbours
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.inputs import as_rows, check_distances
from dsgkit.solvers.parameters import POSITIVE, Smoother
from dsgkit.system.progress import part

Array = NDArray[np.float64]

KernelGamma = Annotated[
    float | None,
    POSITIVE,
    Smoother("smaller"),
    Doc(
        "Parameter of the kernel ``exp(-gamma ||x - x'||^2)``; None is the one at which a row has "
        "6% of all rows as neighbours, but at least 7 (`dsgkit.solvers.clustering.width`)."
    ),
]

_BLOCK_ROWS = 65_536

NEIGHBOUR_SHARE = 0.06
"""Share of all rows that are neighbours of a row at the default gamma."""

LEAST_ROWS = 50
"""Least rows for a warning about the number of clusters."""

_VARIANCE_RANGE = 1e-280, 1e280
"""Variances for which gamma, kernel width and squared distances neither over- nor underflow."""


def total_variance(X: Any) -> float:
    """Return the sum of the columns' variances, which for z-scores is the number of columns.

    Parameters
    ----------
    X : rows of shape (n, n_inputs)
    """
    n, origin = len(X), np.asarray(X[:1], np.float64)
    total, squares = np.zeros(X.shape[1]), 0.0
    for block in row_blocks(n, _BLOCK_ROWS):
        rows = np.asarray(X[block], np.float64) - origin
        total += rows.sum(axis=0)
        squares += float((rows**2).sum())
    return squares / n - float((total**2).sum()) / n**2


def _all_equal(X: Any) -> bool:
    first = np.asarray(X[:1])
    return all((X[block] == first).all() for block in row_blocks(len(X), _BLOCK_ROWS))


class ClusteringEstimator(ClusterMixin, Estimator):
    """Base of the support vector clusterings, which work in two phases.

    `fit_domain` trains a function f; its domain, where f >= 0, encloses most rows. `fit_clusters`
    clusters the rows. A subclass implements ``_machine(n_rows)``, which returns the trainer of the
    domain (`groups.Machine`), ``_grouping()``, which returns the clustering of a domain
    (`groups.Grouping`), and ``cost(n_inputs, *, n_models, n_rows)``.
    """

    tasks = ("clustering",)
    _required_methods: ClassVar[RequiredMethods] = (("_machine",), ("_grouping",))
    _solution: ClassVar[str] = "dual_coef_"
    """The attribute that only a trained domain has."""

    _domain_time_share: ClassVar[float] = 0.5
    """Approximate share of the domain in the time of a fit."""

    gamma: float | None
    outliers: bool = preset(False)

    _trained: TrainedDomain = fitted()
    _clusters: Clusters = fitted()
    gamma_: float = fitted("Kernel parameter in use.")
    labels_: NDArray[np.int64] = fitted(
        "Cluster of each row, from 0 on; -1 for rows outside, with ``outliers``.", "(n,)"
    )
    n_clusters_: int = fitted("Clusters with at least one row.")
    support_vectors_: Array = fitted("Rows of the domain's kernel expansion.", "(s, n_inputs)")
    dual_coef_: Array = fitted("Their coefficients.", "(s,)")
    n_features_in_: int = fitted("Columns of the training rows.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the domain, and cluster the rows.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range, or the rows cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available; raised before
            anything is allocated.
        FitError
            If there is no solution.

        Warns
        -----
        DsgWarning
            If the default gamma finds, for 50 rows or more, one cluster, or more clusters than the
            square root of the number of rows.
        """
        return self.fit_domain(X).fit_clusters(X)

    def fit_domain(self, X: Any) -> Self:
        """Train the domain that encloses the rows: the first phase of `fit`."""
        self._check_params()
        rows = as_rows(self, X, reset=True)
        check_distances(rows)
        self._check_memory(self.cost(rows.shape[1], n_rows=len(rows)))
        self.gamma_ = self._gamma(rows)
        with part(0, self._domain_time_share):
            self._trained = self._machine(len(rows)).train(rows)
        self._set(self._trained.attributes)
        return self

    def fit_clusters(self, X: Any) -> Self:
        """Cluster rows by the trained domain: the second phase of `fit`."""
        check_is_fitted(self, self._solution)
        self._check_params()
        rows = as_rows(self, X, reset=False)
        check_distances(rows)
        self._check_memory(self.cost(rows.shape[1], n_rows=len(rows)))
        with part(self._domain_time_share, 1):
            clusters = self._grouping().clusters(self._trained.domain, rows)
        self._clusters, self.labels_ = clusters, clusters.labels
        self.n_clusters_ = int(clusters.numbers.max()) + 1
        self._set(clusters.attributes)
        self._warn_of_clusters(rows)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,): at least 0 inside the domain.

        Raises
        ------
        DataError
            If the rows cannot be used.
        """
        check_is_fitted(self, self._solution)
        return self._trained.domain.values(as_rows(self, X, reset=False))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the clusters of new rows, shape (n,).

        Raises
        ------
        DataError
            If the rows cannot be used.
        """
        check_is_fitted(self, "labels_")
        rows = as_rows(self, X, reset=False)
        check_distances(rows)
        clusters = self._clusters
        labels = clusters.numbers[clusters.nearest.labels_of(rows, np.arange(len(rows)))]
        if self.outliers:
            labels[self._trained.domain.values(rows) < -clusters.margin] = -1
        return labels

    def diagnostics(self, X: Any) -> dict[str, float]:
        """Return the objective of the trained domain.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            The training rows.

        Returns
        -------
        dict
            ``objective``: what `fit_domain` minimises, at the final function, which for stochastic
            descent is the last iterate and not an average.

        Raises
        ------
        DataError
            If the rows cannot be used.
        """
        check_is_fitted(self, self._solution)
        return {"objective": self._trained.objective(as_rows(self, X, reset=False))}

    def _gamma(self, X: Any) -> float:
        """Return gamma, by default from the rows' neighbours; 1 for equal rows."""
        if self.gamma is not None:
            return float(self.gamma)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = total_variance(X)
        if variance == 0 and _all_equal(X):
            return 1.0
        if not _VARIANCE_RANGE[0] < variance < _VARIANCE_RANGE[1]:
            raise DataError(
                f"the rows' variance, {variance:.3g}, has no finite inverse: scale the features, "
                "or set gamma"
            )
        return gamma_of_neighbours(X, NEIGHBOUR_SHARE, variance)

    def _warn_of_clusters(self, X: Any) -> None:
        """Warn if the default gamma finds one cluster, or more than ``sqrt(n)``."""
        if self.gamma is not None or not self._warns or len(X) < LEAST_ROWS:
            return
        n = self.n_clusters_
        if n == 1 and not _all_equal(X):
            clusters, wanted, gamma = "one cluster", "more", 2 * self.gamma_
        elif n > math.sqrt(len(X)):
            clusters, wanted, gamma = f"{n:,} clusters", "fewer", self.gamma_ / 2
        else:
            return
        text = (
            f"{clusters} of {len(X):,} rows at the default gamma, {self.gamma_:.3g}: for {wanted}, "
            f"set gamma={gamma:.3g}, or scale the features"
        )
        warnings.warn(text, DsgWarning, stacklevel=3)

    def _machine(self, n_rows: int) -> Machine:
        """Return the trainer of a domain for this number of rows."""
        raise NotImplementedError

    def _grouping(self) -> Grouping:
        """Return the method that clusters rows by a domain."""
        raise NotImplementedError

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

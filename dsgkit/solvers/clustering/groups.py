"""Interfaces of the two phases of a support vector clustering: domain, and clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.nearest import NearestRow

Labels = NDArray[np.int64]


class TrainedDomain(Protocol):
    """A domain, and the fitted attributes from its training.

    Attributes
    ----------
    domain : Domain
    attributes : dict
        Fitted attributes of the estimator by name, with ``support_vectors_`` and ``dual_coef_``.
    """

    @property
    def domain(self) -> Domain: ...

    @property
    def attributes(self) -> dict[str, Any]: ...

    def objective(self, X: Any) -> float:
        """Return the value of the minimised objective on the training rows."""
        ...


class Machine(Protocol):
    """Trainer of a domain that encloses most rows."""

    def train(self, X: Any) -> TrainedDomain:
        """Return a domain that encloses most of the rows of ``X``."""
        ...


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        Clusters of the rows, from 0 on; -1 for rows in none.
    nearest : NearestRow
        Finds the label of new rows.
    numbers : ndarray of int64, shape (m,)
        The cluster of each label of ``nearest``; -1 for dropped ones, which have no rows.
    margin : float
        Rows with f below ``-margin`` are outside.
    attributes : dict
        Fitted attributes of the estimator by name.
    """

    labels: Labels
    nearest: NearestRow
    numbers: Labels
    margin: float
    attributes: dict[str, Any] = field(default_factory=dict)


class Grouping(Protocol):
    """Method that clusters rows by a domain."""

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of the rows of ``X``.

        Raises
        ------
        FitError
            If there are no clusters.
        """
        ...


def without_empty_clusters(
    labels: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Renumber clusters from 0 on without those that have no rows.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        Clusters of the rows; -1 for rows in none.
    n_clusters : int

    Returns
    -------
    labels : ndarray of int64, shape (n,)
    numbers : ndarray of int64, shape (n_clusters,)
        The new number of each cluster; -1 for those without rows.
    """
    has_rows = np.bincount(labels[labels >= 0], minlength=n_clusters) > 0
    numbers = np.where(has_rows, np.cumsum(has_rows) - 1, -1)
    return np.where(labels >= 0, numbers[labels], -1), numbers

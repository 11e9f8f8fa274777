"""The parts of support vector clustering: a machine trains a domain, a grouping makes clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.nearest import NearestRow

Labels = NDArray[np.int64]


class TrainedDomain(Protocol):
    """A domain, and the further results of its training.

    Attributes
    ----------
    domain : Domain
    attributes : dict
        By the names that estimators have for it, ``support_vectors_`` and ``dual_coef_`` included.
    """

    @property
    def domain(self) -> Domain: ...  # noqa: D102

    @property
    def attributes(self) -> dict[str, Any]: ...  # noqa: D102

    def objective(self, X: Any) -> float:
        """Return the value of what the training minimised on its rows."""
        ...


class Machine(Protocol):
    """Trains a domain that encloses most of some rows."""

    def train(self, X: Any) -> TrainedDomain:
        """Return the domain of some rows."""
        ...


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        Those of the rows, numbered from 0 on; -1 for rows in none.
    nearest : NearestRow
        Knows what new rows are compared with.
    numbers : ndarray of int64, shape (m,)
        The cluster of each number that ``nearest`` returns; -1 where no row is left in it.
    margin : float
        Rows with f below minus this are outside.
    attributes : dict
        What else was found, by the names that estimators have for it.
    """

    labels: Labels
    nearest: NearestRow
    numbers: Labels
    margin: float
    attributes: dict[str, Any] = field(default_factory=dict)


class Grouping(Protocol):
    """Groups the rows of a domain into clusters."""

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of some rows.

        Raises
        ------
        FitError
            If there are none.
        """
        ...


def numbers_left(
    labels: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Renumber clusters from 0 on without those that no row is in.

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
    held = np.bincount(labels[labels >= 0], minlength=n_clusters) > 0
    numbers = np.where(held, np.cumsum(held) - 1, -1)
    return np.where(labels >= 0, numbers[labels], -1), numbers

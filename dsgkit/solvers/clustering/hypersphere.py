"""Smallest sphere around most rows in feature space, computed by libsvm's one-class SVM.

The dual, ``max sum_i b_i k(x_i, x_i) - b'K b`` where ``sum b = 1`` and ``0 <= b_i <= C`` [1]_, is
that of the one-class SVM for kernels with a constant diagonal, scaled: there the coefficients are
at most 1 and sum to ``nu n = 1/C``.

References
----------
.. [1] Ben-Hur, Horn, Siegelmann & Vapnik, "Support vector clustering", JMLR 2, 2001.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError, FitError
from dsgkit.kernels import without_gaps
from dsgkit.linalg import Array
from dsgkit.seeds import derive_seed
from dsgkit.solvers.clustering.centre import middle
from dsgkit.solvers.clustering.domain import Domain

TOLERANCE = 1e-8
"""Tolerance of libsvm's optimality conditions."""

BOUND_TOLERANCE = 1e-9
"""Coefficients within this relative distance of the bound count as at the bound."""

CACHE_MIB = 200
"""Size of libsvm's kernel cache."""


@dataclass(frozen=True)
class Hypersphere:
    """A sphere ``||phi(x) - a||^2 <= R^2`` with the centre ``a = sum_i b_i phi(x_i)``.

    Attributes
    ----------
    support : ndarray of int64, shape (s,)
        Rows with ``b_i > 0``.
    beta : ndarray of shape (s,)
        Their coefficients, which sum to 1.
    bounded : ndarray of bool, shape (s,)
        Which of them are at the bound C: the rows outside the sphere.
    squared_radius : float
        ``R^2``, the mean over the free support vectors, which are on the sphere.
    level : float
        Least value of ``sum_i b_i k(x_i, x)`` inside the sphere: that at its surface, lowered for
        rounding so that only rows at the bound are outside.
    """

    support: NDArray[np.int64]
    beta: Array
    bounded: NDArray[np.bool_]
    squared_radius: float
    level: float


def enclosing_sphere(X: Array, gamma: float, C: float) -> Hypersphere:
    """Return the smallest sphere around most rows.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    gamma : float
        Parameter of the kernel ``exp(-gamma ||x - x'||^2)``.
    C : float
        Largest coefficient, at least 1/n: up to a share of 1/(C n) of the rows is outside; none
        with C >= 1.

    Raises
    ------
    FitError
        If C is below 1/n: coefficients could not sum to 1.
    """
    bound = min(C, 1.0)
    # libsvm computes distances as differences of squared norms
    support, beta = _dual(without_gaps(X, gamma, middle(X)), gamma, bound)
    values = Domain(X[support], beta, gamma, level=0.0).values(X)
    bounded = beta >= bound * (1 - BOUND_TOLERANCE) if bound < 1 else np.zeros(len(beta), np.bool_)
    surface = _surface(values, support, bounded)
    squared_radius = 1 - 2 * surface + float(beta @ values[support])
    within = np.delete(values, support[bounded])
    level = min(surface, float(within.min())) if len(within) else surface
    return Hypersphere(support, beta, bounded, squared_radius, level)


@dataclass(frozen=True)
class TrainedSphere:
    """Trained sphere, see `TrainedDomain`.

    Attributes
    ----------
    support_vectors : ndarray of shape (s, n_inputs)
    coefficients : ndarray of shape (s,)
        Scaled, so that the level is 1.
    squared_radius : float
    machine : SphereMachine
        Its trainer.
    """

    support_vectors: Array
    coefficients: Array
    squared_radius: float
    machine: SphereMachine

    @property
    def domain(self) -> Domain:
        """The inside of the sphere."""
        return Domain(self.support_vectors, self.coefficients, self.machine.gamma)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator by name."""
        return {
            "support_vectors_": self.support_vectors,
            "dual_coef_": self.coefficients,
            "squared_radius_": self.squared_radius,
        }

    def objective(self, X: Any) -> float:
        """Return ``R^2 + C sum_i max(0, ||phi(x_i) - a||^2 - R^2)`` of the sphere's rows."""
        beta = self.coefficients / self.coefficients.sum()
        center = Domain(self.support_vectors, beta, self.machine.gamma, level=0.0)
        squared_norm = beta @ center.values(self.support_vectors)
        squares = 1 - 2 * center.values(self.machine.rows_of(X)) + squared_norm
        outside = np.maximum(0, squares - self.squared_radius).sum()
        return float(self.squared_radius + self.machine.C * outside)


@dataclass(frozen=True)
class SphereMachine:
    """Trainer of the sphere around the rows, or around a random share of them.

    Attributes
    ----------
    C, gamma : float
        See `enclosing_sphere`.
    share : float
        Share of the rows, from 0 to 1.
    seed : int
        Seed of the random share.
    max_rows : int, optional
        More rows are refused.
    """

    C: float
    gamma: float
    share: float = 1.0
    seed: int = 0
    max_rows: int | None = None

    def train(self, X: Any) -> TrainedSphere:
        """Return the sphere around the rows; see `Machine`."""
        rows = self.rows_of(X)
        sphere = enclosing_sphere(rows, self.gamma, self.C)
        if not sphere.level > 0:
            raise FitError(
                f"no sphere for gamma = {self.gamma:g}: the sum of kernels on its surface is "
                f"{sphere.level:g}; take a smaller gamma, or scale the features"
            )
        return TrainedSphere(
            rows[sphere.support], sphere.beta / sphere.level, sphere.squared_radius, self
        )

    def rows_of(self, X: Any) -> Array:
        """Return the rows that the sphere is fitted to."""
        n = len(X)
        if self.max_rows is not None and n > self.max_rows:
            raise DataError(
                f"{n:,} rows are more than max_rows = {self.max_rows:,}, as segments between all "
                "pairs take long; take fewer rows, or a larger max_rows"
            )
        if self.share == 1:
            return np.asarray(X[:], np.float64)
        seen = random_order(self.seed, "rows of the sphere", n)[: self.n_seen(n)]
        return np.asarray(X[np.sort(seen)], np.float64)

    def n_seen(self, n_rows: int) -> int:
        """Return how many of ``n_rows`` rows the sphere is fitted to."""
        return math.ceil(self.share * n_rows)


def random_order(seed: int, purpose: str, n_rows: int) -> NDArray[np.int64]:
    """Return positions of rows in a random order, which depends on seed and purpose."""
    return np.random.default_rng(derive_seed(seed, purpose)).permutation(n_rows)


def _dual(X: Array, gamma: float, bound: float) -> tuple[NDArray[np.int64], Array]:
    """Return the rows with positive coefficients, and these: at most ``bound``, with sum 1."""
    from sklearn.svm import OneClassSVM

    n = len(X)
    if bound * n < 1 - BOUND_TOLERANCE:
        raise FitError(f"C must be at least 1/n = {1 / n:.3g} for a sphere, got {bound:g}")
    if bound * n <= 1 + BOUND_TOLERANCE:  # the only solution, for which libsvm finds no offset
        return np.arange(n), np.full(n, 1 / n)
    machine = OneClassSVM(gamma=gamma, nu=1 / (bound * n), tol=TOLERANCE, cache_size=CACHE_MIB).fit(
        X
    )
    beta = machine.dual_coef_[0] / machine.dual_coef_.sum()
    return np.asarray(machine.support_, np.int64), beta


def _surface(values: Array, support: NDArray[np.int64], bounded: NDArray[np.bool_]) -> float:
    """Return the value on the sphere: at free support vectors, or between inside and outside."""
    if not bounded.all():
        return float(values[support[~bounded]].mean())
    inside = np.delete(values, support)
    highest = float(values[support].max())
    return (highest + float(inside.min())) / 2 if len(inside) else highest

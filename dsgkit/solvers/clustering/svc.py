"""Support vector clustering as it was first: a sphere, and segments between all pairs of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.solvers.clustering.base import ClusteringEstimator
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.equilibria import by_first
from dsgkit.solvers.clustering.hypersphere import CACHE_MIB, enclosing_sphere
from dsgkit.solvers.clustering.nearest import NearestRow
from dsgkit.solvers.clustering.segments import BOUNDARY_TOLERANCE, connected
from dsgkit.solvers.common import MaxMemory
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import THREE_BALLS, with_example
from dsgkit.solvers.parameters import COUNT, POSITIVE, Range, Smoother
from dsgkit.system.progress import part
from dsgkit.text.errors import DataError, FitError

SphereC = Annotated[
    float,
    POSITIVE,
    Smoother("smaller"),
    Doc("Largest coefficient of a row, at least 1/n. With 1 or more, no row is outside."),
]

SegmentPoints = Annotated[
    int, Range(2), Doc("Points of a segment, its ends included, that must be in the domain.")
]


class SphereClustering(ClusteringEstimator):
    """Base of the clusterings whose domain is a sphere in feature space."""

    version: ClassVar[int] = 1
    _per_variance = 8.0  # C bounds the rows outside: a narrower kernel than that of a margin

    gamma: Annotated[
        float | None,
        POSITIVE,
        Smoother("smaller"),
        Doc(
            "Kernel parameter of ``exp(-gamma ||x - x'||^2)``; without it, 8 by the sum "
            "of the columns' variances."
        ),
    ] = None
    C: SphereC = 1.0
    _: KW_ONLY
    n_segment: int
    outliers: bool

    dual_coef_: Array = fitted(
        "Scaled, so that ``sum_i dual_coef_i k(x_i, x) - 1 >= 0`` inside.", "(s,)"
    )
    squared_radius_: float = fitted("Squared radius of the sphere.")
    inside_: float = fitted("Share of the rows inside of it.")

    def _fit_domain(self, X: Any) -> None:
        rows = self._training_rows(X)
        with part(0, 0.3):
            sphere = enclosing_sphere(rows, self.gamma_, float(self.C))
        if not sphere.level > 0:
            raise FitError(
                f"kernels of gamma = {self.gamma_:g} have no sphere: their sum is {sphere.level:g} "
                "on its surface; take a smaller gamma, or scale the features"
            )
        self.support_vectors_ = rows[sphere.support]
        self.dual_coef_ = sphere.beta / sphere.level
        self.squared_radius_ = sphere.squared_radius

    def _training_rows(self, X: Any) -> Array:
        """Return the rows that the sphere is put around."""
        return np.asarray(X[:], np.float64)

    def _domain(self) -> Domain:
        return Domain(self.support_vectors_, self.dual_coef_, self.gamma_)

    def _values(self, X: Any) -> Array:
        return self._domain().values(X)

    def _objective(self, X: Any) -> float:
        """Return ``R^2 + C sum_i max(0, ||phi(x_i) - a||^2 - R^2)`` of the sphere's rows."""
        center = Domain(
            self.support_vectors_, self.dual_coef_ / self.dual_coef_.sum(), self.gamma_, level=0.0
        )
        squared_norm = center.coefficients @ center.values(self.support_vectors_)
        squares = 1 - 2 * center.values(self._training_rows(X)) + squared_norm
        outside = np.maximum(0, squares - self.squared_radius_).sum()
        return float(self.squared_radius_ + self.C * outside)

    def _clusters_of(self, X: Any) -> NDArray[np.int64]:
        return self._without_outside(X, self._nearest_labels(X))

    def _nearest_labels(self, X: Any) -> NDArray[np.int64]:
        return self._nearest.labels_of(X, np.arange(len(X)))

    def _without_outside(self, X: Any, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels with -1 for rows outside, if that is asked for."""
        if self.outliers:
            labels[self._values(X) < -BOUNDARY_TOLERANCE] = -1
        return labels


@with_example(THREE_BALLS, "gamma=1, C=0.1")
class BenHurSVC(SphereClustering):
    """Support vector clustering of Ben-Hur et al.: the complete graph of all rows [1]_.

    The domain is the inside of the smallest sphere in feature space around all rows but a share of
    up to 1/(C n). Two rows are joined if the whole segment between them is in the domain, looked at
    in some points; the connected components are the clusters. Only pairs that are not connected yet
    are tested, near ones first, which gives the same components. Rows outside take the cluster of
    the nearest row inside.

    O(n^2) time and memory for the sphere at least, and up to n^2/2 segments: hence ``max_rows``.

    References
    ----------
    .. [1] Ben-Hur, Horn, Siegelmann & Vapnik, "Support vector clustering", JMLR 2, 2001.
    """

    pace: ClassVar[Pace] = Pace(training=3, per_model=20)

    _: KW_ONLY
    n_segment: SegmentPoints = 20
    outliers: Annotated[bool, Doc("Whether rows outside get the label -1.")] = False
    max_rows: Annotated[int, COUNT, Doc("More rows than that are refused.")] = 5000
    max_memory: MaxMemory = None

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_rows: int
    ) -> Cost:
        """Return about what the sphere and a point of each segment take."""
        n_support = _expected_support(n_rows)
        row = expansion_flops(n_support, n_inputs)
        segment = 2 * n_support * (2 * n_inputs + FUNCTION_FLOPS)
        flops = n_rows * row + n_rows**2 / 2 * segment
        memory = 2**20 * CACHE_MIB + 8 * n_rows * (4 * n_inputs + 20)
        # all rows may become support vectors
        memory += expansion_memory(n_rows, n_inputs) + 8 * n_rows**2
        return Cost(flops=n_models * flops, memory=memory, flops_per_row=row)

    def _training_rows(self, X: Any) -> Array:
        if len(X) > self.max_rows:
            raise DataError(
                f"{len(X):,} rows are more than max_rows = {self.max_rows:,}: segments between all "
                "pairs of them would take long; take fewer rows, or a larger max_rows"
            )
        return super()._training_rows(X)

    def _fit_clusters(self, X: Any) -> None:
        rows = np.asarray(X[:], np.float64)
        domain = self._domain()
        with part(0.3, 1):
            joined = connected(domain, rows, int(self.n_segment), by_ends=True)
        inside = domain.values(rows) >= -BOUNDARY_TOLERANCE
        if not inside.any():
            raise FitError(
                "no row is inside of the sphere: it is that of other rows, or gamma is too large"
            )
        self.inside_ = float(inside.mean())
        clusters = by_first(joined[inside])
        self.n_clusters_ = int(clusters.max()) + 1
        self._nearest = NearestRow(rows, np.flatnonzero(inside), clusters)
        self.labels_ = np.full(len(rows), -1)
        self.labels_[inside] = clusters
        if not (self.outliers or inside.all()):
            outside = np.flatnonzero(~inside)
            self.labels_[outside] = self._nearest.labels_of(rows, outside)


def _expected_support(n_rows: int) -> int:
    """Return about how many support vectors there are: with narrow kernels, most rows."""
    return max(1, n_rows // 3)

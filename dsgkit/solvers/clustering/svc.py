"""The original support vector clustering: a sphere, and segments between all pairs of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from typing_extensions import Doc

from dsgkit.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.solvers.clustering.base import ClusteringEstimator, KernelGamma
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.equilibria import by_first
from dsgkit.solvers.clustering.groups import Clusters
from dsgkit.solvers.clustering.hypersphere import CACHE_MIB, SphereMachine
from dsgkit.solvers.clustering.nearest import NearestRow
from dsgkit.solvers.clustering.segments import BOUNDARY_TOLERANCE, connected
from dsgkit.solvers.common import MaxMemory
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import THREE_BALLS, with_example
from dsgkit.solvers.parameters import COUNT, POSITIVE, Range, Smoother

SphereC = Annotated[
    float,
    POSITIVE,
    Smoother("smaller"),
    Doc("Largest coefficient of a row, at least 1/n. With 1 or more, no row is outside."),
]

SegmentPoints = Annotated[
    int, Range(2), Doc("Points of a segment, with its ends, that must be in the domain.")
]


class SphereClustering(ClusteringEstimator):
    """Base of the clusterings whose domain is a sphere in feature space."""

    version: ClassVar[int] = 1
    _domain_time_share: ClassVar[float] = 0.3

    gamma: KernelGamma = None
    C: SphereC = 1.0
    _: KW_ONLY
    n_segment: int
    outliers: bool

    dual_coef_: Array = fitted(
        "Coefficients, scaled so that ``sum_i dual_coef_i k(x_i, x) - 1 >= 0`` inside.", "(s,)"
    )
    squared_radius_: float = fitted("Squared radius of the sphere.")
    inside_: float = fitted("Share of the rows inside the sphere.")


@with_example(THREE_BALLS, "gamma=1, C=0.1")
class BenHurSVC(SphereClustering):
    """Support vector clustering of Ben-Hur et al.: the complete graph of all rows [1]_.

    The domain is the inside of the smallest sphere in feature space around all rows but a share of
    up to 1/(C n). Two rows are joined if the whole segment between them, tested at ``n_segment``
    points, is in the domain; connected components are the clusters. Only pairs that are not
    connected yet are tested, near ones first, which gives the same components. Rows outside take
    the cluster of the nearest row inside.

    The sphere takes at least O(n^2) time and memory, and there are up to n^2/2 segments: hence
    ``max_rows``.

    References
    ----------
    .. [1] Ben-Hur, Horn, Siegelmann & Vapnik, "Support vector clustering", JMLR 2, 2001.
    """

    pace: ClassVar[Pace] = Pace(training=3, per_model=20)

    _: KW_ONLY
    n_segment: SegmentPoints = 20
    outliers: Annotated[bool, Doc("Whether rows outside get the label -1.")] = False
    max_rows: Annotated[int, COUNT, Doc("More rows are refused.")] = 5000
    max_memory: MaxMemory = None

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_rows: int
    ) -> Cost:
        """Estimate the cost of the sphere and of one point per segment."""
        n_support = _expected_support(n_rows)
        row = expansion_flops(n_support, n_inputs)
        segment = 2 * n_support * (2 * n_inputs + FUNCTION_FLOPS)
        flops = n_rows * row + n_rows**2 / 2 * segment
        memory = 2**20 * CACHE_MIB + 8 * n_rows * (4 * n_inputs + 20)
        # all rows may become support vectors
        memory += expansion_memory(n_rows, n_inputs) + 8 * n_rows**2
        return Cost(flops=n_models * flops, memory=memory, flops_per_row=row)

    def _machine(self, n_rows: int) -> SphereMachine:
        return SphereMachine(float(self.C), self.gamma_, max_rows=self.max_rows)

    def _grouping(self) -> AllPairsGrouping:
        return AllPairsGrouping(int(self.n_segment), self.outliers)


@dataclass(frozen=True)
class AllPairsGrouping:
    """Clustering of rows joined by segments inside the domain; see `BenHurSVC`.

    Attributes
    ----------
    n_segment, outliers
        Parameters of `BenHurSVC`.
    """

    n_segment: int
    outliers: bool

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of rows; see `Grouping`."""
        rows = np.asarray(X[:], np.float64)
        joined = connected(domain, rows, self.n_segment, by_ends=True)
        inside = domain.values(rows) >= -BOUNDARY_TOLERANCE
        if not inside.any():
            raise FitError(
                "no row is inside the sphere: take the rows of fit_domain, or a smaller gamma"
            )
        clusters = by_first(joined[inside])
        nearest = NearestRow(rows, np.flatnonzero(inside), clusters)
        labels = np.full(len(rows), -1)
        labels[inside] = clusters
        if not (self.outliers or inside.all()):
            outside = np.flatnonzero(~inside)
            labels[outside] = nearest.labels_of(rows, outside)
        numbers = np.arange(int(clusters.max()) + 1)
        attributes = {"inside_": float(inside.mean())}
        return Clusters(labels, nearest, numbers, BOUNDARY_TOLERANCE, attributes)


def _expected_support(n_rows: int) -> int:
    """Return the approximate number of support vectors; with narrow kernels, most rows are."""
    return max(1, n_rows // 3)

"""Fast support vector clustering: trajectories start only from the centres of small balls."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.equilibria import find_equilibria
from dsgkit.solvers.clustering.groups import Clusters, without_empty_clusters
from dsgkit.solvers.clustering.hypersphere import CACHE_MIB, SphereMachine, random_order
from dsgkit.solvers.clustering.many_columns import products_memory
from dsgkit.solvers.clustering.nearest import NearestRow
from dsgkit.solvers.clustering.segments import BOUNDARY_TOLERANCE, connected
from dsgkit.solvers.clustering.svc import SegmentPoints, SphereC, SphereClustering
from dsgkit.solvers.common import MaxMemory, RandomState
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import THREE_BALLS, with_example
from dsgkit.solvers.parameters import POSITIVE, Range
from dsgkit.system.jit import fast
from dsgkit.system.progress import part

_TRAJECTORY_STEPS = 40.0
"""Approximate steps of a trajectory."""

_MAX_EXPONENTS = 2**25
"""Most exponents at equilibria that are kept for the segments between them."""

_BALL_ROWS = 10
"""Approximate rows per ball."""


@with_example(THREE_BALLS, "gamma=1, C=0.1")
class FSVC(SphereClustering):
    """Fast support vector clustering with a cover of balls [1]_.

    The domain is the inside of the smallest sphere in feature space around the rows, or around a
    random share of them. Balls of equal radius cover the rows: the first uncovered row, in random
    order, is the centre of the next ball. Every centre follows the fixed-point map of mean shift to
    an equilibrium. Equilibria are joined if the whole segment between them is in the domain;
    connected components are the clusters. Rows take the cluster of their ball, new rows that of the
    nearest centre.

    The clustering papers search two numbers p and epsilon from 0.1 to 1 without defining them. Here
    they are `share` and `radius`, which is this project's interpretation.

    References
    ----------
    .. [1] Jung, Lee & Lee, "Clustering based on Gaussian processes", Neural Computation 19, 2007;
       Jung, Lee & Kim, "Fast support-based clustering method for large-scale problems", Pattern
       Recognition 43, 2010.
    """

    pace: ClassVar[Pace] = Pace(training=25, per_model=5)

    C: Annotated[
        SphereC,
        Doc(
            "Largest coefficient of a row, at least 1/n for the n rows that the sphere is "
            "fitted to. With 1 or more, none of these is outside."
        ),
    ] = 1.0
    _: KW_ONLY
    share: Annotated[
        float,
        Range(0, 1, open_low=True),
        Doc("Share p of the rows that the sphere is fitted to."),
    ] = 1.0
    radius: Annotated[
        float, POSITIVE, Doc("Radius epsilon of the balls, in kernel widths ``1/sqrt(2 gamma)``.")
    ] = 0.5
    n_segment: SegmentPoints = 20
    outliers: Annotated[
        bool,
        Doc(
            "Whether rows outside the sphere get the label -1. Clusters with only such rows "
            "are dropped."
        ),
    ] = False
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    equilibria_: Array = fitted("Equilibria of the centres' trajectories.", "(e, n_inputs)")
    equilibrium_labels_: NDArray[np.int64] = fitted("Their clusters; -1 for dropped ones.", "(e,)")
    n_balls_: int = fitted("Balls that cover the rows.")
    n_unconverged_: int = fitted("Centres whose trajectories did not converge.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_rows: int
    ) -> Cost:
        """Estimate the cost of both phases, with the memory of the larger one."""
        n_seen = self._machine(n_rows).n_seen(n_rows)
        n_support = max(1, n_seen // 3)
        row = expansion_flops(n_support, n_inputs)
        n_balls = 1 + n_rows // _BALL_ROWS
        flops = (n_seen + n_rows + _TRAJECTORY_STEPS * n_balls) * row
        flops += 4.0 * n_rows * n_balls * n_inputs
        memory = 2**20 * CACHE_MIB + 8 * n_rows * (4 * n_inputs + 20)
        # all rows may become support vectors
        memory += expansion_memory(n_seen, n_inputs) + products_memory(n_seen, n_inputs)
        memory += 8 * min(n_rows * n_seen, _MAX_EXPONENTS)
        return Cost(flops=n_models * flops, memory=memory, flops_per_row=row)

    def _machine(self, n_rows: int) -> SphereMachine:
        # no cost depends on gamma
        gamma = getattr(self, "gamma_", 1.0)
        return SphereMachine(float(self.C), gamma, self.share, int(self.random_state))

    def _grouping(self) -> BallGrouping:
        return BallGrouping(self.radius, int(self.n_segment), self.outliers, int(self.random_state))


@dataclass(frozen=True)
class BallGrouping:
    """Clustering by the equilibria of the centres of balls; see `FSVC`.

    Attributes
    ----------
    radius, n_segment, outliers, random_state
        Parameters of `FSVC`.
    """

    radius: float
    n_segment: int
    outliers: bool
    random_state: int

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of rows; see `Grouping`."""
        rows = np.asarray(X[:], np.float64)
        order = random_order(self.random_state, "cover", len(rows))
        with part(0, 0.3):
            centers, balls = cover(rows, order, self.radius * domain.width)
        with part(0.3, 0.85):
            equilibria = find_equilibria(domain, rows, centers)
        with part(0.85, 1):
            points = equilibria.points
            by_ends = len(points) * len(domain.coefficients) <= _MAX_EXPONENTS
            clusters = connected(domain, points, self.n_segment, by_ends=by_ends)
        ball_clusters = clusters[equilibria.which]
        nearest = NearestRow(rows, centers, ball_clusters)
        labels = ball_clusters[balls]
        outside = domain.values(rows) < -BOUNDARY_TOLERANCE
        if self.outliers:
            labels[outside] = -1
        labels, numbers = without_empty_clusters(labels, int(clusters.max()) + 1)
        attributes = {
            "equilibria_": points,
            "equilibrium_labels_": numbers[clusters],
            "n_balls_": len(centers),
            "n_unconverged_": equilibria.n_unconverged,
            "inside_": float(1 - outside.mean()),
        }
        return Clusters(labels, nearest, numbers, BOUNDARY_TOLERANCE, attributes)


def cover(
    X: Array, order: NDArray[np.int64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cover rows with balls around some of them.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    order : ndarray of int64, shape (n,)
        Order in which rows become centres, unless an earlier ball covers them.
    radius : float

    Returns
    -------
    centers : ndarray of int64, shape (m,)
        Rows that are the centres of the balls.
    balls : ndarray of int64, shape (n,)
        The first ball that covers each row.
    """
    centers, balls = np.empty(len(X), np.int64), np.empty(len(X), np.int64)
    count = _cover(X, order, radius**2, centers, balls)
    return centers[:count], balls


@fast
def _cover(X, order, squared_radius, centers, balls):  # type: ignore[no-untyped-def]
    """Write centres and balls; return the number of balls."""
    count = 0
    for row in order:
        ball = 0
        while ball < count:
            square = 0.0
            for column in range(X.shape[1]):
                square += (X[row, column] - X[centers[ball], column]) ** 2
            if square <= squared_radius:
                break
            ball += 1
        if ball == count:
            centers[count] = row
            count += 1
        balls[row] = ball
    return count

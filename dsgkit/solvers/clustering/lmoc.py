"""SGD-LMOC and BSGD-LMOC: clusters of a large-margin one-class support vector machine."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.solvers.clustering.base import ClusteringEstimator, KernelGamma
from dsgkit.solvers.clustering.budget import NEAREST, RANDOM, REMOVAL
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.equilibria import BLOCK_TRAJECTORIES, find_equilibria
from dsgkit.solvers.clustering.groups import Clusters, without_empty_clusters
from dsgkit.solvers.clustering.many_columns import products_memory
from dsgkit.solvers.clustering.nearest import NearestRow
from dsgkit.solvers.clustering.one_class import BLOCK_STEPS, CHUNK_STEPS, Descent
from dsgkit.solvers.clustering.segments import connected
from dsgkit.solvers.common import MaxMemory, RandomState
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.examples import THREE_BALLS, with_example
from dsgkit.solvers.parameters import COUNT, NOT_NEGATIVE, POSITIVE, Range, Smoother
from dsgkit.system.progress import part

Stop = Literal["paper", "epoch"]

LossWeight = Annotated[float, POSITIVE, Smoother("smaller"), Doc("Weight of the mean loss.")]

StopRule = Annotated[
    Stop | None,
    Doc(
        '"paper": training ends after a step, except the first, that moves w by at most '
        '``tol``; "epoch": after n such steps in a row for n rows. None is '
        '"paper" for the strategy "removal", else "epoch".'
    ),
]

StopMove = Annotated[float, NOT_NEGATIVE, Doc("Length of a small step; see ``stop``.")]

MostSteps = Annotated[int, COUNT, Doc("Most steps of the training.")]

Epsilon = Annotated[
    float | None,
    NOT_NEGATIVE,
    Doc(
        "Rows with ``|f| <= epsilon`` are boundary rows; None is the 20% quantile of ``|f|`` at "
        "the rows, but at least 0.1, the value of the paper."
    ),
]

Starts = Annotated[
    Literal["boundary", "all"],
    Doc("Rows that start trajectories; the others take the cluster of the nearest of these."),
]

SegmentPoints = Annotated[
    int, Range(2), Doc("Points of a segment, with its ends, at which f is evaluated.")
]

Outliers = Annotated[
    bool,
    Doc(
        "Whether rows with ``f < -epsilon`` get the label -1. Clusters with only such rows are "
        "dropped."
    ),
]


STRATEGIES: dict[str | None, int] = {
    None: REMOVAL,
    "removal": REMOVAL,
    "pnn": NEAREST,
    "prn": RANDOM,
}

MIN_EPSILON = 0.1
BOUNDARY_SHARE = 0.2
"""Least share of boundary rows by default: those nearest to the boundary."""

_TRAJECTORY_STEPS = 40.0
"""Approximate steps of a trajectory; measured: 12 to 300."""


class LargeMarginClustering(ClusteringEstimator):
    """Base of the clusterings by a large-margin one-class SVM, with or without a budget."""

    version: ClassVar[int] = 1

    C: LossWeight
    stop: StopRule
    tol: StopMove
    max_iter: MostSteps
    epsilon: Epsilon
    starts: Starts
    n_segment: SegmentPoints
    outliers: Outliers
    random_state: RandomState

    equilibria_: Array = fitted("Equilibria of the boundary rows' trajectories.", "(e, n_inputs)")
    equilibrium_labels_: NDArray[np.int64] = fitted(
        "Their clusters; -1 for clusters dropped because all their rows are outliers.", "(e,)"
    )
    n_boundary_: int = fitted("Rows that trajectories start from.")
    n_unconverged_: int = fitted("Trajectories that did not converge.")
    mode_seeking_only_: bool = fitted(
        "Whether f < 0 at all rows and equilibria, so that every equilibrium is a cluster."
    )
    inside_: float = fitted("Share of the rows with f >= 0.")
    epsilon_: float = fitted("Rows with ``|f| <= epsilon_`` are boundary rows.")
    n_iter_: int = fitted("Steps of the training.")
    n_removals_: int = fitted("Support vectors removed.")
    mass_: float = fitted("Sum of ``dual_coef_``.")

    budget: int | None = preset(None)
    strategy: Literal["removal", "pnn", "prn"] | None = preset(None)
    n_neighbors: int = preset(0)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_rows: int
    ) -> Cost:
        """Estimate the cost of both phases, with the memory of the larger one."""
        machine = self._machine(n_rows)
        row = expansion_flops(machine.expected_support(n_rows), n_inputs)
        n_starts = n_rows if self.starts == "all" else BOUNDARY_SHARE * n_rows
        descent = machine.expected_steps * row * machine.rows_per_step
        clustering = (n_rows + n_starts * _TRAJECTORY_STEPS) * row
        most = machine.most_support(n_rows)
        # support vectors, with those copied while their arrays grow
        support = 8 * (3 * n_inputs + 6) * (most + CHUNK_STEPS)
        # boundary rows, twice; values, starts and labels of all; starts, ends and cells of a block
        rows = 8 * (
            2 * n_starts * n_inputs + 10 * n_rows + 10 * min(BLOCK_TRAJECTORIES, n_rows) * n_inputs
        )
        at_once = expansion_memory(most, n_inputs) + products_memory(most, n_inputs)
        memory = support + rows + max(at_once, 8 * BLOCK_STEPS * most)
        return Cost(n_models * (descent + clustering), int(memory), row)

    def _machine(self, n_rows: int) -> Descent:
        stop = self.stop or ("paper" if self.strategy == "removal" else "epoch")
        return Descent(
            C=float(self.C),
            gamma=getattr(self, "gamma_", 1.0),  # no cost depends on it
            tol=float(self.tol),
            patience=1 if stop == "paper" else n_rows,
            max_iter=int(self.max_iter),
            seed=int(self.random_state),
            budget=None if self.budget is None else int(self.budget),
            strategy=STRATEGIES[self.strategy],
            n_neighbors=int(self.n_neighbors),
        )

    def _grouping(self) -> BoundaryGrouping:
        return BoundaryGrouping(self.epsilon, self.starts, int(self.n_segment), self.outliers)


@dataclass(frozen=True)
class BoundaryGrouping:
    """Clustering by the equilibria of boundary rows; see `BSGDLMOC`.

    Attributes
    ----------
    epsilon, starts, n_segment, outliers
        Parameters of `BSGDLMOC`.
    """

    epsilon: float | None
    starts: str
    n_segment: int
    outliers: bool

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of rows; see `Grouping`."""
        f = domain.values(X)
        epsilon = self._epsilon(f)
        is_start = np.abs(f) <= epsilon if self.starts == "boundary" else np.full(len(f), True)
        if not is_start.any():
            raise FitError(
                f"no row has |f| <= epsilon = {epsilon:g}, so that no trajectory can start: the "
                f"smallest |f| is {np.abs(f).min():.3g}; take a larger epsilon, or None to fit it "
                "to the rows"
            )
        rows = np.flatnonzero(is_start)
        with part(0, 0.5):
            equilibria = find_equilibria(domain, X, rows)
        with part(0.5, 0.7):
            clusters = connected(domain, equilibria.points, self.n_segment)
        highest = max(f.max(), domain.values(equilibria.points).max())
        labels = np.empty(len(f), np.int64)
        labels[rows] = clusters[equilibria.which]
        nearest = NearestRow(X, rows, labels[rows])
        with part(0.7, 1):
            labels[~is_start] = nearest.labels_of(X, np.flatnonzero(~is_start))
        if self.outliers:
            labels[f < -epsilon] = -1
        labels, numbers = without_empty_clusters(labels, int(clusters.max()) + 1)
        attributes = {
            "equilibria_": equilibria.points,
            "equilibrium_labels_": numbers[clusters],
            "n_boundary_": len(rows),
            "n_unconverged_": equilibria.n_unconverged,
            "mode_seeking_only_": bool(highest < 0),
            "inside_": float(np.mean(f >= 0)),
            "epsilon_": epsilon,
        }
        return Clusters(labels, nearest, numbers, epsilon, attributes)

    def _epsilon(self, f: Array) -> float:
        """Return the largest ``|f|`` of boundary rows."""
        if self.epsilon is not None:
            return float(self.epsilon)
        return max(MIN_EPSILON, float(np.quantile(np.abs(f), BOUNDARY_SHARE)))


class BSGDLMOC(LargeMarginClustering):
    """Support vector clustering with a budget of support vectors.

    The domain is that of the large-margin one-class support vector machine, which minimises
    ``1/2 ||w||^2 + C/n sum_i max(0, 1 - w.phi(x_i))`` for the kernel ``exp(-gamma ||x - x'||^2)``:
    ``f(x) = w.phi(x) - 1 = sum_i alpha_i k(x_i, x) - 1``. It is trained by stochastic gradient
    descent; beyond the budget, the support vector with the smallest coefficient is removed, of
    equal ones the oldest. Every boundary row, ``|f| <= epsilon``, follows the fixed-point map of
    mean shift to an equilibrium of f. Equilibria are joined if f >= 0 on the whole segment between
    them; connected components are the clusters. Boundary rows take the cluster of their
    equilibrium, other and new rows that of their nearest boundary row.

    The defaults are the best of a few that were tried, by the mean adjusted Rand index on
    scikit-learn's datasets of groups in a plane, which need a large C. With many columns a smaller
    C may be better: on the digits 8, with which every mode is a cluster.

    As ``sum alpha <= C`` while vectors are only removed, the domain is empty for C <= 1. If it is
    empty, no two equilibria are joined (``mode_seeking_only_``).

    O(B d) time per step and, for n rows, O(n B d) for the clusters, times the steps of the
    trajectories; O(n d) memory.

    Notes
    -----
    The text of [1]_ contradicts its Tables 7 and 8: PNN is not "a little slower" than PRN but
    slower on four and faster on four datasets in training, and faster on 14 of 15 in clustering
    time, in which a baseline is ahead of all three strategies on Shuttle and Car.

    References
    ----------
    .. [1] Pham, Le & Dang, "Scalable support vector clustering using budget", arXiv 1709.06444,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit.solvers.clustering.lmoc import BSGDLMOC
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 600)
    >>> radius = np.where(np.arange(600) < 150, 0.2, 2)
    >>> X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X += 0.1 * rng.normal(size=X.shape)
    >>> model = BSGDLMOC(gamma=2, C=512, budget=100).fit(X)
    >>> model.n_clusters_, len(model.support_vectors_)
    (2, 100)
    >>> model.predict([[0, 0], [2, 0], [0, -2]])
    array([0, 1, 1])
    """

    pace: ClassVar[Pace] = Pace(training=0.8, per_model=6)

    gamma: KernelGamma = None
    C: LossWeight = 256.0
    _: KW_ONLY
    budget: Annotated[int, COUNT, Doc("Most support vectors, B.")] = 100
    strategy: Annotated[
        Literal["removal", "pnn", "prn"],
        Doc(
            "What happens to a removed support vector: it is dropped, or projected onto the "
            'span of its nearest ("pnn") or of random ("prn") others. With "removal" the '
            "coefficients, and with them the domain, vanish in a long training."
        ),
    ] = "pnn"
    n_neighbors: Annotated[
        int, COUNT, Doc("Support vectors that a removed one is projected onto.")
    ] = 5
    stop: StopRule = None
    tol: StopMove = 0.01
    max_iter: MostSteps = 10**7
    epsilon: Epsilon = None
    starts: Starts = "boundary"
    n_segment: SegmentPoints = 20
    outliers: Outliers = False
    max_memory: MaxMemory = None
    random_state: RandomState = 0


@with_example(THREE_BALLS, "gamma=1, C=8")
class SGDLMOC(LargeMarginClustering):
    """Support vector clustering by `BSGDLMOC` without a budget.

    The number of support vectors grows with that of the rows, so that the time grows with its
    square. See `BSGDLMOC` for the method and the attributes.

    References
    ----------
    .. [1] Pham, Le, Le & Dang, "Fast support vector clustering", Vietnam Journal of Computer
       Science 4, 2017.
    """

    pace: ClassVar[Pace] = Pace(training=1.5, per_model=10)

    gamma: KernelGamma = None
    C: LossWeight = 256.0
    _: KW_ONLY
    stop: StopRule = None
    tol: StopMove = 0.01
    max_iter: MostSteps = 10**7
    epsilon: Epsilon = None
    starts: Starts = "boundary"
    n_segment: SegmentPoints = 20
    outliers: Outliers = False
    max_memory: MaxMemory = None
    random_state: RandomState = 0

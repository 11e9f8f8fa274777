"""Support vector clusterings: a domain is trained, then its geometry gives clusters."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dsgkit.clustering import geometry, one_class, sphere
from dsgkit.clustering.clusters import (
    BOUNDARY_SHARE,
    Clusters,
    by_balls,
    by_boundary,
    by_pairs,
    random_order,
)
from dsgkit.clustering.domain import Domain, gamma_of_neighbours
from dsgkit.clustering.geometry import Labels, labels_of_nearest
from dsgkit.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.engine.problem import Sizes
from dsgkit.errors import DataError, warn
from dsgkit.estimators.base import ClusterMixin, Estimator, refuse_above_memory
from dsgkit.estimators.inputs import as_rows, check_distances, naming_bad_rows
from dsgkit.estimators.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    MaxMemory,
    RandomState,
    Range,
    Smoother,
)
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.system.progress import part

KernelGamma = Annotated[float | None, POSITIVE, Smoother("smaller")]
Weight = Annotated[float, POSITIVE, Smoother("smaller")]
StopRule = Literal["paper", "epoch"] | None
SegmentPoints = Annotated[int, Range(2)]

NEIGHBOUR_SHARE = 0.06
"""Share of all rows that are neighbours of a row at the default gamma."""

LEAST_ROWS = 50
"""Least rows for a warning about the number of clusters."""

STRATEGIES = {"removal": one_class.REMOVAL, "pnn": one_class.NEAREST, "prn": one_class.RANDOM}

# Approximate numbers: of support vectors per step, steps per trajectory (measured: 12 to 300), rows
# per ball, and the most support vectors of a sphere around many rows
_SUPPORT_SHARE, _TRAJECTORY_STEPS, _BALL_ROWS, _MOST_SUPPORT = 0.3, 40.0, 10, 2000


class ClusteringEstimator(ClusterMixin, Estimator):
    """Base of the support vector clusterings, which work in two phases.

    `fit_domain` trains a function f; its domain, where f >= 0, encloses most rows. `fit_clusters`
    clusters the rows. A subclass implements `domain`, `clusters` and `objective`, and `cost` if
    plans shall know the time and memory of a fit, whose rows are ``n.labeled``.
    """

    tasks = ("clustering",)
    domain_time_share: ClassVar[float] = 0.5
    """Approximate share of the domain in the time of a fit."""

    gamma: KernelGamma = None
    _: KW_ONLY
    outliers: bool = False
    max_memory: MaxMemory = None

    def domain(self, X: Any) -> Domain:
        """Return the domain of the rows of ``X``; may set fitted attributes."""
        raise NotImplementedError

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        """Return the clusters of the rows of ``X``."""
        raise NotImplementedError

    def objective(self, X: Any) -> float:
        """Return what the training minimises, at the training rows."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the domain, and cluster the rows.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : object
            Ignored.

        Warns
        -----
        DsgWarning
            If the default gamma finds, for 50 rows or more, one cluster, or more clusters than the
            square root of the number of rows.
        """
        return self.fit_domain(X).fit_clusters(X)

    def fit_domain(self, X: Any) -> Self:
        """Train the domain that encloses the rows: the first phase of `fit`."""
        rows = self._checked(X, reset=True)
        gamma = gamma_of_neighbours(rows, NEIGHBOUR_SHARE) if self.gamma is None else self.gamma
        self.gamma_ = float(gamma)
        with part(0, self.domain_time_share):
            self._domain = self.domain(rows)
        self.support_vectors_ = self._domain.support_vectors
        self.dual_coef_ = self._domain.coefficients
        return self

    def fit_clusters(self, X: Any) -> Self:
        """Cluster rows by the trained domain: the second phase of `fit`."""
        check_is_fitted(self, "dual_coef_")
        rows = self._checked(X, reset=False)
        with part(self.domain_time_share, 1):
            self._clusters = self.clusters(self._domain, rows)
        self.labels_ = self._clusters.labels
        self.n_clusters_ = int(self._clusters.known.max()) + 1
        self.__dict__.update(self._clusters.attributes)
        self._warn_of_clusters(rows)
        return self

    @naming_bad_rows
    def decision_function(self, X: Any) -> Array:
        """Return f at the rows of ``X``, shape (n,): at least 0 inside the domain."""
        check_is_fitted(self, "dual_coef_")
        return self._domain.values(as_rows(self, X, reset=False))

    @naming_bad_rows
    def predict(self, X: Any) -> Labels:
        """Return the clusters of new rows, shape (n,)."""
        check_is_fitted(self, "labels_")
        rows = as_rows(self, X, reset=False)
        check_distances(rows)
        clusters = self._clusters
        labels = labels_of_nearest(clusters.tree, clusters.known, rows, np.arange(len(rows)))
        if self.outliers:
            labels[self._domain.values(rows) < -clusters.margin] = -1
        return labels

    def diagnostics(self, X: Any) -> dict[str, float]:
        """Return ``objective``: what `fit_domain` minimises, at the training rows ``X``.

        For stochastic descent it is that of the last iterate and not of an average.
        """
        check_is_fitted(self, "dual_coef_")
        return {"objective": self.objective(as_rows(self, X, reset=False))}

    @naming_bad_rows
    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return rows with finite distances whose fit is within the limit of memory."""
        self._check_params()
        rows = as_rows(self, X, reset=reset)
        check_distances(rows)
        refuse_above_memory(self, self.cost(Sizes(rows.shape[1], len(rows))))
        return rows

    def _warn_of_clusters(self, X: Any) -> None:
        """Warn if the default gamma finds one cluster, or more than ``sqrt(n)``."""
        if self.gamma is not None or len(X) < LEAST_ROWS:
            return
        n = self.n_clusters_
        if n == 1 and np.ptp(self.support_vectors_, axis=0).any():
            clusters, wanted, gamma = "one cluster", "more", 2 * self.gamma_
        elif n > math.sqrt(len(X)):
            clusters, wanted, gamma = f"{n:,} clusters", "fewer", self.gamma_ / 2
        else:
            return
        warn(
            f"{clusters} of {len(X):,} rows at the default gamma, {self.gamma_:.3g}: for {wanted}, "
            f"set gamma={gamma:.3g}, or scale the features"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def geometry_memory(n_points: float, n_support: int, n_inputs: int) -> float:
    """Return the bytes for f, trajectories by products, and segments by their ends."""
    entries = min(n_points * n_support, geometry.MAX_EXPONENTS)
    if n_inputs >= geometry.PRODUCT_INPUTS:
        products = min(n_points * n_support, geometry.PRODUCT_ENTRIES)
        entries = max(entries, 2 * products + 2 * n_support * n_inputs)
    return 8 * entries + expansion_memory(n_support, n_inputs)


# Estimators


class SGDLMOC(ClusteringEstimator):
    """Support vector clustering by a large-margin one-class machine without a budget.

    `BSGDLMOC` without the removal of support vectors: their number grows with that of the rows, so
    that the time grows with its square.

    Parameters
    ----------
    gamma : float > 0, optional
        Parameter of the kernel ``exp(-gamma ||x - x'||^2)``; None is the one at which a row has 6%
        of all rows, but at least 7, as neighbours.
    C : float > 0, default 256.0
        Weight of the mean loss.
    stop : {"paper", "epoch"}, optional
        Training ends after one step, not the first, that moves w by at most ``tol`` ("paper"), or
        after n such steps in a row for n rows ("epoch" and None).
    tol : float >= 0, default 0.01
        Length of a small step; see ``stop``.
    max_iter : int >= 1, default 10000000
        Most steps of the training.
    epsilon : float >= 0, optional
        Largest ``|f|`` of boundary rows; None is its 20% quantile, but at least the paper's 0.1.
    starts : {"boundary", "all"}, default "boundary"
        Rows that trajectories start from; others take the cluster of the nearest of these.
    n_segment : int >= 2, default 20
        Points of a segment, with its ends, at which f is evaluated.
    outliers : bool, default False
        Whether rows with ``f < -epsilon`` get the label -1; clusters of only such rows are dropped.
    max_memory : float > 0, optional
        Limit in GiB; None is 80% of the available memory.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of everything that is drawn at random.

    Attributes
    ----------
    gamma_ : float
        Kernel parameter in use.
    labels_ : ndarray of shape (n,)
        Cluster of each row, from 0 on; -1 for rows outside, with ``outliers``.
    n_clusters_ : int
        Clusters with at least one row.
    support_vectors_, dual_coef_, mass_ : ndarray of shape (s, n_inputs) and (s,), float
        Rows of the domain's kernel expansion, their coefficients, and the sum of these.
    n_iter_, n_removals_, n_boundary_, n_unconverged_ : int
        Steps of the training, support vectors removed, boundary rows, and trajectories that did not
        converge.
    inside_, epsilon_ : float
        Share of the rows with f >= 0, and the largest ``|f|`` of boundary rows.
    equilibria_, equilibrium_labels_ : ndarray of shape (e, n_inputs) and (e,)
        Equilibria of the trajectories, and their clusters; -1 for clusters that were dropped
        because all their rows are outliers.
    mode_seeking_only_ : bool
        Whether f < 0 at all rows and equilibria, so that every equilibrium is a cluster.

    References
    ----------
    .. [1] Pham, Le, Le & Dang, "Fast support vector clustering", Vietnam Journal of Computer
       Science 4, 2017.
    """

    pace: ClassVar[Pace] = Pace(training=1.5, per_model=10)

    C: Weight = 256.0
    _: KW_ONLY
    stop: StopRule = None
    tol: Annotated[float, NOT_NEGATIVE] = 0.01
    max_iter: Annotated[int, COUNT] = 10**7
    epsilon: Annotated[float | None, NOT_NEGATIVE] = None
    starts: Literal["boundary", "all"] = "boundary"
    n_segment: SegmentPoints = 20
    random_state: RandomState = 0

    def _patience(self, n_rows: int) -> int:
        """Return how many small steps in a row end the training."""
        return 1 if self.stop == "paper" else n_rows

    def _budget(self) -> dict[str, int]:
        return {}

    def domain(self, X: Any) -> Domain:
        domain, self.n_iter_, self.n_removals_ = one_class.one_class(
            X,
            float(self.C),
            self.gamma_,
            tol=float(self.tol),
            patience=self._patience(len(X)),
            max_iter=int(self.max_iter),
            seed=self._seed,
            **self._budget(),
        )
        self.mass_ = float(domain.coefficients.sum())
        return domain

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        n_segment = int(self.n_segment)
        return by_boundary(domain, X, self.epsilon, self.starts, n_segment, self.outliers)

    def objective(self, X: Any) -> float:
        return one_class.objective(self._domain, float(self.C), X)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        n_inputs, n_rows = n.inputs, n.labeled
        limits = self._budget()
        budget = min(limits.get("budget", n_rows), n_rows)
        patience = self._patience(n_rows)
        steps = one_class.expected_steps(self.C, self.tol, patience, self.max_iter)
        row = expansion_flops(min(budget, 1 + _SUPPORT_SHARE * steps), n_inputs)
        rows_per_step = 0.5  # on average, as their number grows
        if limits:
            projected = limits["n_neighbors"] if limits["strategy"] != one_class.REMOVAL else 0
            rows_per_step = 1 + _SUPPORT_SHARE * (1 + projected)
        n_starts = n_rows if self.starts == "all" else BOUNDARY_SHARE * n_rows
        flops = (rows_per_step * steps + n_rows + _TRAJECTORY_STEPS * n_starts) * row
        most = min(budget, 1 + int(n_rows * -math.expm1(-steps / n_rows)))
        # support vectors and their copies; boundary rows, twice; values and labels; ends of a block
        entries = (3 * n_inputs + 6) * most + 2 * n_starts * n_inputs + 10 * n_rows
        entries += 10 * min(geometry.BLOCK_TRAJECTORIES, n_rows) * n_inputs
        memory = int(8 * entries + geometry_memory(n_starts, most, n_inputs))
        return Cost(n_models * flops, memory, row)


class BSGDLMOC(SGDLMOC):
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

    Parameters
    ----------
    gamma, C, tol, max_iter, epsilon, starts, n_segment, outliers, max_memory, random_state
        As in `SGDLMOC`.
    budget : int >= 1, default 100
        Most support vectors, B.
    strategy : {"removal", "pnn", "prn"}, default "pnn"
        What happens to a removed support vector: it is dropped, or projected onto the span of its
        nearest ("pnn") or of random ("prn") others. With "removal" the coefficients, and with them
        the domain, vanish in a long training.
    n_neighbors : int >= 1, default 5
        Support vectors that a removed one is projected onto.
    stop : {"paper", "epoch"}, optional
        As described in `SGDLMOC`, but None is "paper" for the strategy "removal".

    Attributes
    ----------
    gamma_, labels_, n_clusters_, support_vectors_, dual_coef_, mass_, n_iter_, n_removals_
        As in `SGDLMOC`.
    n_boundary_, n_unconverged_, inside_, epsilon_, mode_seeking_only_
        As in `SGDLMOC`.
    equilibria_, equilibrium_labels_
        As in `SGDLMOC`.

    Notes
    -----
    At the default gamma there are often many clusters, of which 2 to 5 hold 70 to 90% of the rows,
    and most others one to three rows each: 17 on iris, 30 on standardised wine. On ten of
    scikit-learn's datasets, the adjusted Rand index of the four clusterings is then .07 below that
    of the best gamma in the mean, at most .1 in 30 of 39 cases, and .28 at worst. Searches without
    labels were worse: by the stability of the clusters .14, by the number of large ones .21.

    References
    ----------
    .. [1] Pham, Le & Dang, "Scalable support vector clustering using budget", arXiv 1709.06444,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import BSGDLMOC
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

    _: KW_ONLY
    budget: Annotated[int, COUNT] = 100
    strategy: Literal["removal", "pnn", "prn"] = "pnn"
    n_neighbors: Annotated[int, COUNT] = 5

    def _patience(self, n_rows: int) -> int:
        by_default = self.stop is None and self.strategy == "removal"
        return 1 if by_default else super()._patience(n_rows)

    def _budget(self) -> dict[str, int]:
        strategy, n_neighbors = STRATEGIES[self.strategy], int(self.n_neighbors)
        return {"budget": int(self.budget), "strategy": strategy, "n_neighbors": n_neighbors}


class BenHurSVC(ClusteringEstimator):
    """Support vector clustering of Ben-Hur et al.: the complete graph of all rows.

    The domain is the inside of the smallest sphere in feature space around all rows but a share of
    up to 1/(C n). Two rows are joined if the whole segment between them, tested at ``n_segment``
    points, is in the domain; connected components are the clusters. Only pairs that are not
    connected yet are tested, near ones first, which gives the same components. Rows outside take
    the cluster of the nearest row inside.

    The sphere takes at least O(n^2) time and memory, and there are up to n^2/2 segments: hence
    ``max_rows``.

    The default gamma may leave many clusters of one to three rows: see the notes of `BSGDLMOC`.

    Parameters
    ----------
    gamma, max_memory
        As in `SGDLMOC`.
    C : float > 0, default 1.0
        Largest coefficient of a row, at least 1/n for the n rows that the sphere is fitted to. With
        1 or more, none of these is outside.
    n_segment : int >= 2, default 20
        Points of a segment, with its ends, that must be in the domain.
    outliers : bool, default False
        Whether rows outside the sphere get the label -1; clusters of only such rows are dropped.
    max_rows : int >= 1, default 5000
        More rows are refused.

    Attributes
    ----------
    gamma_, labels_, n_clusters_
        As in `SGDLMOC`.
    support_vectors_, dual_coef_ : ndarray of shape (s, n_inputs) and (s,)
        Rows of the domain's kernel expansion, and their coefficients, scaled so that
        ``sum_i dual_coef_i k(x_i, x) - 1 >= 0`` inside.
    squared_radius_, inside_ : float
        Squared radius of the sphere, and the share of the rows inside.

    References
    ----------
    .. [1] Ben-Hur, Horn, Siegelmann & Vapnik, "Support vector clustering", JMLR 2, 2001.
    """

    pace: ClassVar[Pace] = Pace(training=0.4, per_model=25)
    domain_time_share: ClassVar[float] = 0.3

    C: Weight = 1.0
    _: KW_ONLY
    n_segment: SegmentPoints = 20
    max_rows: Annotated[int, COUNT] = 5000

    def domain(self, X: Any) -> Domain:
        if len(X) > self.max_rows:
            raise DataError(
                f"{len(X):,} rows are more than max_rows = {self.max_rows:,}, as segments between "
                "all pairs take long; take fewer rows, or a larger max_rows"
            )
        rows = np.asarray(X[:], np.float64)
        domain, self.squared_radius_ = sphere.enclosing_sphere(rows, self.gamma_, float(self.C))
        return domain

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        rows = np.asarray(X[:], np.float64)
        return by_pairs(domain, rows, int(self.n_segment), self.outliers)

    def objective(self, X: Any) -> float:
        rows = np.asarray(X[:], np.float64)
        return sphere.objective(self._domain, self.squared_radius_, float(self.C), rows)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        n_inputs, n_rows = n.inputs, n.labeled
        n_support = max(1, n_rows // 3)
        row = expansion_flops(n_support, n_inputs)
        segment = 2 * n_support * (2 * n_inputs + FUNCTION_FLOPS)
        flops = n_rows * row + n_rows**2 / 2 * segment  # one point per segment
        memory = 2**20 * sphere.CACHE_MIB + 8 * n_rows * (4 * n_inputs + 20)
        # all rows may become support vectors
        memory += expansion_memory(n_rows, n_inputs) + 8 * n_rows**2
        return Cost(n_models * flops, memory, row)


class FSVC(ClusteringEstimator):
    """Fast support vector clustering with a cover of balls.

    The domain is the inside of the smallest sphere in feature space around the rows, or around a
    random share of them. Balls of equal radius cover the rows: the first uncovered row, in random
    order, is the centre of the next ball. Every centre follows the fixed-point map of mean shift to
    an equilibrium. Equilibria are joined if the whole segment between them is in the domain;
    connected components are the clusters. Rows take the cluster of their ball, new rows that of the
    nearest centre.

    The clustering papers search two numbers p and epsilon from 0.1 to 1 without defining them. Here
    they are ``share`` and ``radius``, which is this project's interpretation.

    Parameters
    ----------
    gamma, max_memory, random_state
        As in `SGDLMOC`.
    C, n_segment, outliers
        As in `BenHurSVC`.
    share : float > 0 and <= 1, default 1.0
        Share p of the rows that the sphere is fitted to.
    radius : float > 0, default 0.5
        Radius epsilon of the balls, in kernel widths ``1/sqrt(2 gamma)``.

    Attributes
    ----------
    gamma_, labels_, n_clusters_
        As in `SGDLMOC`.
    support_vectors_, dual_coef_, squared_radius_, inside_
        As in `BenHurSVC`.
    n_balls_, n_unconverged_ : int
        Balls that cover the rows, and centres whose trajectories did not converge.
    equilibria_, equilibrium_labels_ : ndarray of shape (e, n_inputs) and (e,)
        Equilibria of the centres' trajectories, and their clusters; -1 for dropped ones.

    References
    ----------
    .. [1] Jung, Lee & Lee, "Clustering based on Gaussian processes", Neural Computation 19, 2007;
       Jung, Lee & Kim, "Fast support-based clustering method for large-scale problems", Pattern
       Recognition 43, 2010.
    """

    pace: ClassVar[Pace] = Pace(training=12, per_model=20)
    domain_time_share: ClassVar[float] = 0.3

    C: Weight = 1.0
    _: KW_ONLY
    share: Annotated[float, Range(0, 1, open_low=True)] = 1.0
    radius: Annotated[float, POSITIVE] = 0.5
    n_segment: SegmentPoints = 20
    random_state: RandomState = 0

    def domain(self, X: Any) -> Domain:
        rows = self._seen(X)
        domain, self.squared_radius_ = sphere.enclosing_sphere(rows, self.gamma_, float(self.C))
        return domain

    def clusters(self, domain: Domain, X: Any) -> Clusters:
        rows = np.asarray(X[:], np.float64)
        numbers = int(self.n_segment), self.outliers, self._seed
        return by_balls(domain, rows, self.radius, *numbers)

    def objective(self, X: Any) -> float:
        return sphere.objective(self._domain, self.squared_radius_, float(self.C), self._seen(X))

    def _seen(self, X: Any) -> Array:
        """Return the rows that the sphere is fitted to."""
        n = len(X)
        if self.share == 1:
            return np.asarray(X[:], np.float64)
        order = random_order(self._seed, "rows of the sphere", n)
        return np.asarray(X[np.sort(order[: math.ceil(self.share * n)])], np.float64)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        n_inputs, n_rows = n.inputs, n.labeled
        n_seen = math.ceil(self.share * n_rows)
        row = expansion_flops(max(1, min(n_seen // 3, _MOST_SUPPORT)), n_inputs)
        n_balls = 1 + n_rows // _BALL_ROWS
        flops = (n_seen + n_rows + _TRAJECTORY_STEPS * n_balls) * row
        flops += 4.0 * n_rows * n_balls * n_inputs
        memory = 2**20 * sphere.CACHE_MIB + 8 * n_rows * (4 * n_inputs + 20)
        # all rows may become support vectors, or centres of balls
        memory += int(geometry_memory(n_rows, n_seen, n_inputs))
        return Cost(n_models * flops, memory, row)

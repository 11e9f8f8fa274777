"""Metrics of rankings, classes, pairs and clusterings; clusters are the values of ``labels``."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array, row_blocks
from dsgkit.risks.similar import weights
from dsgkit.seeds import derive_seed
from dsgkit.system.jit import prange, reducing_parallel

BLOCK_ENTRIES = 2**20  # distances between centroids that are held at a time


def auc(y: Any, values: Any) -> float:
    """Return the share of correctly ordered pairs of rows; ties count one half."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, values))


def error_rate(y: Any, values: Any) -> float:
    """Return the share of misclassified rows; values of at least 0 are predicted positive."""
    return float(np.mean((np.asarray(values) >= 0) != (np.asarray(y) > 0)))


def balanced_accuracy(y: Any, values: Any) -> float:
    """Return the mean over the classes of the share of correctly classified rows."""
    y = np.asarray(y)
    correct = (np.asarray(values) >= 0) == (y > 0)
    return float(np.mean([correct[y == label].mean() for label in np.unique(y)]))


def cut_aucs(codes: Any, values: Any, n_classes: int) -> list[float | None]:
    """Return the area under the ROC curve of every cut between ordered classes.

    ``codes`` are classes from 0, shape (n,); ``values`` those of one function, or of one for every
    cut, shape (n,) or (n, n_classes - 1). Values that differ only by rounding, some 1e-6 of their
    spread, are ties, which count one half. A cut without rows on one side has None.
    """
    from scipy.stats import rankdata

    codes, ranks = np.asarray(codes), []
    for column in np.atleast_2d(np.asarray(values).T):
        spread = np.std(column, dtype=np.float64)
        rounded = np.round((column - np.mean(column)) / spread, 6) if spread > 0 else column
        ranks.append(rankdata(rounded))
    aucs: list[float | None] = []
    for cut in range(n_classes - 1):  # by the sum of the positives' ranks (Mann & Whitney)
        positive, column = codes > cut, ranks[min(cut, len(ranks) - 1)]
        n = int(positive.sum())
        n_pairs = n * (len(codes) - n)
        wins = column[positive].sum() - n * (n + 1) / 2
        aucs.append(float(wins / n_pairs) if n_pairs else None)
    return aucs


def su_risk(
    values_similar: Any,
    values_unlabeled: Any,
    prior: float,
    loss: Literal["zero_one", "squared"] = "zero_one",
) -> float:
    """Return the classification risk estimated from similar pairs and unlabelled rows.

    ``pi_S/(2 pi - 1) mean_S [l(f, +1) - l(f, -1)]
    + 1/(2 pi - 1) mean_U [pi l(f, -1) - (1 - pi) l(f, +1)]``, where pi is the share of the positive
    class and ``pi_S = pi^2 + (1 - pi)^2`` (Bao, Niu & Sugiyama, ICML 2018). It is unbiased and not
    clipped, so it may be negative. The squared loss is ``(t z - 1)^2 / 4``; values at the pairs
    have the shape (n_similar, 2).
    """

    def losses(values: Any) -> tuple[Array, Array]:
        values = np.asarray(values, np.float64)
        if loss == "squared":
            return (values - 1) ** 2 / 4, (values + 1) ** 2 / 4
        wrong = (values < 0).astype(np.float64)
        return wrong, 1 - wrong

    (s_plus, s_minus), (u_plus, u_minus) = losses(values_similar), losses(values_unlabeled)
    w_pairs, w_plus, w_minus = weights(prior)
    pairs = w_pairs * (s_plus - s_minus).mean(axis=1)
    return float(pairs.mean() + (w_minus * u_minus - w_plus * u_plus).mean())


def class_indices(classes: Any, labels: Any) -> dict[str, float]:
    from sklearn.metrics import adjusted_rand_score, rand_score
    from sklearn.metrics.cluster import contingency_matrix

    counts = contingency_matrix(classes, labels, sparse=True)
    return {
        "purity": float(counts.max(axis=0).sum() / counts.sum()),
        "rand": float(rand_score(classes, labels)),
        "adjusted_rand": float(adjusted_rand_score(classes, labels)),
        "nmi": nmi(classes, labels),
        "nmi_geometric": nmi(classes, labels, "geometric"),
    }


def nmi(classes: Any, labels: Any, mean: str = "arithmetic") -> float:
    """Return the mutual information of classes and clusters by a mean of their entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(classes, labels, average_method=mean))


class Clusters:
    """Rows in the order of their clusters: ``rows[starts[k]:starts[k + 1]]`` is cluster k."""

    def __init__(self, X: Any, labels: Any) -> None:
        _, codes, self.sizes = np.unique(labels, return_inverse=True, return_counts=True)
        self.rows = np.asarray(X, np.float64)[np.argsort(codes, kind="stable")]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.n_pairs = self.sizes * (self.sizes - 1) // 2

    @functools.cached_property
    def within(self) -> tuple[Array, Array]:
        """Sum and maximum of the pairwise distances of each cluster, in O(n^2 d) operations."""
        return self.within_of(np.arange(len(self.sizes)))

    def within_of(self, chosen: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return `within` of some clusters."""
        starts = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        rows = self.rows[np.isin(np.repeat(np.arange(len(self.sizes)), self.sizes), chosen)]
        sums, maxima = _to_earlier_rows(rows, np.repeat(starts[:-1], self.sizes[chosen]))
        return np.add.reduceat(sums, starts[:-1]), np.maximum.reduceat(maxima, starts[:-1])


def davies_bouldin(
    clusters: Clusters, spread: Literal["centroid", "diameter"] = "centroid"
) -> float | None:
    """Return the Davies-Bouldin index (Davies & Bouldin, PAMI 1, 1979); smaller is better.

    ``1/m sum_i max_{j != i} (s_i + s_j)/d_ij``, where ``d_ij`` is the distance of two centroids; a
    pair with equal centroids contributes 0. ``s_i`` is the mean distance of a cluster's rows to its
    centroid; or their largest pairwise distance, as the published values suggest. None for one
    cluster. scikit-learn's function is too slow, too large and too strict for thousands of them.
    """
    from scipy.spatial.distance import cdist

    starts, sizes = clusters.starts[:-1], clusters.sizes
    if (m := len(sizes)) < 2:
        return None
    centroids = np.add.reduceat(clusters.rows, starts, axis=0) / sizes[:, None]
    if spread == "centroid":
        from_centroid = np.linalg.norm(clusters.rows - np.repeat(centroids, sizes, axis=0), axis=1)
        spreads = np.add.reduceat(from_centroid, starts, axis=0) / sizes
    else:
        spreads = clusters.within[1]
    largest = np.empty(m)
    for block in row_blocks(m, max(1, BLOCK_ENTRIES // m)):
        distances = cdist(centroids[block], centroids)
        distances[distances == 0] = np.inf  # of a cluster to itself, and of equal centroids
        largest[block] = np.max((spreads[block, None] + spreads) / distances, axis=1)
    return float(np.mean(largest))


def compactness(
    clusters: Clusters, *, weighted: bool = True, n_pairs: float = math.inf, seed: int = 0
) -> float:
    """Return the mean pairwise distance within clusters, weighted by their numbers of rows.

    ``1/N sum_k N_k D_k``, where ``D_k`` is 0 for a cluster of one row. Without the weights ``N_k``
    it matches some of the figures that the clustering paper published. Of more pairs than
    ``n_pairs``, it is an unbiased estimate: every cluster gets a share of as many random pairs by
    its number of rows, at least 2; a cluster with no more pairs is computed exactly.
    """
    sizes, of_cluster = clusters.sizes, clusters.n_pairs
    quota = np.maximum(np.ceil(n_pairs * sizes / len(clusters.rows)), 2)
    is_small = of_cluster <= quota
    small, large = np.flatnonzero(is_small), np.flatnonzero(~is_small)
    means = np.zeros(len(sizes))
    sums, _ = clusters.within_of(small) if len(large) else clusters.within
    means[small] = sums / np.maximum(of_cluster[small], 1)
    rng = np.random.default_rng(derive_seed(seed, "pairs within clusters"))
    for k in large:
        rows = clusters.rows[clusters.starts[k] : clusters.starts[k + 1]]
        first = rng.integers(len(rows), size=int(quota[k]))
        second = rng.integers(len(rows) - 1, size=int(quota[k]))
        second += second >= first  # pairs of different rows, drawn with replacement
        means[k] = np.linalg.norm(rows[first] - rows[second], axis=1).mean()
    weights = (sizes if weighted else np.ones(len(sizes))) / len(clusters.rows)
    return float(weights @ means)


@reducing_parallel
def _to_earlier_rows(rows: Array, first: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return sum and maximum of the distances of row i to the rows ``first[i]`` to i - 1."""
    n, d = rows.shape
    sums, maxima = np.zeros(n), np.zeros(n)
    for step in prange(n):
        # alternate between both ends, to balance threads: later rows of a cluster take longer
        i = step // 2 if step % 2 == 0 else n - 1 - step // 2
        total, largest = 0.0, 0.0
        for j in range(first[i], i):
            square = 0.0
            for column in range(d):
                square += (rows[i, column] - rows[j, column]) ** 2
            total += np.sqrt(square)
            largest = max(largest, square)
        sums[i], maxima[i] = total, np.sqrt(largest)
    return sums, maxima

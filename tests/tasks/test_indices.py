"""Indices of clusterings against their definitions, written out, and against scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score

from dsgkit.tasks import metrics as indices
from dsgkit.tasks.metrics import Clusters


@pytest.fixture(scope="module")
def clustered():
    rng = np.random.default_rng(5)
    labels = np.concatenate([np.repeat([7, 0, 3], [20, 13, 9]), [11, 12]])  # two rows of their own
    rng.shuffle(labels)
    X = rng.normal(size=(len(labels), 3)) + labels[:, None] % 4
    return X, labels, rng.integers(3, size=len(labels))


def distances(X, rows):
    return [np.linalg.norm(X[a] - X[b]) for a, b in combinations(rows, 2)]


def test_purity_and_rand_count_rows_and_pairs(clustered):
    _, labels, classes = clustered
    n = len(labels)
    pure = sum(np.bincount(classes[labels == k]).max() for k in np.unique(labels))
    assert indices.purity(classes, labels) == pytest.approx(pure / n)
    agree = [
        (labels[a] == labels[b]) == (classes[a] == classes[b]) for a, b in combinations(range(n), 2)
    ]
    assert indices.rand_index(classes, labels) == pytest.approx(np.mean(agree))
    assert indices.adjusted_rand_index(classes, classes + 4) == 1


def test_mutual_information_with_both_means(clustered):
    _, labels, classes = clustered

    def entropy(*names):
        shares = np.unique(np.stack(names), axis=1, return_counts=True)[1] / len(labels)
        return -np.sum(shares * np.log(shares))

    a, b = entropy(classes), entropy(labels)
    shared = a + b - entropy(classes, labels)
    nmi = indices.normalized_mutual_information
    assert nmi(classes, labels) == pytest.approx(2 * shared / (a + b))
    assert nmi(classes, labels, "geometric") == pytest.approx(shared / np.sqrt(a * b))


def test_compactness_with_and_without_the_numbers_of_rows(clustered):
    X, labels, _ = clustered
    groups = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    means = [np.mean(distances(X, rows)) if len(rows) > 1 else 0 for rows in groups]
    weighted = sum(len(rows) * mean for rows, mean in zip(groups, means, strict=True))
    assert indices.compactness(Clusters.of(X, labels)) == pytest.approx(weighted / len(X))
    assert indices.compactness(Clusters.of(X, labels), weighted=False) == pytest.approx(
        sum(means) / len(X)
    )
    assert indices.compactness(Clusters.of(X, np.arange(len(X)))) == 0


def test_davies_bouldin_is_the_standard_one(clustered, monkeypatch):
    X, labels, _ = clustered
    expected = davies_bouldin_score(X, labels)
    assert indices.davies_bouldin(Clusters.of(X, labels)) == pytest.approx(expected)
    monkeypatch.setattr(indices, "BLOCK_ENTRIES", 1)
    assert indices.davies_bouldin(Clusters.of(X, labels)) == pytest.approx(expected)


def test_davies_bouldin_with_diameters(clustered):
    X, labels, _ = clustered
    groups = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    widths = [max(distances(X, rows), default=0) for rows in groups]
    centroids = [X[rows].mean(axis=0) for rows in groups]
    worst = [
        max(
            (widths[i] + widths[j]) / np.linalg.norm(centroids[i] - centroids[j])
            for j in range(len(groups))
            if j != i
        )
        for i in range(len(groups))
    ]
    assert indices.davies_bouldin(Clusters.of(X, labels), "diameter") == pytest.approx(
        np.mean(worst)
    )


def test_one_cluster_and_clusters_of_one_row(clustered):
    X, _, classes = clustered
    one, each = np.zeros(len(X)), np.arange(len(X))
    assert indices.davies_bouldin(Clusters.of(X, one)) is None
    assert indices.davies_bouldin(Clusters.of(X, each)) == 0
    assert indices.purity(classes, each) == 1
    assert indices.purity(classes, one) == np.bincount(classes).max() / len(X)
    assert indices.davies_bouldin(Clusters.of(np.zeros((4, 2)), [0, 0, 1, 1])) == 0  # one centroid


def test_sampled_pairs_estimate_the_exact_value_within_their_error():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], [400, 300, 10, 1])
    X = rng.normal(size=(len(labels), 2)) * (1 + labels[:, None])
    for weighted in (True, False):
        exact = indices.compactness(Clusters.of(X, labels), weighted=weighted)
        off = []
        for seed in range(100):
            estimate, error = indices.sampled_compactness(
                Clusters.of(X, labels), n_pairs=2_000, seed=seed, weighted=weighted
            )
            off.append((estimate - exact) / error)
        assert abs(np.mean(off)) < 0.3 and 0.8 < np.std(off) < 1.2
    assert indices.sampled_compactness(Clusters.of(X, labels), n_pairs=10**6)[1] == 0

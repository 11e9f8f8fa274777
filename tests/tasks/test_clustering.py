"""The learning setting of clustering, against scikit-learn's indices and by small numbers."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import (
    adjusted_rand_score,
    davies_bouldin_score,
    normalized_mutual_info_score,
)
from sklearn.preprocessing import StandardScaler

from dsgkit.data.targets import Target
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.clustering.lmoc import BSGDLMOC
from dsgkit.tasks import metrics as indices
from dsgkit.tasks.clustering import Clustering, checked_labels
from dsgkit.tasks.metrics import Clusters
from tests.data.conftest import make_dataset

AT = {"rows": 120}


def with_classes(X, y):
    return replace(make_dataset(X, y), target=Target("classes"))


def dataset_of(d=2):
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, 2.0, 3.0], 40)
    X = rng.normal(size=(120, d)) / 2
    X[:, :2] += 4 * np.column_stack([y == 2, y == 3])
    return with_classes(X, y)


def trial_of(dataset, seed=0, **settings):
    return Clustering(dataset, Clustering.Spec(**{"kind": "clustering", **settings}), seed)


class Given(ClusterMixin, BaseEstimator):
    """Cuts the first feature into parts; some cuts end otherwise."""

    def __init__(self, parts=1):
        self.parts = parts

    def fit(self, X, y=None):
        if self.parts == 0:
            raise FitError("no solution")
        if self.parts < 0:
            raise MemoryLimitError(2**31, 2**30)
        ranks = X[:, 0].argsort().argsort()
        self.labels_ = ranks * self.parts // len(X)
        return self


def test_rows_are_scaled_and_in_an_order_of_the_trial():
    dataset = dataset_of(5)
    scaled = trial_of(dataset).training(AT)["X"]
    assert scaled.dtype == np.float32
    expected = StandardScaler().fit_transform(dataset.X)
    classes = trial_of(dataset).classes(AT)
    for k in (1, 2, 3):
        rows = expected[dataset.y == k]
        np.testing.assert_allclose(
            np.sort(scaled[classes == k], axis=0), np.sort(rows, axis=0), atol=1e-5
        )
    raw, other = (trial_of(dataset, seed, scale="raw").training(AT)["X"] for seed in (0, 1))
    assert (raw != other).any()
    np.testing.assert_array_equal(np.sort(raw, axis=0), np.sort(dataset.X, axis=0))
    few = trial_of(dataset, scale="raw").training({"rows": 7})["X"]
    np.testing.assert_array_equal(few, raw[:7])
    to_unit = trial_of(dataset, scale=[0, 1]).training(AT)["X"]
    assert (to_unit.min(), to_unit.max()) == (0, 1)


def test_points_are_chosen_by_an_oracle_or_without_labels():
    points = [{"parts": k} for k in (1, 2, 3, 0, 60)]
    trial = trial_of(dataset_of(), scale="raw")
    X, classes = trial.training(AT)["X"], trial.classes(AT)
    labels = [None if k == 0 else Given(k).fit(X).labels_ for k in (1, 2, 3, 0, 60)]
    expected = [
        None if one is None else normalized_mutual_info_score(classes, one) for one in labels
    ]
    assert trial.search(Given(), AT, points) == [
        [None if value is None else pytest.approx(value)] for value in expected
    ]
    blind = trial_of(dataset_of(), scale="raw", select="davies_bouldin")
    two, three = (pytest.approx(-davies_bouldin_score(X, labels[i])) for i in (1, 2))
    assert blind.search(Given(), AT, points) == [[None], [two], [three], [None], [None]]
    with pytest.raises(MemoryLimitError):
        trial.search(Given(), AT, [{"parts": -1}])


def test_rows_without_a_cluster_are_one_more_cluster_but_are_not_counted():
    trial = trial_of(dataset_of(), scale="raw")
    model, clock = DBSCAN(eps=0.2, min_samples=5), Clock()
    trial.fit(model, AT, clock)
    judged = trial.judge(model, AT, clock).scores
    apart = model.labels_ == -1
    assert judged["unassigned"] == apart.mean() > 0
    assert judged["clusters"] == model.labels_.max() + 1
    classes = trial.classes(AT)
    assert judged["adjusted_rand"] == pytest.approx(adjusted_rand_score(classes, model.labels_))
    X = trial.training(AT)["X"]
    assert judged["davies_bouldin"] == pytest.approx(davies_bouldin_score(X, model.labels_))
    assert judged["inside"] is None and judged["mass"] is None
    assert set(clock.wall) == {"fit", "evaluate"}
    model.labels_ = np.where(apart, -7, model.labels_)  # any negative label says so
    assert trial.judge(model, AT, clock).scores == judged


def test_a_solver_of_two_phases_is_timed_in_two_and_draws_its_domain():
    trial = trial_of(dataset_of(), scale="raw")
    model, clock = BSGDLMOC(gamma=1, C=32), Clock()
    trial.fit(model, AT, clock)
    judgement = trial.judge(model, AT, clock)
    assert set(clock.wall) == {"fit", "clustering", "evaluate"}
    scores, art = judgement.scores, judgement.artefact
    assert scores["inside"] == model.inside_ and scores["steps"] == model.n_iter_
    assert scores["choice"] is None
    assert scores["equilibria"] == len(model.equilibria_) >= 3
    assert scores["equilibria_share"] == pytest.approx(len(model.equilibria_) / 120)
    assert set(scores) == {measure.name for measure in Clustering.measures} - {"clustering_seconds"}
    assert scores["nmi"] > 0.9
    np.testing.assert_array_equal(art["rows"], trial.training(AT)["X"])
    assert len(art["equilibria"]) == len(art["equilibrium_labels"]) > 0
    i, j = 40, 70
    place = [[art["grid_x"][j], art["grid_y"][i]]]
    assert art["domain"][i, j] == pytest.approx(model.decision_function(place)[0], rel=1e-5)


def test_other_rows_are_shown_by_two_principal_components():
    trial = trial_of(dataset_of(5), scale="raw")
    model, clock = KMeans(3, random_state=0), Clock()
    trial.fit(model, AT, clock)
    art = trial.judge(model, AT, clock).artefact
    assert set(art) == {"rows", "labels", "classes"}
    classes = trial.classes(AT)
    numbers = np.unique(classes, return_inverse=True)[1]
    np.testing.assert_array_equal(art["classes"], numbers[: len(art["rows"])])
    scores = trial.judge(model, AT, clock).scores
    assert scores["steps"] is None  # those of k-means are others
    assert scores["equilibria"] is None and scores["equilibria_share"] is None
    X = trial.training(AT)["X"].astype(np.float64)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(art["rows"], axis=0), singular, rtol=1e-5)


@pytest.mark.parametrize("labels", [None, np.zeros(3), np.zeros((4, 1), int), np.zeros(4)])
def test_labels_are_a_whole_number_for_every_row(labels):
    model = Given()
    if labels is not None:
        model.labels_ = labels
    with pytest.raises(FitError, match="a whole number for each of 4 rows"):
        checked_labels(model, 4)


def test_classes_are_needed_to_judge_by():
    rows = np.zeros((4, 2))
    with pytest.raises(DataError, match="classes to judge by"):
        trial_of(make_dataset(rows, [1, -1, 1, -1]))
    with pytest.raises(DataError, match="one row alone"):
        trial_of(with_classes(rows[:1], [1]))
    without = with_classes(dataset_of().X, np.zeros(120))
    with pytest.raises(DataError, match="no classes to choose parameters by"):
        trial_of(without)
    trial = trial_of(without, select="davies_bouldin")
    scores = trial.judge(Given(3).fit(trial.training(AT)["X"]), AT, Clock()).scores
    assert scores["nmi"] is None and scores["davies_bouldin"] > 0


def test_a_point_that_does_not_suit_the_rows_leaves_the_others():
    with pytest.warns(DsgWarning, match="no solution at n_clusters 500: n_samples=120 should be"):
        scores = trial_of(dataset_of()).search(
            KMeans(), AT, [{"n_clusters": 3}, {"n_clusters": 500}]
        )
    assert scores[0][0] > 0.9
    assert scores[1] == [None]


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
    assert indices.class_indices(classes, labels)["purity"] == pytest.approx(pure / n)
    agree = [
        (labels[a] == labels[b]) == (classes[a] == classes[b]) for a, b in combinations(range(n), 2)
    ]
    assert indices.class_indices(classes, labels)["rand"] == pytest.approx(np.mean(agree))
    assert indices.class_indices(classes, classes + 4)["adjusted_rand"] == 1


def test_compactness_with_and_without_the_numbers_of_rows(clustered):
    X, labels, _ = clustered
    groups = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    means = [np.mean(distances(X, rows)) if len(rows) > 1 else 0 for rows in groups]
    weighted = sum(len(rows) * mean for rows, mean in zip(groups, means, strict=True))
    assert indices.compactness(Clusters(X, labels)) == pytest.approx(weighted / len(X))
    assert indices.compactness(Clusters(X, labels), weighted=False) == pytest.approx(
        sum(means) / len(X)
    )
    assert indices.compactness(Clusters(X, np.arange(len(X)))) == 0


def test_davies_bouldin_is_the_standard_one(clustered, monkeypatch):
    X, labels, _ = clustered
    expected = davies_bouldin_score(X, labels)
    assert indices.davies_bouldin(Clusters(X, labels)) == pytest.approx(expected)
    monkeypatch.setattr(indices, "BLOCK_ENTRIES", 1)
    assert indices.davies_bouldin(Clusters(X, labels)) == pytest.approx(expected)


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
    assert indices.davies_bouldin(Clusters(X, labels), "diameter") == pytest.approx(np.mean(worst))


def test_one_cluster_and_clusters_of_one_row(clustered):
    X, _, classes = clustered
    one, each = np.zeros(len(X)), np.arange(len(X))
    assert indices.davies_bouldin(Clusters(X, one)) is None
    assert indices.davies_bouldin(Clusters(X, each)) == 0
    assert indices.class_indices(classes, each)["purity"] == 1
    assert indices.class_indices(classes, one)["purity"] == np.bincount(classes).max() / len(X)
    assert indices.davies_bouldin(Clusters(np.zeros((4, 2)), [0, 0, 1, 1])) == 0  # one centroid


def test_sampled_pairs_estimate_the_exact_value_within_their_error():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], [400, 300, 10, 1])
    X = rng.normal(size=(len(labels), 2)) * (1 + labels[:, None])
    for weighted in (True, False):
        exact = indices.compactness(Clusters(X, labels), weighted=weighted)
        off = []
        for seed in range(100):
            estimate, error = indices.sampled_compactness(
                Clusters(X, labels), n_pairs=2_000, seed=seed, weighted=weighted
            )
            off.append((estimate - exact) / error)
        assert abs(np.mean(off)) < 0.3 and 0.8 < np.std(off) < 1.2
    assert indices.sampled_compactness(Clusters(X, labels), n_pairs=10**6)[1] == 0

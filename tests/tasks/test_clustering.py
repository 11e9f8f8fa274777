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
from dsgkit.tasks import clustering, metrics
from dsgkit.tasks.clustering import Clustering, checked_labels
from dsgkit.tasks.metrics import Clusters, compactness, davies_bouldin, sampled_compactness
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


def trial_of(dataset=None, seed=0, **settings):
    spec = Clustering.Spec(**{"kind": "clustering", "scale": "raw", **settings})
    return Clustering(dataset or dataset_of(), spec, seed)


def judged(trial, model):
    clock = Clock()
    trial.fit(model, AT, clock)
    judgement = trial.judge(model, AT, clock)
    return judgement.scores, judgement.artefact, set(clock.wall)


class Given(ClusterMixin, BaseEstimator):
    """Cuts the first feature into parts; some cuts end otherwise."""

    def __init__(self, parts=1):
        self.parts = parts

    def fit(self, X, y=None):
        if self.parts == 0:
            raise FitError("no solution")
        if self.parts < 0:
            raise MemoryLimitError(2**31, 2**30)
        self.labels_ = X[:, 0].argsort().argsort() * self.parts // len(X)
        return self


def test_rows_are_scaled_and_in_an_order_of_the_trial():
    dataset = dataset_of(5)
    trial = trial_of(dataset, scale="standard")
    expected = StandardScaler().fit_transform(dataset.X)
    for k in (1, 2, 3):
        rows = trial.training(AT)["X"][trial.classes(AT) == k]
        alike = np.sort(expected[dataset.y == k], axis=0)
        np.testing.assert_allclose(np.sort(rows, axis=0), alike, atol=1e-5)
    raw, other = (trial_of(dataset, seed).training(AT)["X"] for seed in (0, 1))
    assert (raw != other).any() and raw.dtype == np.float32
    np.testing.assert_array_equal(np.sort(raw, axis=0), np.sort(dataset.X, axis=0))
    np.testing.assert_array_equal(trial_of(dataset).training({"rows": 7})["X"], raw[:7])
    to_unit = trial_of(dataset, scale=[0, 1]).training(AT)["X"]
    assert (to_unit.min(), to_unit.max()) == (0, 1)


def test_points_are_chosen_by_an_oracle_or_without_labels():
    parts = (1, 2, 3, 0, 60)
    points, trial = [{"parts": k} for k in parts], trial_of()
    X, classes = trial.training(AT)["X"], trial.classes(AT)
    labels = {k: Given(k).fit(X).labels_ for k in parts if k}
    nmi = {k: normalized_mutual_info_score(classes, one) for k, one in labels.items()}
    expected = [[pytest.approx(nmi[k]) if k else None] for k in parts]
    assert trial.search(Given(), AT, points) == expected
    blind = trial_of(select="davies_bouldin")
    two, three = (pytest.approx(-davies_bouldin_score(X, labels[k])) for k in (2, 3))
    assert blind.search(Given(), AT, points) == [[None], [two], [three], [None], [None]]
    with pytest.raises(MemoryLimitError):
        trial.search(Given(), AT, [{"parts": -1}])
    with pytest.warns(DsgWarning, match="no solution at n_clusters 500: n_samples=120 should be"):
        scores = trial.search(KMeans(), AT, [{"n_clusters": 3}, {"n_clusters": 500}])
    assert scores[0][0] > 0.9 and scores[1] == [None]


def test_rows_without_a_cluster_are_one_more_cluster_but_are_not_counted():
    trial, model = trial_of(), DBSCAN(eps=0.2, min_samples=5)
    scores, _, phases = judged(trial, model)
    labels, X = model.labels_, trial.training(AT)["X"]
    assert scores["unassigned"] == np.mean(labels == -1) > 0
    assert scores["clusters"] == labels.max() + 1
    rand = adjusted_rand_score(trial.classes(AT), labels)
    assert scores["adjusted_rand"] == pytest.approx(rand)
    assert scores["davies_bouldin"] == pytest.approx(davies_bouldin_score(X, labels))
    assert scores["inside"] is None and phases == {"fit", "evaluate"}
    model.labels_ = np.where(labels == -1, -7, labels)  # any negative label says so
    assert trial.judge(model, AT, Clock()).scores == scores


def test_a_solver_of_two_phases_is_timed_in_two_and_draws_its_domain():
    trial, model = trial_of(), BSGDLMOC(gamma=1, C=32)
    scores, art, phases = judged(trial, model)
    assert phases == {"fit", "clustering", "evaluate"}
    assert scores["inside"] == model.inside_ and scores["steps"] == model.n_iter_
    assert scores["choice"] is None and scores["nmi"] > 0.9
    assert scores["equilibria"] == len(model.equilibria_) >= 3
    assert scores["equilibria_share"] == pytest.approx(len(model.equilibria_) / 120)
    assert set(scores) == {measure.name for measure in Clustering.measures} - {"clustering_seconds"}
    np.testing.assert_array_equal(art["rows"], trial.training(AT)["X"])
    assert len(art["equilibria"]) == len(art["equilibrium_labels"]) > 0
    value = model.decision_function([[art["grid_x"][70], art["grid_y"][40]]])[0]
    assert art["domain"][40, 70] == pytest.approx(value, rel=1e-5)


def test_other_rows_are_shown_by_two_principal_components():
    trial = trial_of(dataset_of(5))
    scores, art, _ = judged(trial, KMeans(3, random_state=0))
    assert set(art) == {"rows", "labels", "classes"}
    numbers = np.unique(trial.classes(AT), return_inverse=True)[1]
    np.testing.assert_array_equal(art["classes"], numbers)
    assert scores["steps"] is None and scores["equilibria"] is None  # k-means' steps are others
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


WITHOUT_CLASSES = with_classes(dataset_of().X, np.zeros(120))
UNSUITED = [
    (make_dataset(np.zeros((4, 2)), [1, -1, 1, -1]), "classes to judge by"),
    (with_classes(np.zeros((1, 2)), [1]), "one row alone"),
    (WITHOUT_CLASSES, "no classes to choose parameters by"),
]


@pytest.mark.parametrize(("dataset", "text"), UNSUITED)
def test_datasets_that_do_not_suit_are_refused(dataset, text):
    with pytest.raises(DataError, match=text):
        trial_of(dataset)


def test_without_classes_clusters_have_a_shape_alone():
    scores, art, _ = judged(trial_of(WITHOUT_CLASSES, select="davies_bouldin"), Given(3))
    assert scores["nmi"] is None and scores["davies_bouldin"] > 0 and "classes" not in art


def test_of_many_rows_compactness_is_sampled_and_diameters_are_left_out(monkeypatch):
    exact, _, _ = judged(trial_of(), Given(3))
    monkeypatch.setattr(clustering, "MAX_EXACT_ROWS", 119)
    scores, _, _ = judged(trial_of(), Given(3))
    assert scores["davies_bouldin_diameter"] is None
    for name in ("compactness", "compactness_unweighted"):
        assert scores[name] == pytest.approx(exact[name], rel=0.1)


@pytest.fixture(scope="module")
def clustered():
    rng = np.random.default_rng(5)
    labels = np.concatenate([np.repeat([7, 0, 3], [20, 13, 9]), [11, 12]])  # two rows of their own
    rng.shuffle(labels)
    X = rng.normal(size=(len(labels), 3)) + labels[:, None] % 4
    groups = [X[labels == k] for k in np.unique(labels)]
    apart = [[np.linalg.norm(a - b) for a, b in combinations(rows, 2)] for rows in groups]
    return X, labels, rng.integers(3, size=len(labels)), groups, apart


def test_purity_is_the_share_of_the_largest_classes(clustered):
    _, labels, classes, _, _ = clustered
    pure = sum(np.bincount(classes[labels == k]).max() for k in np.unique(labels))
    assert metrics.class_indices(classes, labels)["purity"] == pytest.approx(pure / len(labels))
    assert metrics.class_indices(classes, classes + 4)["adjusted_rand"] == 1


def test_compactness_and_davies_bouldin_by_hand(clustered, monkeypatch):
    X, labels, _, groups, apart = clustered
    clusters = Clusters(X, labels)
    means = np.array([np.mean(one) if one else 0 for one in apart])
    weighted = sum(len(rows) * mean for rows, mean in zip(groups, means, strict=True))
    assert compactness(clusters) == pytest.approx(weighted / len(X))
    assert compactness(clusters, weighted=False) == pytest.approx(means.sum() / len(X))
    assert davies_bouldin(clusters) == pytest.approx(davies_bouldin_score(X, labels))
    monkeypatch.setattr(metrics, "BLOCK_ENTRIES", 1)
    assert davies_bouldin(clusters) == pytest.approx(davies_bouldin_score(X, labels))
    widths = np.array([max(one, default=0) for one in apart])
    centroids = np.array([rows.mean(axis=0) for rows in groups])
    gaps = np.linalg.norm(centroids[:, None] - centroids, axis=2) + np.diag([np.inf] * len(groups))
    worst = ((widths[:, None] + widths) / gaps).max(axis=1)
    assert davies_bouldin(clusters, "diameter") == pytest.approx(worst.mean())


def test_one_cluster_and_clusters_of_one_row(clustered):
    X = clustered[0]
    one, each = Clusters(X, np.zeros(len(X))), Clusters(X, np.arange(len(X)))
    assert (davies_bouldin(one), davies_bouldin(each), compactness(each)) == (None, 0, 0)
    assert davies_bouldin(Clusters(np.zeros((4, 2)), [0, 0, 1, 1])) == 0  # one centroid


@pytest.mark.parametrize("weighted", [True, False])
def test_sampled_pairs_estimate_the_exact_value_without_bias(weighted):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], [400, 300, 10, 1])
    clusters = Clusters(rng.normal(size=(len(labels), 2)) * (1 + labels[:, None]), labels)

    def sampled(n_pairs, seed=0):
        return sampled_compactness(clusters, n_pairs=n_pairs, seed=seed, weighted=weighted)

    exact, found = compactness(clusters, weighted=weighted), [sampled(2000, n) for n in range(100)]
    assert abs(np.mean(found) - exact) < 0.3 * np.std(found) < 0.02 * exact
    assert sampled(10**6) == pytest.approx(exact)

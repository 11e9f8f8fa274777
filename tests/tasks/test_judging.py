"""How fits are judged, against other libraries, sums by hand and closed forms."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, davies_bouldin_score

from dsgkit import QS3ORAO, QSGS2AUC, SAMULT, ExactS2OR
from dsgkit.costs import Cost
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError
from dsgkit.experiment.timing import Clock
from dsgkit.tasks import metrics, similar
from dsgkit.tasks.base import checkpoints, function_of
from dsgkit.tasks.clustering import checked_labels, picture
from dsgkit.tasks.metrics import Clusters, compactness, davies_bouldin, su_risk
from dsgkit.tasks.svm import is_positive, share_cut
from tests.estimators.similar.problems import risk, squared, zero_one
from tests.tasks.test_record import OfPairs, Parts, Ranker, Watched, trial_of

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


@pytest.mark.parametrize("n_positive", [1, 5, 20, 39])
def test_a_threshold_of_0_is_kept_while_the_labels_do_not_contradict_it(n_positive):
    y = np.where(np.arange(40) < n_positive, 1, -1)
    interval = stats.binomtest(n_positive, 40).proportion_ci(0.95, method="wilson")
    for share in np.arange(1, 100) / 100:
        values = np.linspace(0, 1, 100, endpoint=False) + share - 1 + 0.005
        cut = share_cut(values, y)
        assert (cut is None) == (interval.low <= share <= interval.high)
        taken = share if cut is None else np.mean(values > cut)
        assert taken == pytest.approx(share if cut is None else n_positive / 40, abs=0.01)


@pytest.mark.parametrize(("n_positive", "taken"), [(1, 0), (11, 0.45), (28, 0.45), (39, 1)])
def test_equal_values_are_all_above_a_threshold_or_all_below(n_positive, taken):
    values = np.where(np.arange(100) < 45, 0.5, -0.5)
    cut = share_cut(values, np.where(np.arange(40) < n_positive, 1, -1))
    assert cut is not None and np.mean(is_positive(values.astype(np.float32), cut)) == taken


def test_only_of_ordered_classes_are_values_those_of_samples():
    class Own(ClassifierMixin, BaseEstimator):
        def decision_function(self, X):
            return "values"

        def score_samples(self, X):
            return "densities"

    assert function_of(Own())(0) == "values"
    assert function_of(QS3ORAO()).__name__ == "score_samples"


def test_a_classifier_is_judged_by_its_error_and_its_class_balance():
    score = trial_of("semi_supervised_svm", labeled=24).score
    values = np.array([0.5, -0.1, 0.0, -1.0, -2.0])  # 0 counts as positive
    assert score(np.array([1, 1, -1, -1, -1]), values) == {
        "error": 0.4,
        "balanced_error": pytest.approx((1 / 2 + 1 / 3) / 2),
        "auc": pytest.approx(5 / 6),
        "average_precision": pytest.approx((1 + 2 / 3) / 2),
        **{"positive": 0.4, "positive_true": 0.4, "collapsed": 0},
    }
    assert score(np.ones(5), values)["balanced_error"] is None
    shares = (0, 50, 1), (4, 50, 1), (5, 50, 0), (96, 50, 1), (95, 50, 0), (0, 5, 1), (1, 5, 0)
    for n_taken, n_positive, vanished in shares:
        y, values = (np.where(np.arange(100) < n, 1, -1) for n in (n_positive, n_taken))
        assert score(y, values)["collapsed"] == vanished


SETTING, SIZES = {"lam": 0.25, "sigma": 1.0, "gamma": 0.5}, {"batch_size": 16, "n_features": 16}
AT = {"unlabeled": 100}


def judged(kind, model, **settings):
    trial, clock = trial_of(kind, n=140, labeled=40, folds=3, **settings), Clock()
    trial.fit(model, AT, clock)
    return trial.training(AT), trial.judge(model, AT, clock)


@pytest.mark.parametrize(
    ("kind", "solver", "exact"),
    [("semi_supervised_auc", QSGS2AUC, SAMULT), ("ordinal", QS3ORAO, ExactS2OR)],
)
def test_it_is_that_of_a_training_of_so_many_iterations(kind, solver, exact):
    """Of other fits, each of them as long, to the closed form; and a watched fit is the same."""
    settings = {"classes": 5} if kind == "ordinal" else {}
    model = solver(**SETTING, **SIZES, n_iterations=64)
    given, found = judged(kind, model, convergence=True, **settings)
    assert [step["iteration"] for step in found.trace] == checkpoints(64)
    rows = np.vstack([given["X"][:], given["X_unlabeled"][:]])

    def values(model):
        return function_of(getattr(model, "fit_function", model.fit)(**given))(rows)

    minimiser = values(exact(**SETTING))
    for step in found.trace[-2:]:
        f = values(solver(**SETTING, **SIZES, n_iterations=step["iteration"]))
        expected = ((f - minimiser) ** 2).mean() / (minimiser**2).mean()
        assert step["squared_distance"] == pytest.approx(expected, rel=1e-3)
    assert found.scores["squared_distance"] == found.trace[-1]["squared_distance"]
    params = {**SETTING, **SIZES, "sigma": "scale"}
    plain, watched = solver(**params), solver(**params)
    _, without = judged(kind, plain, **settings)
    judged(kind, watched, convergence=True, **settings)
    np.testing.assert_array_equal(plain.function_.coef, watched.function_.coef)
    assert plain.n_iter_ == watched.n_iter_ and plain.sigma_ == watched.sigma_
    assert not without.trace and "squared_distance" not in without.scores


def test_where_there_is_no_distance(monkeypatch):
    model, kind = QSGS2AUC(**SETTING, **SIZES), "semi_supervised_auc"
    monkeypatch.setattr("dsgkit.tasks.semi_supervised.MAX_CONVERGENCE_ROWS", 100)
    assert not judged(kind, SAMULT(**SETTING), convergence=True)[1].trace  # an exact method
    assert judged(kind, model, convergence=True)[1].trace
    monkeypatch.setattr(SAMULT, "cost", lambda self, n, n_models=1: Cost(memory=2**62))
    with pytest.warns(DsgWarning, match="no exact minimiser to compare with: .*memory"):
        _, found = judged(kind, model, convergence=True)
    assert not found.trace and found.scores["auc"] is not None
    monkeypatch.setattr("dsgkit.tasks.semi_supervised.MAX_CONVERGENCE_ROWS", 99)
    _, found = judged(kind, model, convergence=True)  # the minimiser takes too long
    assert not found.trace and "squared_distance" not in found.scores


@pytest.mark.parametrize("threshold", ["zero", "labeled_share"])
def test_a_bound_on_judged_rows_leaves_the_first_ones_and_test_rows_from_all_their_file(threshold):
    """Of 20 test rows every third one; 30 rows in training place the threshold, as without."""
    settings = {"labeled": 24, "folds": 3, "tested": True, "missing": 6, "threshold": threshold}
    model, at = SAMULT(**SETTING), {"unlabeled": 40}
    every = trial_of("semi_supervised_svm", **settings).split
    for bound, n, step in ((None, 60, 1), (31, 31, 1), (8, 8, 3)):
        trial = trial_of("semi_supervised_svm", judged=bound, **settings)
        trial.fit(model, at, Clock())
        split = trial.split
        chosen = np.flatnonzero(split.known)[:n]
        values = model.decision_function(split.X_unlabeled.take(chosen)[:])
        cut = None
        if threshold == "labeled_share":
            cut = share_cut(values[: np.count_nonzero(chosen < 40)], split.y)
        expected = trial.score(split.y_unlabeled[chosen], values, cut)
        values = model.decision_function(every.X_test[:][::step])
        tested = trial.score(every.y_test[::step], values, cut)
        scores = expected | {f"test_{name}": value for name, value in tested.items()}
        assert trial.judge(model, at, Clock()).scores == scores
        assert trial.n_scored == n + len(every.y_test[::step])


def test_classes_are_one_for_every_row():
    trial = trial_of("ordinal", classes=5, labeled=30, folds=3)
    model = Ranker().fit(trial.split.X[:], trial.split.y)
    model.classify = lambda values: np.ones(3)
    with pytest.raises(FitError, match=r"predict returned shape \(3,\) for 60 rows"):
        trial.judge(model, trial.sizes, Clock())


@pytest.mark.parametrize("loss", [squared, zero_one])
@pytest.mark.parametrize("prior", [0.7, 0.2])
def test_the_risk_is_the_sum_over_pairs_and_rows(loss, prior):
    rng = np.random.default_rng(0)
    pairs, rows = rng.normal(size=(7, 2)), rng.normal(size=11)
    pairs[0, 0] = rows[0] = 0
    expected = risk(pairs, rows, prior, loss)
    assert su_risk(pairs, rows, prior, loss.__name__) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("own", "prior"), [(0.8, 0.8), (0.3, 0.2)])
def test_an_estimate_is_of_the_positive_class_and_made_once(own, prior, monkeypatch):
    """Estimates are of the larger class, which may be the negative one."""
    calls = []
    estimate = lambda *_: calls.append(1) or (0.8, (0.7, 0.9))  # noqa: E731
    monkeypatch.setattr(similar, "checked_similar_prior", estimate)
    trial = trial_of("similar_unlabeled", n=300, pairs=12, folds=3, prior=own)
    clock, model, cut = Clock(), OfPairs(0.4, prior="estimate"), {"threshold": 0.4}
    trial.fit(model, trial.sizes, clock)
    assert trial.judge(model, trial.sizes, clock).scores["prior"] == pytest.approx(prior)
    known = trial.search(OfPairs(prior=prior), trial.sizes, [cut])[0]
    asking = (OfPairs(prior="estimate"), cut), (OfPairs(), cut | {"prior": "estimate"})
    for solver, point in asking:
        assert trial.search(solver, trial.sizes, [point])[0] == pytest.approx(known)
    assert len(calls) == 1 and "prior" in clock.wall
    trial.fit(Watched(0.6), trial.sizes, clock)  # of another model nothing is known
    assert trial.judge(model, trial.sizes, clock).trace == []


@pytest.mark.parametrize("labels", [None, np.zeros(3), np.zeros((4, 1), int), np.zeros(4)])
def test_labels_are_a_whole_number_for_every_row(labels):
    model = Parts()
    if labels is not None:
        model.labels_ = labels
    with pytest.raises(FitError, match="a whole number for each of 4 rows"):
        checked_labels(model, 4)
    model.labels_ = np.array([2, -1, -7, 0])
    assert checked_labels(model, 4).tolist() == [2, -1, -1, 0]
    assert picture(model, np.zeros((4, 1)), model.labels_) == {}
    for n in (1, 2):  # fewer rows than a plane needs
        shown = picture(object(), np.eye(n, 4), np.zeros(n, int))["rows"]
        assert shown.shape == (n, 2) and np.isfinite(shown).all()


class Ends(Parts):
    def fit(self, X, y=None):
        if self.parts < 3:
            raise [MemoryLimitError(2**31, 2**30), DataError("no"), FitError("no")][self.parts]
        return super().fit(X)


def test_a_point_without_a_solution_has_no_score_and_a_limit_ends_the_search():
    trial = trial_of("clustering", classes=5)
    (nmi,) = trial.search(Parts(), trial.sizes, [{"parts": 3}])
    assert trial.search(Ends(), trial.sizes, [{"parts": 2}, {"parts": 3}]) == [[None], nmi]
    for parts, error in enumerate((MemoryLimitError, DataError)):
        with pytest.raises(error):
            trial.search(Ends(), trial.sizes, [{"parts": parts}])
    with pytest.warns(DsgWarning, match="no solution at n_clusters 500: n_samples=90 should be"):
        scores = trial.search(KMeans(), trial.sizes, [{"n_clusters": 3}, {"n_clusters": 500}])
    assert scores[0][0] > 0.1 and scores[1] == [None]


def test_indices_of_clusters_by_hand(monkeypatch):
    rng = np.random.default_rng(5)
    labels = np.concatenate([np.repeat([7, 0, 3], [20, 13, 9]), [11, 12]])  # two rows of their own
    rng.shuffle(labels)
    X, classes = rng.normal(size=(44, 3)) + labels[:, None] % 4, rng.integers(3, size=44)
    groups = [X[labels == k] for k in np.unique(labels)]
    apart = [[np.linalg.norm(a - b) for a, b in combinations(rows, 2)] for rows in groups]
    pure = sum(np.bincount(classes[labels == k]).max() for k in np.unique(labels))
    indices = metrics.class_indices(classes, labels)
    assert indices["purity"] == pytest.approx(pure / 44)
    assert indices["adjusted_rand"] == pytest.approx(adjusted_rand_score(classes, labels))
    clusters = Clusters(X, labels)
    means = np.array([np.mean(one) if one else 0 for one in apart])
    weighted = sum(len(rows) * mean for rows, mean in zip(groups, means, strict=True))
    assert compactness(clusters) == pytest.approx(weighted / 44)
    assert compactness(clusters, weighted=False) == pytest.approx(means.sum() / 44)
    for entries in (metrics.BLOCK_ENTRIES, 11, 1):
        monkeypatch.setattr(metrics, "BLOCK_ENTRIES", entries)
        assert davies_bouldin(clusters) == pytest.approx(davies_bouldin_score(X, labels))
    widths = np.array([max(one, default=0) for one in apart])
    centroids = np.array([rows.mean(axis=0) for rows in groups])
    gaps = np.linalg.norm(centroids[:, None] - centroids, axis=2) + np.diag([np.inf] * len(groups))
    worst = ((widths[:, None] + widths) / gaps).max(axis=1)
    assert davies_bouldin(clusters, "diameter") == pytest.approx(worst.mean())
    one, each = Clusters(X, np.zeros(44)), Clusters(X, np.arange(44))
    assert (davies_bouldin(one), davies_bouldin(each), compactness(each)) == (None, 0, 0)
    assert davies_bouldin(Clusters(np.zeros((4, 2)), [0, 0, 1, 1])) == 0  # one centroid


@pytest.mark.parametrize("weighted", [True, False])
def test_sampled_pairs_estimate_the_exact_value_without_bias(weighted):
    labels = np.repeat([0, 1, 2, 3], [400, 300, 10, 1])
    X = np.random.default_rng(0).normal(size=(len(labels), 2)) * (1 + labels[:, None])
    clusters = Clusters(X, labels)

    def found(n_pairs, seed=0):
        return compactness(clusters, n_pairs=n_pairs, seed=seed, weighted=weighted)

    exact, some = compactness(clusters, weighted=weighted), [found(2000, n) for n in range(100)]
    assert abs(np.mean(some) - exact) < 0.3 * np.std(some) < 0.02 * exact
    assert found(10**6) == pytest.approx(exact)

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import balanced_accuracy_score

from dsgkit.errors import DataError
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.similar.base import SimilarUnlabeledEstimator
from dsgkit.tasks import similar
from dsgkit.tasks.base import N_CHECKPOINTS, checkpoints
from dsgkit.tasks.metrics import su_risk
from dsgkit.tasks.similar import SimilarUnlabeled
from tests.data.conftest import make_dataset

FOLDS = 3

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


def dataset_of(n_positive=300, n_negative=200):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([1, -1], [n_positive, n_negative]))
    return make_dataset(np.column_stack([y + rng.normal(size=len(y)), rng.random(len(y))]), y)


def trial_of(dataset, seed=0, **settings):
    spec = {"kind": "similar_unlabeled", "pairs": 40, "folds": FOLDS, **settings}
    return SimilarUnlabeled(dataset, SimilarUnlabeled.Spec(**spec), seed)


class First(SimilarUnlabeledEstimator):
    """The first feature less a threshold; watched, the threshold grows towards it."""

    _solution = "threshold_"

    def __init__(self, threshold=0.5, prior=0.6, n_iterations=50):
        self.threshold = threshold
        self.prior = prior
        self.n_iterations = n_iterations

    def _check_params(self):
        pass

    def _fit(self, S, X_unlabeled):
        self.threshold_ = self.threshold

    def _values(self, X):
        first = X[:][:, 0].astype(np.float64)
        return np.full(len(first), np.nan) if self.threshold < 0 else first - self.threshold


class Watched(First):
    def fit_observed(self, X_similar, X_unlabeled, *, at, observe):
        for t in at:
            share = self.threshold * t / self.n_iterations
            observe(t, t / 10, First(share).fit(X_similar, X_unlabeled))
        return self.fit(X_similar, X_unlabeled)


class WithLabels:
    """A classifier of scikit-learn's manner: it is told the labels."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.seen = X, y
        return self

    def fit_points(self, points, *, folds=None, X, y):
        return np.array([point["sign"] * y for point in points], float)

    def decision_function(self, X):
        return X[:][:, 0] - 0.5


def test_points_are_searched_by_the_risk_of_held_out_pairs_and_rows():
    trial = trial_of(dataset_of())
    points = [{"threshold": 0.3}, {"threshold": 0.6}, {"threshold": -1.0}]
    scores = trial.search(First(), trial.sizes, points)
    training = trial.training(trial.sizes)
    pairs, rows = training["X_similar"], training["X_unlabeled"][:]
    for point, row in zip(points[:2], scores, strict=False):
        held_out = [
            su_risk(
                pairs[fold::FOLDS, :, 0] - point["threshold"],
                rows[fold::FOLDS, 0] - point["threshold"],
                0.6,
            )
            for fold in range(FOLDS)
        ]
        assert row == pytest.approx(held_out)
    assert scores[2] == [None] * FOLDS


def test_a_risk_is_that_of_the_prior_that_the_model_knows():
    trial = trial_of(dataset_of())
    known, other = ({"threshold": 0.4, "prior": prior} for prior in (0.6, 0.8))
    a, b = trial.search(First(), trial.sizes, [known, other])
    assert a != pytest.approx(b)
    assert trial.search(First(prior=0.8), trial.sizes, [{"threshold": 0.4}]) == [b]
    squared = trial_of(dataset_of(), select="squared")
    assert squared.search(First(), trial.sizes, [known])[0] != pytest.approx(a)


@pytest.mark.parametrize(("n_positive", "prior"), [(300, 0.8), (150, 0.2)])
def test_an_estimate_is_of_the_positive_class_and_made_once(n_positive, prior, monkeypatch):
    """Estimates are of the larger class, which may be the negative one."""
    calls = []
    estimate = lambda *_: calls.append(1) or (0.8, (0.7, 0.9))  # noqa: E731
    monkeypatch.setattr(similar, "checked_similar_prior", estimate)
    trial, clock = trial_of(dataset_of(n_positive, 200)), Clock()
    model = First(0.4, prior="estimate")
    trial.fit(model, trial.sizes, clock)
    assert trial.judge(model, trial.sizes, clock).scores["prior"] == pytest.approx(prior)
    searched = trial.search(First(prior="estimate"), trial.sizes, [{"threshold": 0.4}])
    in_points = trial.search(First(), trial.sizes, [{"threshold": 0.4, "prior": "estimate"}])
    known = trial.search(First(prior=prior), trial.sizes, [{"threshold": 0.4}])
    assert searched[0] == pytest.approx(known[0]) and in_points[0] == pytest.approx(known[0])
    assert len(calls) == 1 and "prior" in clock.wall


def test_a_model_is_judged_on_the_test_rows():
    trial, clock = trial_of(dataset_of()), Clock()
    model = First(0.45)
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    X, y = trial.split.X_test[:], trial.split.y_test
    positive = X[:, 0] >= 0.45
    assert judged.trace == []
    assert judged.scores == {
        "accuracy": pytest.approx(np.mean(positive == (y > 0))),
        "balanced_accuracy": pytest.approx(balanced_accuracy_score(y > 0, positive)),
        "positive": pytest.approx(np.mean(positive)),
        "collapsed": 0.0,
        "corrected": None,
        "prior": 0.6,
        "pairs": 40.0,
        "tested": len(y),
        "risk": None,
    }
    assert {"fit", "predict", "evaluate"} <= set(clock.wall)
    constant = First(0.0).fit(**trial.training(trial.sizes))
    assert trial.judge(constant, trial.sizes, clock).scores["collapsed"] == 1.0


def test_what_iterates_is_looked_at_along_training():
    trial, clock = trial_of(dataset_of()), Clock()
    model = Watched(0.6)
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    assert [step["iteration"] for step in judged.trace] == checkpoints(50)
    X, y = trial.split.X_test[:], trial.split.y_test
    for step in judged.trace:
        threshold = 0.6 * step["iteration"] / 50
        assert step["seconds"] == step["iteration"] / 10
        assert step["accuracy"] == pytest.approx(np.mean((X[:, 0] >= threshold) == (y > 0)))
    assert judged.trace[-1]["accuracy"] == judged.scores["accuracy"]
    other = First(0.3).fit(**trial.training(trial.sizes))
    assert trial.judge(other, trial.sizes, clock).trace == []  # of another model nothing is known


@pytest.mark.parametrize("n", [1, 2, 13, 100, 12_345])
def test_checkpoints_ascend_to_the_last_iteration(n):
    at = checkpoints(n)
    assert at[0] == 1 and at[-1] == n and all(np.diff(at) > 0)
    assert len(at) <= N_CHECKPOINTS
    assert len(at) > 8 or n < 20


def test_what_takes_labels_is_given_as_many_rows_as_pairs_have_points():
    trial, clock = trial_of(dataset_of()), Clock()
    model = WithLabels()
    trial.fit(model, trial.sizes, clock)
    X, y = model.seen
    assert len(X) == 80
    np.testing.assert_array_equal(X, trial.split.X_unlabeled[:80])
    np.testing.assert_array_equal(y, trial.split.y_unlabeled[:80])
    assert trial.judge(model, trial.sizes, clock).scores["prior"] is None
    scores = trial.search(model, {"unlabeled": 30}, [{"sign": 1}, {"sign": -1}, {"sign": np.nan}])
    assert scores == [[0.0] * FOLDS, [1.0] * FOLDS, [None] * FOLDS]


def test_words_and_counts():
    trial = trial_of(dataset_of())
    assert trial.values == {"class_prior": 0.6}
    assert trial.counts({"unlabeled": 50}) == {"n_similar": 40, "n_unlabeled": 50}
    assert trial_of(dataset_of(), prior=0.3).values == {"class_prior": 0.3}


@pytest.mark.parametrize(
    ("prior", "text"),
    [(0.5, "must differ from 1/2"), (1.0, "below 1"), ("x", "below 1"), (True, "below 1")],
)
def test_a_prior_without_meaning_is_refused(prior, text):
    with pytest.raises(ValidationError, match=text):
        SimilarUnlabeled.Spec(kind="similar_unlabeled", prior=prior)


def test_classes_of_the_same_size_need_another_prior():
    with pytest.raises(DataError, match="its classes are of the same size"):
        trial_of(dataset_of(250, 250))
    assert trial_of(dataset_of(250, 250), prior=0.6).values == {"class_prior": 0.6}

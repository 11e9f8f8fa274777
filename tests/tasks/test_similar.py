"""Pairs and unlabelled rows: what is drawn, the risk that searches, and how models are judged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sklearn.metrics import balanced_accuracy_score

from dsgkit.errors import DataError
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.similar.base import SimilarUnlabeledEstimator
from dsgkit.tasks import similar
from dsgkit.tasks.base import N_CHECKPOINTS
from dsgkit.tasks.metrics import su_risk
from dsgkit.tasks.similar import SimilarUnlabeled
from tests.data.conftest import make_dataset
from tests.solvers.similar.problems import risk, squared, zero_one

FOLDS = 3

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


def dataset_of(n_positive=300, n_negative=200, numbered=False):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([1, -1], [n_positive, n_negative]))
    first = np.arange(len(y)) if numbered else y + rng.normal(size=len(y))
    return make_dataset(np.column_stack([first, y if numbered else rng.random(len(y))]), y)


def trial_of(dataset=None, seed=0, **settings):
    spec = {"kind": "similar_unlabeled", "pairs": 40, "folds": FOLDS, **settings}
    return SimilarUnlabeled(dataset or dataset_of(), SimilarUnlabeled.Spec(**spec), seed)


class First(SimilarUnlabeledEstimator):
    """The first feature less a threshold."""

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
    """Its threshold grows along training."""

    def fit_observed(self, X_similar, X_unlabeled, *, at, observe):
        for t in at:
            share = self.threshold * t / self.n_iterations
            observe(t, t / 10, First(share).fit(X_similar, X_unlabeled))
        return self.fit(X_similar, X_unlabeled)


class WithLabels:
    """A classifier of scikit-learn's manner: it is told the labels."""

    def fit(self, X, y):
        raise NotImplementedError

    def fit_points(self, points, *, folds=None, X, y):
        return np.array([point["sign"] * y for point in points], float)


def test_points_are_searched_by_the_risk_of_held_out_pairs_and_rows():
    trial, cuts = trial_of(), (0.3, 0.6, -1.0)
    scores = trial.search(First(), trial.sizes, [{"threshold": cut} for cut in cuts])
    training = trial.training(trial.sizes)
    pairs, rows = training["X_similar"][:, :, 0], training["X_unlabeled"][:][:, 0]
    for cut, row in zip(cuts[:2], scores, strict=False):
        held_out = [(pairs[fold::FOLDS] - cut, rows[fold::FOLDS] - cut) for fold in range(FOLDS)]
        assert row == pytest.approx([su_risk(*values, 0.6) for values in held_out])
    assert scores[2] == [None] * FOLDS
    # the prior is that which the model knows
    known, other = ({"threshold": 0.4, "prior": prior} for prior in (0.6, 0.8))
    a, b = trial.search(First(), trial.sizes, [known, other])
    assert a != pytest.approx(b)
    assert trial.search(First(prior=0.8), trial.sizes, [{"threshold": 0.4}]) == [b]
    by_square = trial_of(select="squared")
    assert by_square.search(First(), trial.sizes, [known])[0] != pytest.approx(a)


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
    cut = {"threshold": 0.4}
    known = trial.search(First(prior=prior), trial.sizes, [cut])[0]
    for solver, point in ((First(prior="estimate"), cut), (First(), cut | {"prior": "estimate"})):
        assert trial.search(solver, trial.sizes, [point])[0] == pytest.approx(known)
    assert len(calls) == 1 and "prior" in clock.wall


def test_a_model_is_judged_on_the_test_rows():
    trial, clock, model = trial_of(), Clock(), First(0.45)
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    X, y = trial.split.X_test[:], trial.split.y_test
    positive = X[:, 0] >= 0.45
    assert judged.trace == [] and {"fit", "predict", "evaluate"} <= set(clock.wall)
    assert judged.scores == {
        "accuracy": pytest.approx(np.mean(positive == (y > 0))),
        "balanced_accuracy": pytest.approx(balanced_accuracy_score(y > 0, positive)),
        "positive": pytest.approx(np.mean(positive)),
        **{"collapsed": 0.0, "corrected": None, "prior": 0.6, "risk": None},
        **{"pairs": 40.0, "tested": len(y)},
    }
    constant = First(0.0).fit(**trial.training(trial.sizes))
    assert trial.judge(constant, trial.sizes, clock).scores["collapsed"] == 1.0


def test_what_iterates_is_looked_at_along_training():
    trial, clock, model = trial_of(), Clock(), Watched(0.6)
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    iterations = [step["iteration"] for step in judged.trace]
    assert iterations == sorted(set(iterations)) and (iterations[0], iterations[-1]) == (1, 50)
    assert 8 < len(iterations) <= N_CHECKPOINTS
    X, y = trial.split.X_test[:], trial.split.y_test
    for step in judged.trace:
        threshold = 0.6 * step["iteration"] / 50
        assert step["seconds"] == step["iteration"] / 10
        assert step["accuracy"] == pytest.approx(np.mean((X[:, 0] >= threshold) == (y > 0)))
    assert judged.trace[-1]["accuracy"] == judged.scores["accuracy"]
    costs = [trial.fit_work(one, trial.sizes).scoring for one in (Watched(), First())]
    assert costs[0] == N_CHECKPOINTS * costs[1]
    other = First(0.3).fit(**trial.training(trial.sizes))
    assert trial.judge(other, trial.sizes, clock).trace == []  # of another model nothing is known


def test_what_takes_labels_is_given_as_many_rows_as_pairs_have_points():
    trial, model = trial_of(), WithLabels()
    given = trial.given(model, trial.sizes)
    np.testing.assert_array_equal(given["X"], trial.split.X_unlabeled[:80])
    np.testing.assert_array_equal(given["y"], trial.split.y_unlabeled[:80])
    scores = trial.search(model, {"unlabeled": 30}, [{"sign": 1}, {"sign": -1}, {"sign": np.nan}])
    assert scores == [[0.0] * FOLDS, [1.0] * FOLDS, [None] * FOLDS]


@pytest.mark.parametrize("prior", [0.5, 1.0, "x", True])
def test_a_prior_without_meaning_is_refused(prior):
    with pytest.raises(
        ValidationError, match="must differ from 1/2" if prior == 0.5 else "below 1"
    ):
        SimilarUnlabeled.Spec(kind="similar_unlabeled", prior=prior)


UNSUITED = [
    ((250, 250), {}, "its classes are of the same size"),
    ((5, 900), {"prior": 0.9}, "5 positive and 900 negative rows, drawn by"),
    ((300, 200), {"folds": 41}, "40 pairs and .* unlabelled rows cannot be cut into 41 folds"),
]


@pytest.mark.parametrize(("counts", "settings", "text"), UNSUITED)
def test_datasets_that_do_not_suit_are_refused(counts, settings, text):
    with pytest.raises(DataError, match=text):
        trial_of(dataset_of(*counts), **settings)
    assert trial_of(dataset_of(250, 250), prior=0.6).values == {"class_prior": 0.6}


@given(
    st.integers(200, 2000),
    st.integers(200, 2000),
    st.sampled_from([None, 0.1, 0.3, 0.7, 0.99]),
    st.integers(0, 10**6),
)
def test_no_row_is_used_twice_and_pairs_are_of_one_class(n_positive, n_negative, prior, seed):
    if prior is None and abs(n_positive - n_negative) < 0.1 * n_negative:
        return
    dataset = dataset_of(n_positive, n_negative, numbered=True)
    trial = trial_of(dataset, seed, prior=prior, test=100, pairs=100)
    split = trial.split
    drawn = [split.similar.index, split.X_unlabeled.index, split.X_test.index]
    used = np.concatenate(drawn)
    assert len(set(used)) == len(used) == 2 * trial.n_similar + trial.n_drawn + trial.n_scored
    assert (np.diff(dataset.y[split.similar.index].reshape(-1, 2)) == 0).all()
    np.testing.assert_array_equal(dataset.y[drawn[1]], split.y_unlabeled)
    np.testing.assert_array_equal(dataset.y[drawn[2]], split.y_test)
    assert trial.n_scored == min(100, trial.n_drawn // 3)


def test_classes_are_drawn_by_the_prior_in_a_random_order():
    """Shares within five standard deviations: by chance once in a million runs."""
    trial = trial_of(dataset_of(60_000, 60_000), prior=0.7, pairs=10_000, test=9000)
    split = trial.split
    y_similar = trial.dataset.y[split.similar.index[::2]]
    of_a_pair = 0.49 / (0.49 + 0.09)
    for y, share in ((y_similar, of_a_pair), (split.y_unlabeled, 0.7), (split.y_test, 0.7)):
        for some in (y, y[:1000]):
            assert np.mean(some > 0) == pytest.approx(share, abs=5 * np.sqrt(0.25 / len(some)))
    assert trial.n_similar == 10_000 and trial.n_scored == 9000


@pytest.mark.parametrize("loss", [squared, zero_one])
@pytest.mark.parametrize("prior", [0.7, 0.2])
def test_the_risk_is_the_sum_over_pairs_and_rows(loss, prior):
    rng = np.random.default_rng(0)
    similar, unlabeled = rng.normal(size=(7, 2)), rng.normal(size=11)
    similar[0, 0] = unlabeled[0] = 0
    expected = risk(similar, unlabeled, prior, loss)
    assert su_risk(similar, unlabeled, prior, loss.__name__) == pytest.approx(expected, rel=1e-12)

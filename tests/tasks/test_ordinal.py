"""Ordered classes: the search by the cuts' AUC, and how functions and classes are judged."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.tasks.ordinal import Ordinal
from tests.data.conftest import make_dataset

FOLDS = 3
EVERY = pytest.mark.parametrize("every", [False, True])


def dataset_of(counts=(20, 30, 10, 40)):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(1, len(counts) + 1), counts))
    X = np.column_stack([y + rng.normal(size=len(y)), 10 * rng.random(len(y))])
    return replace(make_dataset(X, y), target=Target("ordered"))


def trial_of(dataset=None, seed=0, **settings):
    spec = Ordinal.Spec(**{"kind": "ordinal", "labeled": 30, "folds": FOLDS, **settings})
    return Ordinal(dataset or dataset_of(), spec, seed)


def trial_with(classes, counts):
    """Return a trial whose labelled rows have some of the classes alone."""
    trials = (trial_of(dataset_of(counts), seed, labeled=20) for seed in range(20))
    return next(trial for trial in trials if set(trial.split.y) == classes)


class First(OrdinalEstimator):
    """The first feature; or, for every cut, that and some of the second."""

    def __init__(self, tilt=0.0, every=False, thresholds="logistic"):
        self.tilt = tilt
        self.every = every
        self.thresholds = thresholds

    @property
    def per_cut(self):
        return self.every

    def _fit(self, X, codes, X_unlabeled):
        self.coef_ = self.tilt

    def _values(self, X):
        first = X[:][:, 0].astype(np.float64)
        if not self.every:
            return np.full(len(first), np.nan) if self.tilt < 0 else first + self.tilt * X[:][:, 1]
        cuts = np.arange(len(self.classes_) - 1)
        return first[:, None] + self.tilt * cuts * X[:][:, [1]]


def by_hand(y, values, k):
    columns = values if values.ndim == 2 else np.tile(values[:, None], k - 1)
    cuts = [j for j in range(1, k) if 0 < np.sum(y > j) < len(y)]
    return np.mean([roc_auc_score(y > j, columns[:, j - 1]) for j in cuts])


@EVERY
def test_points_are_searched_by_the_mean_auc_of_held_out_rows(every):
    trial = trial_of()
    split, X, folds = trial.split, trial.split.X[:], trial.folds({})
    scores = trial.search(First(every=every), trial.sizes, [{"tilt": 0.0}, {"tilt": 0.3}])
    assert sorted(np.concatenate(folds)) == list(range(30))
    for tilt, row in zip((0.0, 0.3), scores, strict=True):
        model = First(tilt, every).fit_function(X, split.y)
        expected = [by_hand(split.y[f], model.decision_function(X[f]), 4) for f in folds]
        assert row == pytest.approx(expected)
    assert trial.search(First(), trial.sizes, [{"tilt": -1.0}]) == [[None] * FOLDS]


@EVERY
def test_a_model_is_judged_by_ranks_and_by_classes(every):
    trial, clock, model = trial_of(), Clock(), First(0.1, every)
    trial.fit(model, trial.sizes, clock)
    scores = trial.judge(model, trial.sizes, clock).scores
    assert {"fit", "thresholds", "predict", "evaluate"} <= set(clock.wall)
    rows, y = trial.split.X_unlabeled[:], trial.split.y_unlabeled
    off = np.abs(model.predict(rows) - y)
    assert scores["auc"] == pytest.approx(by_hand(y, model.decision_function(rows), 4))
    assert scores["mae"] == pytest.approx(off.mean())
    assert scores["accuracy"] == pytest.approx(np.mean(off == 0))
    assert scores["macro_mae"] == pytest.approx(np.mean([off[y == c].mean() for c in range(1, 5)]))
    assert scores["never"] == len(set(y) - set(model.predict(rows)))
    assert scores["test_auc"] is None


def test_cuts_between_classes_that_no_labelled_row_has_share_a_function():
    trial = trial_with({1, 4}, (50, 1, 1, 60))
    model = First(0.1, every=True).fit(trial.split.X[:], trial.split.y)
    values, classes = trial.predictions(model, trial.split.X_unlabeled)
    assert set(classes) <= {1, 4}
    assert values.ndim == 1 or (values == values[:, :1]).all()
    assert trial.score(trial.split.y_unlabeled, (values, classes))["never"] == 2


def test_words_are_the_shares_of_the_whole_training_set_above_the_cuts_of_labelled_rows():
    trial = trial_of()
    assert trial.counts({"unlabeled": 40}) == {"n_labeled": 30, "n_unlabeled": 40, "n_cuts": 3}
    assert trial.values["class_proportions"] == pytest.approx((0.8, 0.5, 0.4))
    half = trial_of(labeled=500)  # at most half of the rows are labelled
    assert half.counts(half.sizes) == {"n_labeled": 50, "n_unlabeled": 50, "n_cuts": 3}
    few = trial_with({1, 3, 4}, (50, 1, 30, 19))
    assert few.counts(few.sizes)["n_cuts"] == 2
    assert few.values["class_proportions"] == pytest.approx((0.5, 0.19))


UNSUITED = [
    (dataset_of((4, 5)), {}, "9 rows give 4 labelled ones, at most half; 3 folds need 6"),
    (dataset_of((1, 300)), {"labeled": 20}, "all 20 labelled rows drawn are of one class"),
    (make_dataset(np.eye(40), np.tile([1, -1], 20)), {}, "dataset.target"),
]


@pytest.mark.parametrize(("dataset", "settings", "text"), UNSUITED)
def test_datasets_that_do_not_suit_are_refused(dataset, settings, text):
    with pytest.raises(DataError, match=text):
        trial_of(dataset, **settings).split  # noqa: B018  drawn when it is asked for

"""Splits into labelled and unlabelled rows, and the tasks of a ranking and of a classifier."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats
from sklearn.metrics import roc_auc_score

from dsgkit.errors import DataError
from dsgkit.experiment.timing import Clock
from dsgkit.numerics.costs import Cost
from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.system.progress import listening
from dsgkit.tasks.semi_supervised import (
    LABELED,
    SemiSupervised,
    SemiSupervisedAUC,
    SemiSupervisedSpec,
    fold_scores,
    semi_supervised_split,
)
from dsgkit.tasks.svm import SemiSupervisedSVM, is_positive, share_cut
from tests.data.conftest import make_dataset

RNG = np.random.default_rng(0)
LABELLED, UNLABELLED, FOLDS = 12, 23, 3
TASKS = pytest.mark.parametrize("task", [SemiSupervisedAUC, SemiSupervisedSVM])


# Splits


@st.composite
def trials(draw):
    n = draw(st.integers(5, 60))
    n_positive = draw(st.integers(2, n - 2))
    y = np.where(draw(st.permutations(range(n))) < np.int64(n_positive), 1, -1)
    labeled = draw(st.integers(4, n - 1))
    spec = SemiSupervisedSpec(kind="split", labeled=labeled, folds=draw(st.integers(2, labeled)))
    return SemiSupervised(make_dataset(np.zeros((n, 1)), y), spec, draw(st.integers(0, 2**62)))


@given(trials())
def test_labelled_and_unlabelled_rows_share_out_all_rows_and_folds_keep_both_classes(trial):
    split, y, folds = trial.split, trial.dataset.y, trial.folds({})
    assert len(split.X) == trial.spec.labeled
    assert sorted([*split.X.index, *split.X_unlabeled.index]) == list(range(len(y)))
    np.testing.assert_array_equal(split.y, y[split.X.index])
    np.testing.assert_array_equal(split.y_unlabeled, y[split.X_unlabeled.index])
    assert split.X_test is None and split.y_test is None
    assert min(np.sum(split.y == 1), np.sum(split.y == -1)) >= 2
    assert sorted(np.concatenate(folds)) == list(range(len(split.y)))
    assert len(folds) == trial.spec.folds
    assert all(set(np.delete(split.y, fold)) == {-1, 1} for fold in folds)


@pytest.mark.parametrize(("scale", "scaled"), [((0, 1), [2, -1]), ((-1, 1), [3, -3])])
def test_test_rows_are_scaled_by_the_training_rows(scale, scaled):
    test = np.array([[8], [-4]], np.float32), np.array([1, -1], np.int8)
    dataset = make_dataset(np.array([[0.0], [4], [2], [1], [3]]), [1, 1, -1, -1, 1], *test)
    split = semi_supervised_split(dataset, labeled=4, folds=2, seed=0, scale=scale)
    np.testing.assert_allclose(split.X_test[:][:, 0], scaled)
    assert split.y_test.tolist() == [1, -1]


LARGE = make_dataset(np.zeros((50, 1)), [1, -1] * 25)
SMALL_CLASS = make_dataset(np.arange(10.0)[:, None], [1] + [-1] * 9)
UNSUITED = [
    (LARGE, 2000, DataError, "2,000 labelled rows asked for, but it has 50 rows"),
    (LARGE, 3, ValidationError, "3 rows are too few: 2 of each class"),
    (SMALL_CLASS, 5, DataError, r"class \+1 has 1 of the rows"),
]


@pytest.mark.parametrize(("dataset", "labeled", "error", "text"), UNSUITED)
def test_numbers_that_do_not_fit(dataset, labeled, error, text):
    with pytest.raises(error, match=text):
        semi_supervised_split(dataset, labeled=labeled, folds=2, seed=0)


# Tasks


@pytest.fixture
def dataset():
    X = RNG.random((LABELLED + UNLABELLED, 2)).astype(np.float32)
    return make_dataset(X, np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8))


def trial_of(task, dataset, **settings):
    spec = task.Spec(kind=task.kind, labeled=LABELLED, folds=FOLDS, **settings)
    return task(dataset, spec, 0)


class Shifted(SemiSupervisedClassifier):
    """Cuts where the rows it was given have their mean, and some more."""

    def __init__(self, C=1.0, shift=0.0):
        self.C = C
        self.shift = shift

    def fit(self, X, y, X_unlabeled):
        self.cut_ = float(np.vstack([X, X_unlabeled[:]])[:, 0].mean()) + self.shift
        return self

    def decision_function(self, X):
        values = np.asarray(X)[:, 0].astype(np.float64) - self.cut_
        return values if self.shift < 9 else np.full(len(values), np.nan)

    def cost(self, n_inputs, *, n_models=1, n_labeled, n_unlabeled):
        n = n_labeled + n_unlabeled
        return Cost(float(n * n_models), 8 * n, 2.0)


def test_a_search_by_error_trains_on_one_part_and_tests_on_the_others(dataset, monkeypatch):
    """Done again by hand."""
    monkeypatch.setattr("dsgkit.tasks.svm._BLOCK_ROWS", 4)
    trial, shifts = trial_of(SemiSupervisedSVM, dataset), (0.0, 0.2, 9.0)
    scores = trial.search(Shifted(), {"unlabeled": 20}, [{"shift": shift} for shift in shifts])
    split, rows = trial.split, np.arange(20)
    for fold, part in enumerate([rows[:6], rows[6:13], rows[13:]]):
        others = np.setdiff1d(rows, part)
        X, y = split.X_unlabeled[others], split.y_unlabeled[others]
        for shift, row in zip(shifts[:2], scores, strict=False):
            model = Shifted(shift=shift).fit(split.X[:], split.y, split.X_unlabeled[part])
            wrong = (model.decision_function(X) >= 0) != (y > 0)
            assert row[fold] == pytest.approx(np.mean(wrong))
    assert scores[2] == [None, None, None]


def by_hand(trial, shift, rest, at, share=True):
    """Return a model trained on some of the labelled rows, and its threshold."""
    y, U = trial.split.y[rest], trial.split.X_unlabeled[: at["unlabeled"]]
    model = Shifted(shift=shift).fit(trial.split.X[rest], y, U)
    values = np.sort(model.decision_function(U))[::-1]
    low, high = proportion(int(np.sum(y > 0)), len(y))
    if not share or low <= np.mean(values >= 0) <= high:
        return model, -1e-12
    return model, values[int(np.floor(np.mean(y > 0) * len(U)))]  # the largest that is not above


def proportion(count, n):
    """Return the interval of a share that is estimated from so many of n, by another library."""
    interval = stats.binomtest(count, n).proportion_ci(0.95, method="wilson")
    return interval.low, interval.high


@pytest.mark.parametrize("threshold", ["zero", "labeled_share"])
def test_a_search_by_labelled_rows_is_repeated_cross_validation(dataset, threshold):
    """Done again by hand; no hidden label is looked at."""
    settings = {"select": "labeled_rows", "repeats": 2, "threshold": threshold}
    trial, at = trial_of(SemiSupervisedSVM, dataset, **settings), {"unlabeled": 20}
    trial.__dict__["split"] = trial.split._replace(y_unlabeled=np.zeros(UNLABELLED))
    shifts, folds = (0.0, 0.2, 9.0), [*trial.folds(at), *trial.folds(at, 1)]
    scores = trial.search(Shifted(), at, [{"shift": shift} for shift in shifts])
    assert len({tuple(fold) for fold in folds}) == 2 * FOLDS
    for shift, row in zip(shifts[:2], scores, strict=False):
        for fold, score in zip(folds, row, strict=True):
            rest = np.setdiff1d(np.arange(LABELLED), fold)
            model, cut = by_hand(trial, shift, rest, at, threshold != "zero")
            y, positive = trial.split.y[fold], model.decision_function(trial.split.X[fold]) > cut
            wrong = [np.mean(positive[y == k] != (k > 0)) for k in np.unique(y)]
            assert score == (pytest.approx(np.mean(wrong)) if len(wrong) == 2 else None)
    assert scores[2] == [None] * 2 * FOLDS
    assert trial.search_work(Shifted(), at, 4).training == 2 * 3 * 4 * (12 + 20)


def test_a_share_of_the_unlabelled_training_rows_is_above_the_threshold(dataset):
    trial, at = trial_of(SemiSupervisedSVM, dataset, threshold="labeled_share"), {"unlabeled": 15}
    model, cut = by_hand(trial, 9 - 1e-9, np.arange(LABELLED), at)
    values = model.decision_function(trial.split.X_unlabeled)
    scores = trial.judge(model, at, Clock()).scores
    assert (values < 0).all() and (values > cut).any()
    assert scores["positive"] == pytest.approx(np.mean(values > cut))
    wrong = (values > cut) != (trial.split.y_unlabeled > 0)
    assert scores["error"] == pytest.approx(np.mean(wrong))


@pytest.mark.parametrize("n_positive", [1, 5, 20, 39])
def test_a_threshold_of_0_is_kept_while_the_labels_do_not_contradict_it(n_positive):
    y = np.where(np.arange(40) < n_positive, 1, -1)
    low, high = proportion(n_positive, 40)
    for share in np.arange(1, 100) / 100:
        values = np.linspace(0, 1, 100, endpoint=False) + share - 1 + 0.005
        cut = share_cut(values, y)
        assert (cut is None) == (low <= share <= high)
        taken = share if cut is None else np.mean(values > cut)
        assert taken == pytest.approx(share if cut is None else n_positive / 40, abs=0.01)


@pytest.mark.parametrize(("n_positive", "taken"), [(1, 0), (11, 0.45), (28, 0.45), (39, 1)])
def test_equal_values_are_all_above_a_threshold_or_all_below(n_positive, taken):
    values = np.where(np.arange(100) < 45, 0.5, -0.5)
    cut = share_cut(values, np.where(np.arange(40) < n_positive, 1, -1))
    assert cut is not None
    assert np.mean(is_positive(values.astype(np.float32), cut)) == taken


class Counted(Shifted):
    """Of which something depends on the number of rows."""

    def settled(self, **counts):
        return Counted(counts["n_unlabeled"], self.shift)

    def fit(self, X, y, X_unlabeled):
        assert self.C == 20 > len(X_unlabeled)
        return super().fit(X, y, X_unlabeled)


def test_what_trains_with_a_part_is_settled_by_all_rows(dataset):
    points = [{"shift": shift, "C": None} for shift in (0.1, 0.2)]  # what null is, is settled
    trial_of(SemiSupervisedSVM, dataset).search(Counted(), {"unlabeled": 20}, points)


@TASKS
def test_swept_labelled_rows_are_nested_and_leave_the_others_alone(dataset, task):
    spec = task.Spec(kind=task.kind, folds=2, unlabeled=9).swept_to(LABELED, LABELLED)
    for seed in range(20):
        trial = task(dataset, spec, seed)
        given = [trial.training({"unlabeled": 9, "labeled": n}) for n in (4, 7, LABELLED)]
        for small, more in itertools.pairwise(given):
            np.testing.assert_array_equal(small["X"], more["X"][: len(small["X"])])
            np.testing.assert_array_equal(small["X_unlabeled"][:], more["X_unlabeled"][:])
        assert [len(one["y"]) for one in given] == [4, 7, LABELLED]
        assert min(np.sum(given[0]["y"] == label) for label in (-1, 1)) == 2
        assert sorted(np.concatenate(trial.folds({"labeled": 7}))) == list(range(7))
    assert trial.counts({"unlabeled": 9, "labeled": 7}) == {"n_labeled": 7, "n_unlabeled": 9}
    assert trial.sizes == {"unlabeled": 9} and len(trial.split.X_unlabeled) == UNLABELLED
    assert spec.setting == "at most 9 unlabelled rows in training"


def test_a_classifier_is_judged_by_its_error_and_its_class_balance(dataset):
    score = trial_of(SemiSupervisedSVM, dataset).score
    values = np.array([0.5, -0.1, 0.0, -1.0, -2.0])  # 0 counts as positive
    assert score(np.array([1, 1, -1, -1, -1]), values) == {
        "error": 0.4,
        "balanced_error": pytest.approx((1 / 2 + 1 / 3) / 2),
        "auc": pytest.approx(5 / 6),
        "average_precision": pytest.approx((1 + 2 / 3) / 2),
        "positive": 0.4,
        "positive_true": 0.4,
        "collapsed": 0,
    }
    for n_taken, n_positive, vanished in (
        *((0, 50, 1), (4, 50, 1), (5, 50, 0), (96, 50, 1), (95, 50, 0), (0, 5, 1), (1, 5, 0)),
    ):
        y, values = (np.where(np.arange(100) < n, 1, -1) for n in (n_positive, n_taken))
        assert score(y, values)["collapsed"] == vanished


@TASKS
@pytest.mark.parametrize("n_test", [0, 9])
def test_a_fit_is_judged_on_all_unlabelled_rows_and_on_test_rows(dataset, task, n_test):
    test = (dataset.X[:n_test], dataset.y[:n_test]) if n_test else (None, None)
    trial, clock = trial_of(task, make_dataset(dataset.X, dataset.y, *test)), Clock()
    model, seen, split = Shifted(shift=0.05), [], trial.split
    trial.fit(model, {"unlabeled": 5}, clock)
    with listening(seen.append):
        scores = trial.judge(model, {"unlabeled": 5}, clock).scores

    def expected(X, y):
        if y is None:
            return None
        values = np.asarray(X)[:, 0] - model.cut_
        wrong = np.mean((values >= 0) != (y > 0))
        return pytest.approx(roc_auc_score(y, values) if task is SemiSupervisedAUC else wrong)

    assert scores[task.chooses] == expected(split.X_unlabeled, split.y_unlabeled)
    assert scores[f"test_{task.chooses}"] == expected(split.X_test, split.y_test)
    assert seen == sorted(seen) and seen[-1] == 1
    assert set(clock.wall) == {"fit", "predict", "evaluate"}
    assert trial.sizes == {"unlabeled": UNLABELLED}


def test_a_fold_of_one_class_and_a_point_without_solution_have_no_score(dataset):
    y, folds = np.array([1, 1, 1, -1]), [np.array([0, 1]), np.array([2, 3])]
    values = np.array([[1.0, 2, 3, 0], [1.0, 2, np.nan, np.nan]])
    score = trial_of(SemiSupervisedAUC, dataset).fold_score
    assert fold_scores(y, values, folds, score) == [[None, 1.0], [None, None]]

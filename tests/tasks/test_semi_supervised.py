import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit.costs import Cost
from dsgkit.errors import DataError
from dsgkit.experiment.measure import Clock
from dsgkit.progress import listening
from dsgkit.solvers.base import PointModels, SemiSupervisedClassifier
from dsgkit.tasks.measures import STANDARD, outputs_of
from dsgkit.tasks.semi_supervised_auc import TASK as AUC
from dsgkit.tasks.semi_supervised_auc import fold_scores
from dsgkit.tasks.semi_supervised_svm import TASK as SVM
from tests.data.conftest import make_dataset

RNG = np.random.default_rng(0)
LABELLED, UNLABELLED, FOLDS = 12, 23, 3


@pytest.fixture
def dataset():
    X = RNG.random((LABELLED + UNLABELLED, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)
    return make_dataset(X, y)


def trial_of(task, dataset, **settings):
    spec = task.Spec(kind=task.kind, labeled=LABELLED, folds=FOLDS, **settings)
    return task.trial(dataset, spec, 0)


class Shifted(SemiSupervisedClassifier):
    """Cuts where the rows it was given have their mean, and some more."""

    given: list = []  # noqa: RUF012  the test empties it

    def __init__(self, C=1.0, shift=0.0):
        self.C = C
        self.shift = shift

    def fit(self, X, y, X_unlabeled):
        Shifted.given.append(X_unlabeled[:])
        self.cut_ = float(np.vstack([X, X_unlabeled[:]])[:, 0].mean()) + self.shift
        return self

    def decision_function(self, X):
        values = np.asarray(X)[:, 0].astype(np.float64) - self.cut_
        return values if self.shift < 9 else np.full(len(values), np.nan)

    def cost(self, n_inputs, *, n_models=1, n_labeled, n_unlabeled):
        n = n_labeled + n_unlabeled
        return Cost(float(n * n_models), 8 * n, 2.0)


def test_a_search_by_error_trains_on_one_part_and_tests_on_the_others(dataset, monkeypatch):
    """Done again by hand, row by row."""
    monkeypatch.setattr("dsgkit.tasks.semi_supervised_svm._BLOCK_ROWS", 4)
    trial = trial_of(SVM, dataset)
    split = trial.split
    Shifted.given = []
    points = [{"shift": 0.0}, {"shift": 0.2}, {"shift": 9.0}]
    used = 20
    scores = trial.search(Shifted(), {"unlabeled": used}, points)
    X, y = split.X_unlabeled[:used], split.y_unlabeled[:used]
    parts = [range(0, 6), range(6, 13), range(13, 20)]
    for fold, part in enumerate(parts):
        np.testing.assert_array_equal(Shifted.given[len(points) * fold], X[part])
        for point, row in zip(points[:2], scores, strict=False):
            model = Shifted(**point).fit(split.X[:], split.y, X[part])
            others = [i for i in range(used) if i not in part]
            wrong = [(model.decision_function(X[[i]])[0] >= 0) != (y[i] > 0) for i in others]
            assert row[fold] == pytest.approx(np.mean(wrong))
    assert scores[2] == [None, None, None]


def test_what_a_search_by_error_takes(dataset):
    work = trial_of(SVM, dataset).search_work(Shifted(), {"unlabeled": 20}, 4)
    assert work.training == 3 * 4 * (12 + 7)
    assert work.scoring == 4 * 2 * 20 * 2
    assert work.memory == 8 * (12 + 7)


def test_what_cross_validation_and_a_fit_take(dataset):
    trial = trial_of(AUC, dataset)
    work = trial.search_work(Shifted(), {"unlabeled": 20}, 4)
    assert (work.training, work.scoring, work.memory) == (4 * 3 * (12 + 20), 0, 8 * (12 + 20))
    work = trial.fit_work(Shifted(), {"unlabeled": 20})
    assert (work.training, work.scoring, work.memory) == (12 + 20, 2 * UNLABELLED, 8 * (12 + 20))


def test_a_classifier_is_judged_by_its_error_and_its_class_balance(dataset):
    labels = np.array([1, 1, -1, -1, -1], np.int8)
    values = np.array([0.5, -0.1, 0.0, -1.0, -2.0])  # 0 counts as positive
    scores = trial_of(SVM, dataset).score(labels, values)
    assert scores == {"error": 0.4, "positive": 0.4, "positive_true": 0.4}


def test_rows_of_one_class_have_no_auc(dataset):
    score = trial_of(AUC, dataset).score
    assert score(np.array([1, -1, 1]), np.array([2.0, 1.0, 0.5])) == {"auc": 0.5}
    assert score(np.array([1, 1, 1]), np.array([2.0, 1.0, 0.5])) == {"auc": None}


@pytest.mark.parametrize("task", [AUC, SVM])
def test_a_fit_is_judged_on_all_unlabelled_rows_and_on_test_rows_where_there_are(dataset, task):
    clock, at = Clock(), {"unlabeled": 5}
    for n_test in (0, 9):
        X_test = RNG.random((9, 2)).astype(np.float32) if n_test else None
        y_test = np.where(X_test[:, 0] > 0.5, 1, -1).astype(np.int8) if n_test else None
        trial = trial_of(task, make_dataset(dataset.X, dataset.y, X_test, y_test))
        assert trial.sizes == {"unlabeled": UNLABELLED}
        model = Shifted(shift=0.05)
        trial.fit(model, at, clock)
        judged, seen = [], []
        with listening(seen.append):
            scores = trial.judge(model, at, clock).scores
        split = trial.split
        for rows, y, name in (
            (split.X_unlabeled, split.y_unlabeled, ""),
            (split.X_test, split.y_test, "test_"),
        ):
            expected = None
            if y is not None:
                values = np.asarray(rows)[:, 0] - model.cut_
                right = (values >= 0) == (y > 0)
                expected = roc_auc_score(y, values) if task is AUC else np.mean(~right)
                expected = pytest.approx(expected)
            judged.append(scores[f"{name}{task.chooses}"] == expected)
        assert judged == [True, True]
        assert seen == sorted(seen)
        assert seen[-1] == 1
    assert set(clock.seconds) == {"fit", "predict", "evaluate"}


def test_a_dataset_with_too_few_rows_is_told_when_a_trial_is_made(dataset):
    with pytest.raises(DataError, match="35 labelled rows asked for, but it has 35 rows"):
        AUC.trial(dataset, AUC.Spec(kind=AUC.kind, labeled=35), 0)


@pytest.mark.parametrize("task", [AUC, SVM])
def test_what_a_task_declares_fits_together(task):
    names = [measure.name for measure in task.measures]
    assert len(set(names)) == len(names)
    assert task.chooses in names
    outputs = outputs_of((*task.measures, *STANDARD), swept=True)
    assert set(task.outputs) <= set(outputs)
    spec = task.Spec(kind=task.kind)
    assert spec.setting == "200 labelled rows"
    assert spec.protocol == f"{task.kind} with 200 labelled rows, features scaled to [0, 1]"
    assert spec.selection


def test_scores_are_the_share_of_ordered_pairs_in_each_fold():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 30)
    values = rng.integers(0, 6, (4, 30)).astype(float)  # with ties
    folds = np.array_split(rng.permutation(30), 3)
    scores = fold_scores(values, y, folds)
    for row, got in zip(values, scores, strict=True):
        for fold, score in zip(folds, got, strict=True):
            p, n = row[fold][y[fold] == 1], row[fold][y[fold] == -1]
            wins = [(a > b) + 0.5 * (a == b) for a in p for b in n]
            assert score == pytest.approx(np.mean(wins))


def test_a_fold_of_one_class_and_a_point_without_solution_have_no_score():
    y = np.array([1, 1, 1, -1])
    folds = [np.array([0, 1]), np.array([2, 3])]
    values = np.array([[1.0, 2, 3, 0], [1.0, 2, np.nan, np.nan]])
    assert fold_scores(values, y, folds) == [[None, 1.0], [None, None]]


def test_points_without_a_solution_are_columns_of_nan():
    models = [Shifted().fit(np.zeros((2, 2)), None, np.zeros((2, 2))), None]
    values = PointModels(models).decision_function(np.ones((3, 2)))
    np.testing.assert_array_equal(values, [[1.0, np.nan]] * 3)

import numpy as np
import pytest

from dsgkit.data.rows import Rows
from dsgkit.experiment.protocols import PROTOCOLS, Size
from dsgkit.solvers.base import PointModels, SemiSupervisedClassifier
from dsgkit.tasks.splits import SemiSupervisedSplit, stratified_folds

RNG = np.random.default_rng(0)
LABELLED, UNLABELLED, FOLDS = 12, 23, 3


@pytest.fixture
def split():
    X = RNG.random((LABELLED + UNLABELLED, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)
    y[:2] = 1, -1
    rows = Rows(X)
    return SemiSupervisedSplit(
        X=rows.take(slice(LABELLED)),
        y=y[:LABELLED],
        X_unlabeled=rows.take(slice(LABELLED, None)),
        y_unlabeled=y[LABELLED:],
        X_test=None,
        y_test=None,
        folds=stratified_folds(y[:LABELLED], FOLDS, 0),
        class_proportion=0.5,
    )


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

    def flops(self, n_labeled, n_unlabeled, n_inputs, *, n_models=1):
        return float((n_labeled + n_unlabeled) * n_models)

    def predict_flops(self, n_rows, n_labeled, n_unlabeled, n_inputs):
        return float(n_rows)

    def memory_needed(self, n_labeled, n_unlabeled, n_inputs, *, n_models=1):
        return 8 * (n_labeled + n_unlabeled)


def test_a_search_by_error_trains_on_one_part_and_tests_on_the_others(split, monkeypatch):
    """Done again by hand, row by row."""
    monkeypatch.setattr("dsgkit.experiment.protocols._BLOCK_ROWS", 4)
    Shifted.given = []
    points = [{"shift": 0.0}, {"shift": 0.2}, {"shift": 9.0}]
    used = 20
    scores = PROTOCOLS["semi_supervised_error"].search(Shifted(), split, used, points)
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


def test_what_a_search_by_error_takes(split):
    size = Size(n_labeled=12, n_unlabeled=20, n_inputs=2, n_points=4, n_folds=3)
    cost = PROTOCOLS["semi_supervised_error"].cost(Shifted(), size)
    assert cost.training == 3 * 4 * (12 + 7)
    assert cost.scoring == 4 * 2 * 20
    assert cost.memory == 8 * (12 + 7)


def test_a_classifier_is_judged_by_its_error_and_its_class_balance():
    labels = np.array([1, 1, -1, -1, -1], np.int8)
    judge = PROTOCOLS["semi_supervised_error"].judge
    values = np.array([0.5, -0.1, 0.0, -1.0, -2.0])  # 0 counts as positive
    assert judge(labels, values) == {"error": 0.4, "positive": 0.4, "positive_true": 0.4}
    values[0] = np.nan
    assert judge(labels, values) == {"error": None, "positive": None, "positive_true": 0.4}


def test_points_without_a_solution_are_columns_of_nan():
    models = [Shifted().fit(np.zeros((2, 2)), None, np.zeros((2, 2))), None]
    values = PointModels(models).decision_function(np.ones((3, 2)))
    np.testing.assert_array_equal(values, [[1.0, np.nan]] * 3)

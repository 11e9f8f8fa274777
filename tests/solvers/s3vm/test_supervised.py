"""The rows of the tables that S3VMs are put in relation to, against scikit-learn itself."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from dsgkit import AllLabelsSVM, SelfTraining, SupervisedSVM
from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, FitError

RNG = np.random.default_rng(7)
X = RNG.random((60, 3)).astype(np.float32)
U = RNG.random((500, 3)).astype(np.float32)


def labels(rows):
    return np.where(rows[:, 0] + rows[:, 1] ** 2 > 0.8, 1, -1)


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_the_weight_is_that_of_the_mean_loss(weight):
    model = SupervisedSVM(C=30.0, sigma=2.0, class_weight=weight, tol=1e-6).fit(X, labels(X))
    svm = SVC(C=30.0 / 60, gamma=2.0, class_weight=weight, tol=1e-6).fit(X, labels(X))
    np.testing.assert_allclose(model.decision_function(U), svm.decision_function(U), atol=1e-5)
    np.testing.assert_array_equal(model.predict(U), svm.predict(U))


def test_all_labels_are_those_of_both_kinds_of_rows():
    both = np.vstack([X, U])
    model = AllLabelsSVM(C=300.0, sigma=2.0).fit(X, labels(X), Rows(U), labels(U))
    expected = SupervisedSVM(C=300.0, sigma=2.0).fit(both, labels(both))
    assert model.n_rows_ == 560
    np.testing.assert_allclose(model.decision_function(U), expected.decision_function(U), atol=1e-9)


def test_of_many_rows_some_are_drawn_of_either_kind():
    seeds = [
        AllLabelsSVM(most_rows=200, random_state=seed).fit(X, labels(X), U, labels(U))
        for seed in (1, 1, 2)
    ]
    centers = [{tuple(row) for row in model.centers_} for model in seeds]
    assert centers[0] == centers[1] != centers[2]
    assert seeds[0].n_rows_ == 200 and len(centers[0]) <= 200
    assert centers[0] & {tuple(row) for row in X.astype(float)}
    assert centers[0] & {tuple(row) for row in U.astype(float)}


@pytest.mark.parametrize("change", [{"y_unlabeled": labels(U)[:-1]}, {"X_unlabeled": U[:, :2]}])
def test_what_does_not_fit_together_is_refused(change):
    training = {"X": X, "y": labels(X), "X_unlabeled": U, "y_unlabeled": labels(U)} | change
    with pytest.raises(DataError, match=r"one label per row|X_unlabeled has 2 features"):
        AllLabelsSVM().fit(**training)


def test_values_of_self_training_are_the_log_odds_of_scikit_learns():
    few = U[:100]
    model = SelfTraining(C=300.0, sigma=2.0, threshold=0.9, max_iter=3).fit(X, labels(X), few)
    svm = CalibratedClassifierCV(SVC(C=5.0, gamma=2.0), cv=5, ensemble=False)
    other = SelfTrainingClassifier(svm, threshold=0.9, max_iter=3)
    other.fit(np.vstack([X, few]), np.append((labels(X) + 1) // 2, np.full(len(few), -1)))
    odds = 1 / (1 + np.exp(-model.decision_function(U)))
    np.testing.assert_allclose(odds, other.predict_proba(U)[:, 1], atol=1e-6)
    assert 0 < model.n_taken_ == (other.transduction_[60:] >= 0).sum()
    assert model.n_iter_ == other.n_iter_


def test_probabilities_need_rows_of_either_class():
    with pytest.raises(FitError, match="two labelled rows of each class"):
        SelfTraining().fit(X[:5], [1, -1, -1, -1, -1], U[:20])
    assert SelfTraining(C=1e4).fit(X[:5], [1, 1, -1, -1, -1], U[:20]).n_iter_ >= 1


def test_costs_grow_with_the_rows_that_train():
    few = {"n_labeled": 200, "n_unlabeled": 1000}
    many = {"n_labeled": 200, "n_unlabeled": 10**6}
    assert SupervisedSVM().cost(5, **few) == SupervisedSVM().cost(5, **many)
    capped = AllLabelsSVM().cost(5, n_labeled=200, n_unlabeled=19_800)
    assert AllLabelsSVM().cost(5, **few).flops < capped.flops
    assert AllLabelsSVM().cost(5, **many) == capped
    assert SelfTraining().cost(5, **few).flops < SelfTraining().cost(5, **many).flops

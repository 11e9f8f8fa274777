"""Labels and their order, values per cut, and what scikit-learn's meta-estimators make of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier

from dsgkit import SVOREX, SVORIM, KernelRidgeOrdinal
from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import folds_of
from tests.estimators.ordinal.problems import ordinal_problem
from tests.estimators.small import made, of_task

META = [
    CalibratedClassifierCV,
    OneVsOneClassifier,
    lambda model: StackingClassifier([("model", model)], cv=2),
    lambda model: VotingClassifier([("model", model)]),
]


def chosen(model, X):
    """Return the labels that scikit-learn reads from the decision function."""
    values, two = model.decision_function(X), len(model.classes_) == 2
    assert values.shape == ((len(X),) if two else (len(X), len(model.classes_)))
    assert np.isfinite(values).all()
    return model.classes_[(values > 0).astype(int) if two else values.argmax(axis=1)]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", of_task("ordinal"))
def test_meta_estimators_agree_with_predict(name, n_classes):
    X, y, U, _ = ordinal_problem(60, 60, n_classes)
    model = made(name).fit(X, y)
    per_cut = model.per_cut and n_classes == 4
    assert model.score_samples(U).shape == ((60, 3) if per_cut else (60,))
    predicted, values = model.predict(U), model.decision_function(U)
    np.testing.assert_array_equal(chosen(model, U), predicted)
    inside = np.where(predicted == 1, 1, -1) * (values if n_classes == 2 else values[:, 1])
    assert (inside >= 0).all()  # the sign tells, too
    accuracy = np.mean(model.predict(X) == y)
    for meta in META if name == "svorim" else META[:1]:
        assert np.mean(meta(made(name)).fit(X, y).predict(X) == y) > accuracy - 0.1


def test_probabilities_are_those_of_a_calibration_alone():
    X, y, _, _ = ordinal_problem(60, 10, 3)
    for model in (SVOREX(), VotingClassifier([("model", SVOREX())], voting="soft").fit(X, y)):
        with pytest.raises(AttributeError, match=r"SVOREX has no predict_proba: .*Calibrated"):
            model.predict_proba(X)
    with pytest.raises(AttributeError, match=r"SVOREX has none of .* predict_proba"):
        cross_val_score(SVOREX(), X, y, scoring="roc_auc_ovr", error_score="raise")
    scores = cross_val_score(CalibratedClassifierCV(SVORIM()), X, y, scoring="roc_auc_ovr")
    assert scores.mean() > 0.7


SORTED = [(-7, -3, 0, 2), (1.0, 2.0, 4.0, 8.0), (False, True), ("a", "b")]
NOT_SORTED = [("low", "mid", "high"), ("2", "10", "1e3"), (2, 7, 5), ("yes", "no")]


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("labels", SORTED + NOT_SORTED)
def test_labels_of_any_kind_are_taken_in_their_order(labels, kind):
    """In that of numbers or text, of ``classes``, or of a pandas Categorical."""
    n, folds = len(labels), folds_of(60, 2)
    X, codes, U, codes_u = ordinal_problem(60, 60, n)
    y, named_u = kind(np.array(labels)[codes]), np.array(labels)[codes_u]
    ordered = pd.Series(pd.Categorical(y, [*labels, labels[-1] * 9], ordered=True))
    by_itself = y if labels in SORTED else ordered
    plain = KernelRidgeOrdinal().fit(X, codes, U)
    for classes, given in ((labels, y), (None, by_itself)):
        solver = KernelRidgeOrdinal(classes=classes)
        model = solver.fit(X, given, U)
        assert model.ordered_classes_.tolist() == list(labels)
        assert model.classes_.tolist() == sorted(labels)
        np.testing.assert_array_equal(model.score_samples(U), plain.score_samples(U))
        expected = np.array(labels)[plain.predict(U)]
        np.testing.assert_array_equal(model.predict(U), expected)
        np.testing.assert_array_equal(chosen(model, U), expected)
        assert model.score(U, named_u) == plain.score(U, codes_u) > 0.8
        got = solver.fit_points([{}], folds=folds, X=X, y=given)
        np.testing.assert_array_equal(got, plain.fit_points([{}], folds=folds, X=X, y=codes))
    calibrated = CalibratedClassifierCV(KernelRidgeOrdinal(classes=labels)).fit(X, y).predict(U)
    expected = CalibratedClassifierCV(KernelRidgeOrdinal()).fit(X, codes).predict(U)
    np.testing.assert_array_equal(calibrated, np.array(labels)[expected])


LOW_TO_HIGH = np.array(["low", "mid", "high"])
UNKNOWN, NO_LIST = "classes must hold all labels of y, but not ", "classes must be a list of diff"


@pytest.mark.parametrize(
    ("classes", "labels", "text"),
    [
        (None, LOW_TO_HIGH, r"text does not say the order of its 3 classes: pass classes=\[..\]"),
        (["low", "high"], LOW_TO_HIGH, rf"{UNKNOWN}\['mid'\]"),
        ([0, 1, 2], LOW_TO_HIGH, rf"{UNKNOWN}\['high', 'low', 'mid'\]"),
        (LOW_TO_HIGH, np.arange(3), rf"{UNKNOWN}\[0, 1, 2\]"),  # scikit-learn has numbered them
        *((no, LOW_TO_HIGH, NO_LIST) for no in (["low", "low", "mid", "high"], "low", 3)),
    ],
)
def test_text_without_an_order_is_refused(classes, labels, text):
    X, codes, U, _ = ordinal_problem(30, 20, 3)
    for y in (labels[codes], pd.Series(labels[codes], dtype="category")):
        with pytest.raises(DataError, match=text):
            SVOREX(classes=classes).fit(X, y, U)


PARAMETERS = [(name, key, p) for name in SOLVERS for key, p in SOLVERS[name].parameters.items()]


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, key, p in PARAMETERS if p.one_per])
def test_a_value_is_one_number_or_one_for_each_cut(name, key):
    X, codes, U, _ = ordinal_problem()
    solver, two = SOLVERS[name].load(), {key: (0.1, 0.2)}
    text = f"^{key} must be one number, or one for each of the 3 cuts between the 4 classes, got 2"
    with pytest.raises(DataError, match=text):
        solver(**two).fit(X, codes, U)
    with pytest.raises(DataError, match=text):
        solver().fit_points([two], folds=folds_of(40, 2), X=X, y=codes, X_unlabeled=U)


def test_scores_of_what_cannot_be_ranked_are_refused():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal().fit(X, codes, U)
    with pytest.raises(DataError, match="at least two classes"):
        model.score(X, np.full(40, 2))
    with pytest.raises(DataError, match="no sample_weight"):
        model.score(X, codes, np.ones(40))

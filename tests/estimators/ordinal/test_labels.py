"""The order of the classes, and what scikit-learn's meta-estimators make of ordinal estimators."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier

from dsgkit import SVOREX, SVORIM, KernelRidgeOrdinal
from dsgkit.errors import DataError
from tests.estimators.ordinal.problems import ordinal_problem
from tests.estimators.small import made, of_task

CALIBRATED = [
    lambda model, method=method: CalibratedClassifierCV(model, method=method, cv=2)
    for method in ("sigmoid", "isotonic", "temperature")
]
META = [
    *CALIBRATED,
    OneVsOneClassifier,
    lambda model: StackingClassifier([("model", model)], cv=2),
    lambda model: VotingClassifier([("model", model)]),
]


def accuracy(model, X, y):
    return np.mean(model.fit(X, y).predict(X) == y)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", of_task("ordinal"))
def test_meta_estimators_agree_with_predict(name, n_classes):
    X, y, U, _ = ordinal_problem(60, 60, n_classes)
    X, U, model = X[:, :2], U[:, :2], made(name)
    own = accuracy(model, X, y)
    values, predicted = model.decision_function(U), model.predict(U)
    assert values.shape == ((60,) if n_classes == 2 else (60, n_classes))
    assert np.isfinite(values).all()
    chosen = values > 0 if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(chosen, predicted)
    inside = np.where(predicted == 1, 1, -1) * (values if n_classes == 2 else values[:, 1])
    assert (inside >= 0).all()  # the sign tells, too
    for meta in META if name == "svorim" else CALIBRATED[:1]:
        assert accuracy(meta(model), X, y) > own - 0.1
    mpl.use("agg")
    drawn = DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=9)
    grid = model.predict(np.column_stack([drawn.xx0.ravel(), drawn.xx1.ravel()]))
    shown = drawn.response > 0 if n_classes == 2 else drawn.response.argmax(axis=2)
    np.testing.assert_array_equal(shown.ravel(), grid)
    mpl.pyplot.close("all")


def test_probabilities_are_those_of_a_calibration_alone():
    X, y, _, _ = ordinal_problem(60, 10, 3)
    text = "SVOREX has no predict_proba: sklearn.calibration.CalibratedClassifierCV adds"
    with pytest.raises(AttributeError, match=text):
        SVOREX().predict_proba(X)
    with pytest.raises(AttributeError, match=text):
        VotingClassifier([("model", SVOREX())], voting="soft").fit(X, y).predict_proba(X)
    with pytest.raises(AttributeError, match=r"SVOREX has none of .* predict_proba"):
        cross_val_score(SVOREX(), X, y, scoring="roc_auc_ovr", error_score="raise")
    assert cross_val_score(CALIBRATED[0](SVORIM()), X, y, scoring="roc_auc_ovr").mean() > 0.7


LOW_TO_HIGH = ["low", "mid", "high"]


def categorical(y, order):
    return pd.Series(pd.Categorical(y, order, ordered=True))


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (LOW_TO_HIGH, list),
        (("2", "10", "1e3"), np.array),
        (np.array([2, 7, 5]), np.array),
    ],
)
def test_classes_are_in_the_order_that_is_given(classes, kind):
    X, codes, U, codes_u = ordinal_problem(60, 40, 3)
    plain = KernelRidgeOrdinal().fit(X, codes, U)
    y, y_u = kind(np.array(classes)[codes]), np.array(classes)[codes_u]
    for given in ({"classes": classes}, {}):
        model = KernelRidgeOrdinal(unlabeled_label="?", **given)
        model.fit(X, y if given else categorical(y, [*classes, classes[0] * 3]), U)
        assert model.ordered_classes_.tolist() == list(classes)
        assert model.classes_.tolist() == sorted(classes)
        np.testing.assert_array_equal(model.score_samples(U), plain.score_samples(U))
        np.testing.assert_array_equal(model.predict(U), np.array(classes)[plain.predict(U)])
        columns = [list(model.classes_).index(label) for label in classes]
        np.testing.assert_array_equal(
            model.decision_function(U)[:, columns], plain.decision_function(U)
        )
        assert model.score(U, y_u) == plain.score(U, codes_u)
    folds = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    got = KernelRidgeOrdinal(classes=classes).fit_points([{}], folds=folds, X=X, y=y)
    expected = KernelRidgeOrdinal().fit_points([{}], folds=folds, X=X, y=codes)
    np.testing.assert_array_equal(got, expected)
    calibrated = CALIBRATED[0](KernelRidgeOrdinal(classes=classes)).fit(X, y).predict(U)
    expected = CALIBRATED[0](KernelRidgeOrdinal()).fit(X, codes).predict(U)
    np.testing.assert_array_equal(calibrated, np.array(classes)[expected])


def test_the_order_of_two_classes_is_that_of_text_or_is_given():
    X, codes, U, _ = ordinal_problem(40, 30, 2)
    y = np.array(["yes", "no"])[codes]
    plain, turned = SVOREX().fit(X, y), SVOREX(classes=["yes", "no"]).fit(X, y)
    np.testing.assert_array_equal(plain.predict(U), turned.predict(U))
    np.testing.assert_allclose(plain.decision_function(U), turned.decision_function(U), atol=2e-3)
    np.testing.assert_allclose(plain.score_samples(U), -turned.score_samples(U), atol=2e-3)


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        (None, r"text does not say the order of its 3 classes: pass classes=\[..\]"),
        (["low", "high"], r"classes must hold all labels of y, but not \['mid'\]"),
        ([0, 1, 2], r"classes must hold all labels of y, but not \['high', 'low', 'mid'\]"),
        (["low", "low", "mid", "high"], "classes must be a list of different labels, got "),
        ("low", "classes must be a list of different labels, got 'low'"),
        (3, "classes must be a list of different labels, got 3"),
    ],
)
def test_text_without_an_order_is_refused(classes, text):
    X, codes, U, _ = ordinal_problem(30, 20, 3)
    y = np.array(LOW_TO_HIGH)[codes]
    for labels in (y, pd.Series(y, dtype="category")):
        with pytest.raises(DataError, match=text):
            SVOREX(classes=classes).fit(X, labels, U)


def test_labels_that_scikit_learn_has_numbered_are_refused():
    X, codes, _, _ = ordinal_problem(30, 20, 3)
    y = np.array(LOW_TO_HIGH)[codes]
    with pytest.raises(DataError, match=r"classes must hold all labels of y, but not \[0, 1, 2\]"):
        cross_val_predict(SVOREX(classes=LOW_TO_HIGH), X, y, method="decision_function")

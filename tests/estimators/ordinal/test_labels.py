"""Labels and their order, values per cut, scores, and scikit-learn's meta-estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier

from dsgkit import SVOREX, SVORIM, KernelRidgeOrdinal
from dsgkit.bases import OrdinalEstimator
from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import folds_of
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
    predicted, values = model.predict(U), model.decision_function(U)
    np.testing.assert_array_equal(chosen(model, U), predicted)
    inside = np.where(predicted == 1, 1, -1) * (values if n_classes == 2 else values[:, 1])
    assert (inside >= 0).all()  # the sign tells, too
    accuracy = np.mean(model.predict(X) == y)
    for meta in META if name == "svorim" else CALIBRATED[:1]:
        assert np.mean(meta(made(name)).fit(X, y).predict(X) == y) > accuracy - 0.1


def test_probabilities_are_those_of_a_calibration_alone():
    X, y, _, _ = ordinal_problem(60, 10, 3)
    voting = VotingClassifier([("model", SVOREX())], voting="soft").fit(X, y)
    text = "SVOREX has no predict_proba: sklearn.calibration.CalibratedClassifierCV adds"
    for model in (SVOREX(), voting):
        with pytest.raises(AttributeError, match=text):
            model.predict_proba(X)
    with pytest.raises(AttributeError, match=r"SVOREX has none of .* predict_proba"):
        cross_val_score(SVOREX(), X, y, scoring="roc_auc_ovr", error_score="raise")
    assert cross_val_score(CALIBRATED[0](SVORIM()), X, y, scoring="roc_auc_ovr").mean() > 0.7


LABELS = [
    # from the lowest, the mark of unlabelled rows, and the kind; ordered as scikit-learn does
    *(((-7, -3, 0, 2), -9, np.array), ((1.0, 2.0, 4.0, 8.0), -9, list), ((False, True), -9, list)),
    (("a", "b"), "?", np.array),
    # and not
    *((("low", "mid", "high"), "?", list), (("2", "10", "1e3"), "?", np.array)),
    *(((2, 7, 5), -9, np.array), (("yes", "no"), "?", np.array)),
]


@pytest.mark.parametrize(("labels", "mark", "kind"), LABELS)
def test_labels_of_any_kind_are_taken_in_their_order(labels, mark, kind):
    """In that of numbers or text, of ``classes``, or of a pandas Categorical."""
    n, folds = len(labels), folds_of(60, 2)
    X, codes, U, codes_u = ordinal_problem(60, 60, n)
    y, named_u = kind(np.array(labels)[codes]), np.array(labels)[codes_u]
    ordered = pd.Series(pd.Categorical(y, [*labels, labels[-1] * 9], ordered=True))
    by_itself = y if sorted(labels) == list(labels) else ordered
    plain = KernelRidgeOrdinal().fit(X, codes, U)
    for classes, given in ((labels, y), (None, by_itself)):
        solver = KernelRidgeOrdinal(unlabeled_label=mark, classes=classes)
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
    calibrated = CALIBRATED[0](KernelRidgeOrdinal(classes=labels)).fit(X, y).predict(U)
    expected = CALIBRATED[0](KernelRidgeOrdinal()).fit(X, codes).predict(U)
    np.testing.assert_array_equal(calibrated, np.array(labels)[expected])
    hidden = pd.Series([*y, *[mark] * len(U)])
    together = KernelRidgeOrdinal(unlabeled_label=mark, classes=labels)
    together.fit(np.vstack([X, U]), hidden.astype(float) if mark == -9 else hidden)
    np.testing.assert_array_equal(together.score_samples(U), plain.score_samples(U))


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


class PerCut(OrdinalEstimator):
    """A function per cut that is the first input, for the last cut upside down."""

    per_cut = True

    def __init__(self, thresholds="absolute", unlabeled_label=-1):
        self.thresholds = thresholds
        self.unlabeled_label = unlabeled_label

    def _fit(self, X, codes, X_unlabeled):
        self.origin_ = 1000 * np.sin(1e4 * X.sum())  # that differs from fold to fold

    def _values(self, X):
        return (X[:, [0]] + self.origin_) * [1.0, 2.0, -3.0]


def test_each_function_of_a_cut_has_a_threshold_of_its_own():
    X, codes = np.random.default_rng(0).random((80, 2)), np.arange(80) % 4
    X[:, 0] += codes
    model = PerCut().fit(X, codes)
    values = model.score_samples(X)
    assert values.shape == (80, 3)
    # no threshold is better than none for the last one
    assert np.isinf(model.thresholds_[2]) and np.isfinite(model.thresholds_[:2]).all()
    np.testing.assert_array_equal(model.predict(X), (values > model.thresholds_).sum(axis=1))
    np.testing.assert_array_equal(model.predict(X), np.minimum(codes, 2))
    np.testing.assert_array_equal(chosen(model, X), model.predict(X))
    assert model.score(X, codes) == pytest.approx((1 + 1 + 0) / 3)


ONE_PER_CUT = [
    (name, key)
    for name, info in SOLVERS.items()
    for key, parameter in info.parameters.items()
    if parameter.one_per
]


@pytest.mark.parametrize(("name", "key"), ONE_PER_CUT)
def test_a_value_is_one_number_or_one_for_each_cut(name, key):
    X, codes, U, _ = ordinal_problem()
    solver, number = SOLVERS[name].load(), "must be one number, or one for each of the 3 cuts"
    for values, text in (
        ((0.1, 0.2), f"{number} between the 4 classes, got 2"),
        ((0.1, 0.2, 1.5), "must be a number "),
    ):
        with pytest.raises(DataError, match=f"^{key} {text}"):
            solver(**{key: values}).fit(X, codes, U)
        with pytest.raises(DataError, match=f"^{key} {text}"):
            solver().fit_points([{key: values}], folds=folds_of(40, 2), X=X, y=codes, X_unlabeled=U)


def test_scores_of_what_cannot_be_ranked_are_refused():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal().fit(X, codes, U)
    hidden = np.where(np.arange(40) % 3, codes, -1)
    assert model.score(X, hidden) == model.score(X[hidden >= 0], codes[hidden >= 0])
    for y, weights, text in (
        (np.full(40, 9), None, r"does not know the labels \[9\]"),
        (np.full(40, 2), None, "at least two classes"),
        (codes, np.ones(40), "no sample_weight"),
    ):
        with pytest.raises(DataError, match=text):
            model.score(X, y, weights)

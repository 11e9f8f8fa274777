"""What all ordinal estimators get from their base."""

import numpy as np
import pytest

from dsgkit.bases import OrdinalEstimator
from dsgkit.errors import DataError, FitError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.labeled import KernelRidgeOrdinal
from tests.estimators.brute_force import folds_of
from tests.estimators.ordinal.problems import ordinal_problem


class Shifted(OrdinalEstimator):
    """The first input, at a scale and an origin that differ from one set of rows to the other."""

    def __init__(self, thresholds="logistic", fails=False, unlabeled_label=-1):
        self.thresholds = thresholds
        self.fails = fails
        self.unlabeled_label = unlabeled_label

    def _fit(self, X, codes, X_unlabeled):
        if self.fails:
            raise FitError("as asked for")
        self.offset_ = 1000 * np.sin(1e4 * X.sum())

    def _values(self, X):
        return X[:, 0] + self.offset_


class PerCut(Shifted):
    per_cut = True

    def _values(self, X):
        return super()._values(X)[:, None] * [1.0, 2.0, -3.0]


def staircase(n=80):
    """Rows whose first input tells their class exactly."""
    X = np.random.default_rng(0).random((n, 2))
    X[:, 0] += np.arange(n) % 4
    return X, np.arange(n) % 4


@pytest.mark.parametrize("rule", ["logistic", "absolute", "share"])
def test_folds_with_other_origins_get_sensible_thresholds(rule):
    X, codes = staircase()
    model = Shifted(rule).fit(X[:40], codes[:40], X)
    assert np.mean(model.predict(X) == codes) > 0.9


def test_a_fit_is_its_function_and_then_its_thresholds():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal().fit(X, codes, U)
    steps = KernelRidgeOrdinal().fit_function(X, codes, U)
    assert not hasattr(steps, "thresholds_")
    np.testing.assert_array_equal(steps.score_samples(U), model.score_samples(U))
    np.testing.assert_array_equal(steps.fit_thresholds(X, codes, U).predict(U), model.predict(U))
    np.testing.assert_array_equal(model.classify(model.score_samples(U)), model.predict(U))
    with pytest.raises(DataError, match="classes that the function was fitted on"):
        model.fit_thresholds(X, np.minimum(codes, 1))


def test_each_function_of_a_cut_has_a_threshold_of_its_own():
    X, codes = staircase()
    model = PerCut("absolute").fit(X, codes)
    values = model.score_samples(X)
    assert values.shape == (80, 3)
    # the last function is upside down: no threshold is better than none
    assert np.isinf(model.thresholds_[2]) and np.isfinite(model.thresholds_[:2]).all()
    expected = (values > model.thresholds_).sum(axis=1)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.score(X, codes) == pytest.approx((1 + 1 + 0) / 3)


@pytest.mark.parametrize(
    "labels", [(-7, -3, 0, 2), ("a", "b"), (1.0, 2.0, 4.0, 8.0), (False, True)]
)
def test_labels_of_any_kind_are_taken_in_their_order(labels):
    X, codes, U, codes_u = ordinal_problem(n_classes=len(labels))
    named, named_u = np.array(labels)[codes], np.array(labels)[codes_u]
    mark = "?" if isinstance(labels[0], str) else -9
    plain = KernelRidgeOrdinal().fit(X, codes, U)
    model = KernelRidgeOrdinal(unlabeled_label=mark).fit(X, named, U)
    assert model.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(model.predict(U), np.array(labels)[plain.predict(U)])
    assert model.score(U, named_u) == plain.score(U, codes_u) > 0.8
    kind = named.dtype if mark == "?" else float
    hidden = np.append(named.astype(kind), np.full(len(U), mark, kind))
    together = KernelRidgeOrdinal(unlabeled_label=mark).fit(np.vstack([X, U]), hidden)
    np.testing.assert_array_equal(together.score_samples(U), plain.score_samples(U))


def test_a_single_row_of_a_class_leaves_the_values_of_training():
    X, codes, _, _ = ordinal_problem(n_classes=2)
    rows = np.r_[np.flatnonzero(codes == 1)[:1], np.flatnonzero(codes == 0)[:5]]
    model = KernelRidgeOrdinal().fit(X[rows], codes[rows])
    assert np.isfinite(model.thresholds_).all()


ONE_PER_CUT = [
    (name, key)
    for name, info in SOLVERS.items()
    for key, parameter in info.parameters.items()
    if parameter.one_per
]


@pytest.mark.parametrize(("name", "key"), ONE_PER_CUT)
@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            (0.1, 0.2),
            " must be one number, or one for each of the 3 cuts between the 4 classes, got 2",
        ),
        ((0.1, 0.2, 1.5), " must be a number "),
    ],
)
def test_a_value_is_one_number_or_one_for_each_cut(name, key, values, text):
    X, codes, U, _ = ordinal_problem()
    solver = SOLVERS[name].load()
    with pytest.raises(DataError, match=f"^{key}{text}"):
        solver(**{key: values}).fit(X, codes, U)
    with pytest.raises(DataError, match=f"^{key}{text}"):
        solver().fit_points([{key: values}], folds=folds_of(40, 2), X=X, y=codes, X_unlabeled=U)


def test_scores_of_what_cannot_be_ranked_are_refused():
    X, codes, U, _ = ordinal_problem()
    model = KernelRidgeOrdinal().fit(X, codes, U)
    hidden = np.where(np.arange(40) % 3, codes, -1)
    assert model.score(X, hidden) == model.score(X[hidden >= 0], codes[hidden >= 0])
    with pytest.raises(DataError, match=r"does not know the labels \[9\]"):
        model.score(X, np.full(40, 9))
    with pytest.raises(DataError, match="at least two classes"):
        model.score(X, np.full(40, 2))
    with pytest.raises(DataError, match="no sample_weight"):
        model.score(X, codes, np.ones(40))

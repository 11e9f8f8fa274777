"""Searches and thresholds have the values of refits without each fold, which may hold a class."""

import numpy as np
import pytest
from sklearn.base import clone

import dsgkit
from dsgkit.bases import OrdinalEstimator
from dsgkit.engine.problem import Data, Problem
from dsgkit.errors import DataError, FitError
from dsgkit.estimators import thresholds as rules
from dsgkit.estimators.parameters import Lam
from dsgkit.linalg import training_rows
from dsgkit.risks.pairwise import above_cuts
from dsgkit.seeds import stratified_folds
from dsgkit.tasks.metrics import cut_aucs
from tests.estimators.brute_force import folds_of
from tests.estimators.ordinal.problems import ordinal_problem

X, CODES, U, CODES_U = ordinal_problem()
SOME_CLASSES = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES)[::2], np.flatnonzero(CODES)[1::2]]
PER_CUT = {"gamma": (0.2, 1.0, 0.0)}
RISKS = [{"lam": 0.1}, {"lam": 0.01, **PER_CUT}, {"sigma": 4.0, "gamma": 1.0}]
WEIGHTS = [{"C": 10.0}, {"C": 0.1}, {"C": 1.0, "kernel": "linear"}]
LAMS = [{"lam": 1e-3}, {"lam": 1.0, "sigma": 4.0}, {"lam": 0.05, "kernel": "laplacian"}]
STREAMED = {"sigma": 0.3, "batch_size": 8, "n_features": 4, "n_iterations": 20, "t0": 9.0}
STEPS = [{"gamma": 1.0}, {**PER_CUT, "theta_lam": 2.0}, {"lam": 2.0, "t0": 1.0, "sigma": 2.0}]
SWEPT = {"sigma": 1.0, "n_features": 8, "n_blocks": 3}
PNU = {"prior": (0.75, 0.5, 0.25), "n_centers": 20, "lam": 0.1}
CASES = [
    ("QS3ORAO", STREAMED, STEPS, 1e-4),
    ("QS3ORAOP", {**SWEPT, "batch_size": 8}, RISKS, 1e-5),
    ("QS3ORAOP", {**SWEPT, "batch_size": 1024}, RISKS, 1e-5),
    ("ExactS2OR", {}, RISKS, 1e-6),
    ("RFFS2OR", {"n_features": 30}, RISKS, 1e-6),
    ("MSAMULT", {}, RISKS, 1e-6),
    ("MPNUAUC", PNU, [{}, {"eta": (-0.5, 0.25, 0.5)}, {"lam": 1.0, "sigma": 4.0}], 1e-6),
    ("SVOREX", {"tol": 1e-6}, WEIGHTS, 1e-3),
    ("SVORIM", {"tol": 1e-6}, WEIGHTS, 1e-3),
    ("KernelRidgeOrdinal", {}, LAMS, 1e-6),
    ("AllThresholdLogistic", {}, LAMS, 1e-3),
    ("ConstantMedian", {}, [{}, {}], 1e-9),
]


def refitted(whole, fold, rows_u):
    """Return the function of a fitted model's settings that is trained without a fold."""
    alone, rows = clone(whole), training_rows(fold, 40)
    alone.sigma_ = getattr(whole, "sigma_", 1.0)  # "scale" is that of all rows
    data = Data(X, CODES, X if rows_u is None else rows_u, 4)
    part = data.take(rows, rows if rows_u is None else None)
    return alone.learn(Problem.of([alone], part))


def at(function, rows):
    return function.values(rows).reshape(len(rows), -1)


@pytest.mark.parametrize("given", [U, None], ids=["given", "own"])
@pytest.mark.parametrize("folds", [folds_of(40, 4), SOME_CLASSES], ids=["all", "some"])
@pytest.mark.parametrize(("name", "setting", "points", "tolerance"), CASES)
def test_a_grid_on_folds_has_the_values_of_refits(
    double_precision, same_centers, name, setting, points, tolerance, folds, given
):
    model = getattr(dsgkit, name)(**setting)
    if name == "MPNUAUC" and given is None:  # centres would be those of the fold
        return
    got = model.fit_points(points, folds=folds, X=X, y=CODES, X_unlabeled=given)
    assert np.isfinite(got).all() and len(got) == len(points)
    for values, point in zip(got, points, strict=True):
        whole = clone(model).set_params(**point).fit_function(X, CODES, given)
        for fold in folds:
            expected = at(refitted(whole, fold, given), X[fold])
            size = max(1, abs(expected).max())
            own = values[fold].reshape(len(fold), -1)
            np.testing.assert_allclose(own, expected, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize(("name", "setting", "tolerance"), [(*c[:2], c[3]) for c in CASES[:-1]])
def test_thresholds_are_those_of_held_out_values_with_a_common_origin(
    double_precision, same_centers, name, setting, tolerance
):
    """Or those of values at the labelled rows, or at the unlabelled ones, as the rule says."""
    model = getattr(dsgkit, name)(**setting).fit_function(X, CODES, U)
    assert not hasattr(model, "thresholds_")
    values = {"hinge": at(model.function_, X), "share": at(model.function_, U)}
    origin, held = values["share"].mean(axis=0), np.empty_like(values["hinge"])
    for fold in stratified_folds(CODES, 5, 0):
        function = refitted(model, fold, U)
        held[fold] = at(function, X[fold]) - at(function, U).mean(axis=0) + origin
    above, per_cut = above_cuts(CODES, 4), held.shape[1] == 3
    for rule in ("logistic", "absolute", "hinge", "share"):
        place = getattr(rules, rule)
        cuts = 1 - above.mean(axis=0) if rule == "share" else above
        cuts = [cuts[..., [j]] for j in range(3)] if per_cut else [cuts]
        pairs = zip(values.get(rule, held).T, cuts, strict=True)
        expected = np.concatenate([place(f, cut) for f, cut in pairs])
        model.set_params(thresholds=rule).fit_thresholds(X, CODES, U)
        np.testing.assert_allclose(model.thresholds_, expected, atol=10 * tolerance)
    whole = clone(model).fit(X, CODES, U)
    np.testing.assert_array_equal(whole.thresholds_, model.thresholds_)
    classes = (values["share"] > model.thresholds_).sum(axis=1)
    np.testing.assert_array_equal(whole.predict(U), classes)
    assert whole.score(U, CODES_U) == np.mean(cut_aucs(CODES_U, values["share"], 4))
    if hasattr(model, "own_thresholds_"):  # which training on folds leaves as they are
        own = clone(model).set_params(thresholds="own").fit(X, CODES)
        np.testing.assert_array_equal(own.thresholds_, model.own_thresholds_)
        assert getattr(own, "n_iter_", 0) == getattr(model, "n_iter_", 0)


class OnePerCut(OrdinalEstimator):
    """A class of one's own with a function for each cut, and none for large parameters."""

    per_cut = True
    lam: Lam = 0.5  # in which the models of one training may differ
    width: float = 0.5

    def _fit(self, X, codes, X_unlabeled):
        if max(self.lam, self.width) > 1:
            raise FitError("too large")
        self.slope = np.arange(9.0).reshape(3, 3)

    def _values(self, X):
        return X @ self.slope


def test_settings_without_a_solution_are_nan_for_every_cut():
    training, points = {"X": X, "y": CODES, "X_unlabeled": U}, [{}, {"lam": 9.0}, {"width": 9.0}]
    values = OnePerCut().fit_points(points, **training).decision_function(X)
    on_folds = OnePerCut().fit_points(points, folds=folds_of(40, 4), **training)
    for got in (values.reshape(40, 3, 3).swapaxes(0, 1), on_folds):
        np.testing.assert_allclose(got[0], X @ np.arange(9.0).reshape(3, 3))
        assert np.isnan(got[1:]).all()


def test_a_single_row_of_a_class_leaves_the_values_of_training():
    rows = np.r_[np.flatnonzero(CODES == 1)[:1], np.flatnonzero(CODES == 0)[:5]]
    model = dsgkit.KernelRidgeOrdinal().fit(X[rows], CODES[rows])
    expected = rules.logistic(model.score_samples(X[rows]), CODES[rows, None] > 0)
    np.testing.assert_array_equal(model.thresholds_, expected)
    with pytest.raises(DataError, match="classes that the function was fitted on"):
        model.fit_thresholds(X, CODES)

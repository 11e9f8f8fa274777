"""Scikit-learn's checks of estimators, and its model selection: unlabelled rows are not scored."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import check_scoring, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dsgkit.clustering.fuzzy import FuzzyCMeans
from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.metrics import labeled_scorer
from tests.estimators.brute_force import problem
from tests.estimators.given import SEMI_SUPERVISED
from tests.estimators.ordinal.problems import ordinal_problem
from tests.estimators.small import made, of_task

QUICK = {"n_features": 16, "n_blocks": 4, "n_iterations": 20, "batch_size": 8, "n_passes": 1}
QUICK |= {"n_sweeps": 1, "prior": 0.5}

EXPECTED = {
    "check_classifiers_classes": "of labels -1 and 1, those of -1 are unlabelled rows: one class is"
    " left, which is refused rather than guessed at",
    "check_methods_subset_invariance": "it wants 1e-7: values are sums in float32, whose last bits"
    " depend on the rows of a tile on some processors; the test wants 1e-5",
}
RANKS = "a ranking has no threshold at 0: predict takes those that the labelled rows give"
OF_RANKINGS = {
    f"check_classifiers_train{of}": RANKS
    for of in ("", "(readonly_memmap=True)", "(readonly_memmap=True,X_dtype=float32)")
}


def quick(solver):
    """Return an estimator that trains in next to no time."""
    known = inspect.signature(solver).parameters
    return solver(**{name: value for name, value in QUICK.items() if name in known})


@pytest.mark.slow
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_scikit_learn_accepts(name):
    model = quick(SOLVERS[name].load())
    expected = EXPECTED | (OF_RANKINGS if "semi_supervised_auc" in model.tasks else {})
    check_estimator(model, expected_failed_checks=expected, on_skip=None)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
    model.fit(X, y, X_unlabeled=rng.standard_normal((30, 3)))
    alone = [model.decision_function(X[[row]])[0] for row in range(len(X))]
    np.testing.assert_allclose(model.decision_function(X), alone, rtol=1e-5, atol=1e-5)


OTHERS = (*of_task("clustering"), "supervised_sl", "majority_class")


@pytest.mark.filterwarnings("ignore:.* rows at the default gamma:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("solver", [FuzzyCMeans, *(SOLVERS[name].load() for name in OTHERS)])
def test_scikit_learn_accepts_without_exception(solver):
    check_estimator(solver(), on_skip=None)


FOLDS = StratifiedKFold(3)
BY_DECISION = make_scorer(roc_auc_score, response_method="decision_function")
CASES = [("qsg_s2auc", "roc_auc", -1), ("tsgs3vm", BY_DECISION, 7), ("tsgs3vm", None, "?")]
CASES += [("qs3orao", "neg_mean_absolute_error", -1)]


@pytest.mark.parametrize("is_piped", [False, True])
@pytest.mark.parametrize(("name", "scoring", "mark"), CASES)
def test_a_search_scores_the_labelled_rows(name, scoring, mark, is_piped):
    X, y, U, *_ = (ordinal_problem if name == "qs3orao" else problem)(24, 30)
    if name != "qs3orao":
        y = np.array(["no", "yes"] if mark == "?" else [0, 1])[(y > 0).astype(int)]
    rows, labels = np.vstack([X, U]), np.append(y, [mark] * len(U))
    model = made(name, unlabeled_label=mark)
    model = make_pipeline(StandardScaler(), model) if is_piped else model
    search = GridSearchCV(model, {}, scoring=labeled_scorer(scoring), cv=FOLDS, error_score="raise")
    got = search.fit(rows, labels).cv_results_
    for k, (train, test) in enumerate(FOLDS.split(rows, labels)):
        known = test[labels[test] != mark]
        fitted = clone(model).fit(rows[train], labels[train])
        score = check_scoring(fitted, scoring)
        expected = score(fitted, rows[known], labels[known].astype(y.dtype))
        assert got[f"split{k}_test_score"][0] == pytest.approx(expected)
    assert search.score(X, y) == search.score(rows, labels)


def test_several_scorers_and_weights():
    X, y, U = problem(24, 30)
    rows, labels = np.vstack([X, U]), np.append((y > 0).astype(int), [-1] * len(U))
    model, weights = made("tsgs3vm").fit(rows, labels), np.random.default_rng(0).random(54)
    both = labeled_scorer(["roc_auc", "accuracy"])(model, rows, labels)
    auc = roc_auc_score(y, model.decision_function(X))
    assert both == {"roc_auc": auc, "accuracy": model.score(X, labels[:24])}
    weighted = labeled_scorer("accuracy")(model, rows, labels, sample_weight=weights)
    assert weighted == pytest.approx(model.score(X, labels[:24], weights[:24]))
    one = cross_val_score(made("supervised_svm"), X, y, scoring=labeled_scorer("roc_auc"), cv=FOLDS)
    assert np.isfinite(one).all()  # -1 is a class where no label marks unlabelled rows
    with pytest.raises(DataError, match="there is no labelled row to score"):
        labeled_scorer("roc_auc")(model, U, labels[24:])
    with pytest.raises(DataError, match=r"unknown scorer 'roc_acu' \(did you mean 'roc_auc'\?\)"):
        labeled_scorer("roc_acu")

"""Solvers that do not return what they are asked for: their cells fail, and say what is wrong."""

import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.tasks.auc import SemiSupervisedAUC
from tests.conftest import change_toy

pytestmark = pytest.mark.usefixtures("in_process")

MODULE = """
import numpy as np
from dsgkit.numerics.costs import Cost
from typing import Annotated
from dsgkit.solvers.base import Estimator, PointModels
from dsgkit.solvers.parameters import PER_MODEL, POSITIVE

class Broken(Estimator):
    lam: Annotated[float, POSITIVE, PER_MODEL]
    tasks = ("semi_supervised_auc", "semi_supervised_svm", "ordinal")
    version = 1
    classes_ = np.array([1, 2, 3])
    def __init__(self, lam=1.0): self.lam = lam
    def decision_function(self, X): return np.asarray(X)[:, 0]
    def predict(self, X): return np.ones(len(X), int)

class Silent(Broken):
    def fit(self, X, y, X_unlabeled): pass

class Other(Broken):
    def fit(self, X, y, X_unlabeled): return 5

class Wide(Broken):
    def fit(self, X, y, X_unlabeled): return self
    def fit_points(self, points, folds=None, **training):
        if folds is not None:
            return np.zeros((len(points), len(training["y"]) + 1))
        return PointModels([self.fit(**training)] * (len(points) + 1))

class Single(Broken):
    def fit(self, X, y, X_unlabeled): return self
    def fit_points(self, points, folds=None, **training):
        if folds is not None:
            return super().fit_points(points, folds=folds, **training)
        return PointModels([self.fit(**training)])

class Undefined(Broken):
    def fit(self, X, y, X_unlabeled): return self
    def decision_function(self, X): return np.full(len(X), np.nan)

class Pairs(Estimator):
    lam: Annotated[float, POSITIVE, PER_MODEL]
    tasks, version = ("similar_unlabeled",), 1
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X_similar, X_unlabeled): return self
    def decision_function(self, X): return np.asarray(X)[:, 0]
    def fit_points(self, points, folds, X_similar, X_unlabeled):
        return np.zeros((2, len(X_similar))), np.zeros((2, len(X_unlabeled)))

class Clusters(__import__("sklearn.cluster").cluster.AgglomerativeClustering):
    def fit(self, X): super().fit(X)
"""

LABELED = {"labeled": 30, "folds": 3}
PROTOCOLS = {
    "semi_supervised_auc": LABELED,
    "semi_supervised_svm": LABELED,
    "ordinal": LABELED,
    "similar_unlabeled": {"pairs": 30, "folds": 3, "prior": 0.7},
    "clustering": {"scale": "raw"},
}
TARGETS = {"ordinal": {"ordered": True}, "clustering": {"classes": True}}


@pytest.fixture
def messages(toy, own_modules):
    """A function that runs a broken class, searched or not: the messages of its cells."""

    def run(solver, kind, grid, module=MODULE, **protocol):
        own_modules("broken", module)
        config = {
            "dataset": {
                "path": "toy.csv",
                "loader": "delimited",
                "target": TARGETS.get(kind, {"positive": [1]}),
            },
            "protocol": {"kind": kind, "trials": 1, **PROTOCOLS[kind], **protocol},
            "solvers": {"mine": {"kind": f"broken:{solver}", "grid": grid}},
            "outputs": [],
        }
        path = toy.parent / "broken.yaml"
        path.write_text(yaml.safe_dump(config))
        outcome = run_experiment(load_experiment(path), toy.parent / "results", Options(once=True))
        assert outcome.failures == outcome.ended != []
        return {record["message"] for record in outcome.failures}

    return run


SEARCHED = {"lam": [1.0, 2.0]}
RETURNS = "must return self, and returns"


@pytest.mark.parametrize("kind", ["semi_supervised_auc", "ordinal"])
def test_values_that_are_nan_are_named_with_their_place(messages, kind):
    (told,) = messages("Undefined", kind, SEARCHED)
    assert "Undefined.decision_function returned NaN (broken.py:" in told


@pytest.mark.parametrize("searched", [True, False])
@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        ("semi_supervised_auc", {}),
        ("semi_supervised_svm", {"select": "hidden_labels"}),
        ("semi_supervised_svm", {"select": "labeled_rows"}),
        ("ordinal", {}),
        ("clustering", {}),
    ],
)
def test_a_fit_that_does_not_return_its_solver(messages, kind, protocol, searched):
    solver, value = ("Silent", "NoneType") if searched else ("Other", "int")
    grid = SEARCHED if searched else {}
    if kind == "clustering":
        solver, value, grid = "Clusters", "NoneType", {"n_clusters": [2, 3]} if searched else {}
    told = messages(solver, kind, grid, **protocol)
    assert all(f"{solver}.fit {RETURNS} {value}" in message for message in told), told


OWN = """
from dsgkit.bases import Estimator, OrdinalEstimator

class Columns(Estimator):
    tasks, version = ("semi_supervised_auc",), 1
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y, X_unlabeled): return self
    def decision_function(self, X):
        return X[:3, 0]

class Unsolved(OrdinalEstimator):
    version = 1
    def __init__(self, lam=1.0): self.lam = lam
    def _fit(self, X, codes, X_unlabeled):
        self.weights_ = X[0]
    def _values(self, X): return X[:] @ self.weights_
"""


@pytest.mark.parametrize("grid", [SEARCHED, {}])
def test_a_wrong_shape_is_told_with_its_place(messages, grid):
    told = messages("Columns", "semi_supervised_auc", grid, module=OWN)
    rows = {"10"} if grid else {"120"}
    expected = [f"decision_function returned shape (3,) for {n} rows (broken.py:8)" for n in rows]
    assert all(message.removeprefix("while searching: ") in expected for message in told), told


def test_a_hook_that_sets_another_attribute_is_told_what_to_do(messages):
    (told,) = messages("Unsolved", "ordinal", {}, module=OWN)
    assert told == (
        "SolverError: Unsolved._fit must set coef_, or Unsolved._solution must name the attribute "
        "that it sets (broken.py:14)"
    )


OF_MODELS = "decision_function of fit_points must return values of shape"


AUC, SVM = "semi_supervised_auc", "semi_supervised_svm"
BY_LABELS = {"select": "labeled_rows"}


@pytest.mark.parametrize(
    ("solver", "kind", "protocol", "told"),
    [
        ("Wide", AUC, {}, "fit_points must return values of shape (2, 30), got (2, 31)"),
        ("Wide", "ordinal", {}, "of shape (2, 30) or (2, 30, 1), got (2, 31)"),
        ("Wide", SVM, {}, f"{OF_MODELS} (40, 2), got (40, 3)"),
        ("Wide", SVM, BY_LABELS, f"{OF_MODELS} (10, 2), got (10, 3)"),
        ("Single", AUC, {}, f"{OF_MODELS} (10, 2), got (10, 1)"),
        ("Single", SVM, {}, f"{OF_MODELS} (40, 2), got (40, 1)"),
        ("Single", SVM, BY_LABELS, f"{OF_MODELS} (10, 2), got (10, 1)"),
        ("Pairs", "similar_unlabeled", {}, "for pairs, must return values of shape (2, 26, 2), "),
    ],
)
def test_values_of_another_shape_than_points_and_rows(messages, solver, kind, protocol, told):
    found = messages(solver, kind, SEARCHED, **protocol)
    assert all(told in message for message in found), found


def test_a_judgement_without_a_single_value_is_a_failure(toy, monkeypatch):
    """Such as of unlabelled rows of which a task of one's own has made one class."""
    change_toy(toy, protocol={"trials": 1}, solvers={"samult": {"params": {"sigma": 1.0}}})
    none = {"auc": None, "average_precision": None}
    monkeypatch.setattr(SemiSupervisedAUC, "score", lambda *_: none)
    outcome = run_experiment(load_experiment(toy), toy.parent / "results", Options(once=True))
    assert [record["message"].partition(":")[0] for record in outcome.failures] == [
        "no measure has a value"
    ] * 2

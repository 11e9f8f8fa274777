"""Solver classes of one's own in a config: their place in errors, their values, their labels."""

from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment, load_stored
from dsgkit.errors import ConfigError
from tests.test_wrong_inputs import cases

OWN = """
from dsgkit.solvers.base import PairwiseAUCEstimator

class Mine(PairwiseAUCEstimator):
    def __init__(self, lam=0.5, gamma=10, t0="fast", prior=True):
        self.lam, self.gamma, self.t0, self.prior = lam, gamma, t0, prior

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:, 0]

class Nothing(Mine):
    def __init__(self): pass
"""
CHECKED = """
from dsgkit.bases import Estimator
class Silent(Estimator):
    tasks = "ordinal"
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
class Labels(Estimator):
    tasks = "semi_supervised_auc"
    def fit(self, X, labels, X_unlabeled): return self
    def decision_function(self, X): return X[:, 0]
class Blind(Labels):
    def fit(self, X, y): return self
    def decision_function(self): return 0
"""
MINE = "mine: {kind: 'my:Mine'}"
SVC = "svc: {kind: 'sklearn.svm:SVC'}"
SVMS = ("all_labels_svm: {}", "tsgs3vm: {}", "supervised_svm: {}")


@pytest.fixture(autouse=True)
def module(own_modules):
    own_modules("my", OWN)
    own_modules("checked", CHECKED)


def config(*solvers, dataset="digits", kind="semi_supervised_auc"):
    own = "".join(f"  {solver}\n" for solver in solvers)
    return f"dataset: {{name: {dataset}}}\nsolvers:\n{own}protocol: {{kind: {kind}}}\n"


@pytest.mark.parametrize(("solver", "answer"), cases("solvers of one's own"))
def test_what_is_wrong_with_a_class_or_its_entry_is_one_line(folder, solver, answer):
    kind = "ordinal" if "Silent" in solver else "semi_supervised_auc"
    with pytest.raises(ConfigError) as error:
        load_experiment(folder(config(f"mine: {{{solver}}}", kind=kind)))
    assert str(error.value) == answer


def test_the_rules_of_the_packages_own_parameters_do_not_count(folder):
    text = config(
        "mine: {kind: 'my.py:Mine', params: {t0: slow, prior: false}, "
        "grid: {lam: [-1, 2^-3, null], gamma: [2^5, 0.5, auto]}}"
    )
    spec = load_experiment(folder(text)).solvers["mine"]
    assert spec.kind == "my:Mine"
    assert spec.params == {"t0": "slow", "prior": False}
    assert (
        repr(spec.search[0].choices) == "{'lam': [-1.0, 0.125, None], 'gamma': [32, 0.5, 'auto']}"
    )


@pytest.mark.parametrize(
    ("other", "labels"),
    [
        (None, ["Mine"]),
        ("b: {kind: 'my:Mine'}", ["Mine (mine)", "Mine (b)"]),
        ("b: {kind: 'my:Mine', label: B}", ["Mine", "B"]),
        ("samult: {label: Mine}", ["Mine (mine)", "Mine"]),
        ("b: {kind: samult}", ["Mine", "SAMULT (b)"]),
    ],
)
def test_labels_are_the_classes_names_as_far_as_they_differ(folder, other, labels):
    experiment = load_experiment(folder(config(MINE, *([other] if other else []))))
    assert [spec.label for spec in experiment.solvers.values()] == labels


def test_stored_configs_are_read_without_the_class(folder, own_modules, tmp_path):
    text = config("mine: {kind: 'my:Mine', params: {lam: 1}, grid: {gamma: [2, 4]}}")
    experiment = load_experiment(folder(text, "first.yaml"))
    folder(experiment.to_yaml())
    assert load_experiment("c.yaml") == experiment
    (tmp_path / "my.py").unlink()
    own_modules("other", "")  # forgets the class
    stored = load_stored(Path("c.yaml"))
    assert stored.model_dump(mode="json") == experiment.model_dump(mode="json")
    with pytest.raises(ConfigError, match="module 'my' is neither"):
        load_experiment("c.yaml")


@pytest.mark.parametrize(
    ("text", "against"),
    [
        (config(MINE, SVC), {"mine": "svc"}),
        (config(MINE, "samult: {}"), {}),
        (config(MINE, "samult: {against: mine}", SVC), {"samult": "mine"}),
        (config("mine: {kind: 'my:Mine', against: null}", SVC), {}),
        # what is given hidden labels is neither a baseline nor compared with one
        (
            config(*SVMS, dataset="codrna", kind="semi_supervised_svm"),
            {"tsgs3vm": "supervised_svm"},
        ),
    ],
)
def test_what_uses_unlabelled_rows_is_compared_with_what_does_not(folder, text, against):
    experiment = load_experiment(folder(text))
    found = {key: solver.against for key, solver in experiment.solvers.items() if solver.against}
    assert found == against
    assert experiment.outputs.count("gain_table") == any(against.values())
    if against:
        few = load_experiment("c.yaml", overrides=["outputs=[gain_table, time_table]"])
        assert few.outputs == ["gain_table", "time_table"]

"""Solver classes of one's own in a config: their place in errors, their values, their labels."""

import pytest

from dsgkit.config import load_experiment
from dsgkit.text.errors import ConfigError

HEAD = "dataset: {name: digits}\nsolvers:\n"
OWN = """
from dsgkit.solvers.base import PairwiseAUCEstimator

class Mine(PairwiseAUCEstimator):
    def __init__(self, lam=0.5, gamma=10, t0="fast", prior=True):
        self.lam, self.gamma, self.t0, self.prior = lam, gamma, t0, prior

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:, 0]
"""


@pytest.fixture(autouse=True)
def module(own_modules):
    own_modules("my", OWN)


def config(*solvers):
    own = "".join(f"  {solver}\n" for solver in solvers)
    return f"{HEAD}{own}protocol: {{kind: semi_supervised_auc}}\n"


@pytest.mark.parametrize(
    ("solver", "expected"),
    [
        (
            "mine: {kind: 'my:Mini'}",
            "kind: my.py has no class or function 'Mini' (did you mean 'Mine'?)",
        ),
        ("mine: {kind: 'my:'}", "kind: 'my:' is not an import path, such as my_module:MySolver"),
        (
            "mine: {kind: 'my:Mine', params: {lan: 1}}",
            "params.lan: my:Mine has no parameter 'lan' (did you mean 'lam'?)",
        ),
        (
            "mine: {kind: 'my:Mine', grid: {x: 1}}",
            "grid.x: my:Mine has no parameter 'x'; known: lam, gamma, t0, prior",
        ),
        ("mine: {kind: 'my:Mine', grid: {lam: [1, .inf]}}", "grid.lam.1: must be finite, got inf"),
        ("mine: {kind: 'my:Mine', params: {t0: [1]}}", "params.t0: must be one value, got [1]"),
        ("mine: {kind: 'my:Mine', grid: {lam: [1, 1.0]}}", "grid.lam: holds a value twice"),
    ],
)
def test_the_one_line_that_is_wrong(message, solver, expected):
    assert message(config(solver)) == f"c.yaml:3: solvers.mine.{expected}"


def test_what_the_users_code_raised_is_the_cause(own_modules, folder):
    own_modules("my", "x = 1 / 0\n")
    with pytest.raises(ConfigError, match=r"\(my.py:1\)") as error:
        load_experiment(folder(config("mine: {kind: 'my:Mine'}")))
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_class_that_takes_nothing(own_modules, message):
    text = OWN.replace('lam=0.5, gamma=10, t0="fast", prior=True', "").replace(
        "self.lam, self.gamma, self.t0, self.prior = lam, gamma, t0, prior", "pass"
    )
    own_modules("my", text)
    assert message(config("mine: {kind: 'my:Mine', params: {lam: 1}}")) == (
        "c.yaml:3: solvers.mine.params.lam: my:Mine has no parameter 'lam'"
    )


def test_the_rules_of_the_packages_own_parameters_do_not_count(folder):
    text = config(
        "mine: {kind: 'my:Mine', params: {t0: slow, prior: false}, "
        "grid: {lam: [-1, 2^-3, null], gamma: [2^5, 0.5, auto]}}"
    )
    spec = load_experiment(folder(text)).solvers["mine"]
    assert spec.params == {"t0": "slow", "prior": False}
    assert spec.grids[0] == {"lam": [-1.0, 0.125, None], "gamma": [32, 0.5, "auto"]}
    assert [type(value) for value in spec.grids[0]["lam"][:2]] == [float, float]
    assert type(spec.grids[0]["gamma"][0]) is int


@pytest.mark.parametrize(
    ("solvers", "labels"),
    [
        (["a: {kind: 'my:Mine'}"], ["Mine"]),
        (["a: {kind: 'my:Mine'}", "b: {kind: 'my:Mine'}"], ["Mine (a)", "Mine (b)"]),
        (["a: {kind: 'my:Mine'}", "b: {kind: 'my:Mine', label: B}"], ["Mine", "B"]),
        (["a: {kind: 'my:Mine'}", "samult: {label: Mine}"], ["Mine (a)", "Mine"]),
        (["a: {kind: 'my:Mine'}", "b: {kind: samult}"], ["Mine", "SAMULT (b)"]),
    ],
)
def test_labels_are_the_classes_names_as_far_as_they_differ(folder, solvers, labels):
    experiment = load_experiment(folder(config(*solvers)))
    assert [spec.label for spec in experiment.solvers.values()] == labels


def test_stored_configs_are_read_without_the_class(folder, own_modules, tmp_path):
    text = config("mine: {kind: 'my:Mine', params: {lam: 1}, grid: {gamma: [2, 4]}}")
    experiment = load_experiment(folder(text, "first.yaml"))
    folder(experiment.to_yaml())
    assert load_experiment("c.yaml") == experiment
    (tmp_path / "my.py").unlink()
    own_modules("other", "")  # forgets the class
    stored = load_experiment("c.yaml", stored=True)
    assert stored.model_dump(mode="json") == experiment.model_dump(mode="json")
    with pytest.raises(ConfigError, match="module 'my' is neither"):
        load_experiment("c.yaml")


WITHOUT_PREDICT = """
class Mine(Estimator):
    tasks = "ordinal"
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
"""
OTHER_ARRAYS = """
class Mine(Estimator):
    tasks = "semi_supervised_auc"
    def fit(self, X, labels, X_unlabeled): return self
    def decision_function(self, X): return X[:, 0]
"""


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            WITHOUT_PREDICT,
            "ordinal",
            "Mine lacks predict, which the task ordinal calls; derive it from a class of "
            "dsgkit.bases (my.py:3)",
        ),
        (
            OTHER_ARRAYS,
            "semi_supervised_auc",
            "Mine.fit requires 'labels', but the task semi_supervised_auc gives X, y, X_unlabeled "
            "and y_unlabeled, by name (my.py:5)",
        ),
        (
            OTHER_ARRAYS.replace("labels", "y").replace("_function(self, X)", "_function(self)"),
            "semi_supervised_auc",
            "Mine.decision_function must take X (my.py:6)",
        ),
    ],
)
def test_a_class_is_checked_for_what_its_task_calls(own_modules, message, text, kind, expected):
    own_modules("my", "from dsgkit.bases import Estimator\n" + text)
    told = message(config("mine: {kind: 'my.py:Mine'}"), kind=kind)
    assert told == f"c.yaml:3: solvers.mine.kind: {expected}"


def test_a_file_names_its_module(folder):
    files, modules = (
        load_experiment(folder(config(f"mine: {{kind: '{kind}'}}")))
        for kind in ("my.py:Mine", "my:Mine")
    )
    assert files == modules
    assert files.solvers["mine"].kind == "my:Mine"


SVC = "svc: {kind: 'sklearn.svm:SVC'}"


@pytest.mark.parametrize(
    ("solvers", "against"),
    [
        (["mine: {kind: 'my:Mine'}", SVC], {"mine": "svc", "svc": None}),
        (["mine: {kind: 'my:Mine'}", "samult: {}"], {"mine": None, "samult": None}),
        (
            ["mine: {kind: 'my:Mine'}", "samult: {against: mine}", SVC],
            {"mine": None, "samult": "mine", "svc": None},
        ),
        (["mine: {kind: 'my:Mine', against: null}", SVC], {"mine": None, "svc": None}),
    ],
)
def test_what_takes_unlabelled_rows_is_compared_with_what_does_not(folder, solvers, against):
    experiment = load_experiment(folder(config(*solvers)))
    assert {key: solver.against for key, solver in experiment.solvers.items()} == against
    assert ("gain_table" in experiment.outputs) == any(against.values())


def test_a_solver_that_does_without_the_rows_that_it_is_given_is_the_baseline(folder):
    """And one that is given hidden labels is neither that nor compared with it."""
    text = (
        "dataset: {name: codrna}\n"
        "solvers: {all_labels_svm: {}, tsgs3vm: {}, supervised_svm: {}}\n"
        "protocol: {kind: semi_supervised_svm}\n"
    )
    solvers = load_experiment(folder(text)).solvers
    against = {key: solver.against for key, solver in solvers.items()}
    assert against == {
        "all_labels_svm": None,
        "tsgs3vm": "supervised_svm",
        "supervised_svm": None,
    }
    text = (
        "dataset: {name: abalone}\nsolvers: {qs3orao: {}, svorex: {}}\nprotocol: {kind: ordinal}\n"
    )
    assert load_experiment(folder(text)).solvers["qs3orao"].against == "svorex"

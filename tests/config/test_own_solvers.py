"""Solver classes of one's own in a config: their place in errors, their values, their labels."""

import pytest

from dsgkit.config import load_experiment
from dsgkit.errors import ConfigError

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
        ("mine: {kind: 'my:Mini'}", "kind: my.py has no class 'Mini' (did you mean 'Mine'?)"),
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

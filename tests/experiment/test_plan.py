"""Plans: what keys depend on, what is left out or cannot be planned, how parameters are chosen.

Which cells there are, and what they cost, is compared with recorded plans in ``test_golden``.
"""

import hashlib
import itertools
from dataclasses import replace
from itertools import product

import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError, FitError
from dsgkit.experiment.folder import read_plan, write_description
from dsgkit.experiment.plan import Cell, TooLarge, best_point, choose, make_plan
from tests.conftest import change_toy
from tests.experiment.misbehaving import Orderly
from tests.experiment.runs import behaving, write_config

TWICE = (
    "solvers.twice={kind: samult, search: [{grid: {lam: [0.25, 1.0], sigma: [0.5, 1.0]}}, "
    "{grid: {gamma: [0.0, 0.5]}}]}"
)


def plan_of(path, *overrides):
    experiment = load_experiment(path, overrides=overrides)
    return make_plan(experiment, load_dataset(experiment.dataset))


def of(plan, solver, kind="fit", trial=0):
    kinds = (solver, kind, trial)
    return [cell for cell in plan.cells if (cell.solver, cell.kind, cell.trial) == kinds]


def keys(plan):
    return {cell.key for cell in plan.cells}


def test_keys_are_what_they_were(toy):
    """Results of earlier releases are found by them: what changes one raises a version."""
    plans = [plan_of(toy), plan_of(toy, TWICE, "sweep.labeled=[10, 20]", "protocol.unlabeled=60")]
    text = " ".join(cell.key for plan in plans for cell in plan.cells)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "03ec8a7cce2db2ab"


def test_a_second_search_waits_for_the_first_and_fits_for_the_second(toy):
    plan = plan_of(toy, TWICE)
    first, other, second = of(plan, "twice", "search")
    assert first.needs == other.needs == () and second.needs == (first.key, other.key)
    assert second.points == ({"gamma": 0.0}, {"gamma": 0.5})
    assert [fit.needs for fit in of(plan, "twice")] == [(second.key,)] * 2


LABELED_ONLY = {
    "logistic": {"kind": "sklearn.linear_model:LogisticRegression", "grid": {"C": [1, 10]}},
    "both": {"kind": "samult", "params": {"sigma": 1}, "grid": {"gamma": [1, 0.5]}},
}


def test_what_does_not_use_the_swept_rows_is_fitted_once_at_the_largest_size(toy, tmp_path):
    solvers = yaml.safe_load(toy.read_text())["solvers"] | LABELED_ONLY
    change_toy(toy, solvers=solvers, sweep={"unlabeled": [40, 60, 500, "all"]})
    at_most = ["solvers.logistic.at_most.unlabeled=60", "solvers.samult.at_most.unlabeled=39"]
    experiment = load_experiment(toy, overrides=at_most)
    dataset = load_dataset(experiment.dataset)
    plan = make_plan(experiment, dataset)
    sizes = {(c.solver, c.at["unlabeled"], c.also_at) for c in plan.cells if c.kind == "fit"}
    swept = product(experiment.solvers.keys() - {"logistic", "samult"}, (40, 60, 120), [()])
    assert sizes == {("logistic", 60, (40,)), *swept}
    assert of(plan, "samult", "search") == [], "nor does a solver without a fit have a search"
    left_out = [("logistic", 120), *product(["samult"], (40, 60, 120))]
    assert [(solver, at["unlabeled"]) for solver, at in plan.left_out] == left_out
    every = plan_of(toy, "sweep.unlabeled=[60]", *at_most)
    assert keys(every) < keys(plan), "a fit that stays has the key that it had beside the others"

    write_description(tmp_path, experiment, dataset, plan, 1)
    unread = {"memory": 0, "stages": (), "needs": (), "coordinate": ""}
    known = [replace(cell, **unread) for cell in plan.cells]
    assert read_plan(tmp_path) == (known, plan.left_out, plan.too_large)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("[40, 200, 500]", [TooLarge((200, 500), 120, False)]),
        ("[120, 500]", [TooLarge((500,), 120, True)]),
        ("[40, all]", []),
    ],
)
def test_sizes_beyond_the_data_are_named_in_the_plan(toy, sweep, expected):
    plan = plan_of(toy, f"sweep.unlabeled={sweep}")
    assert plan.too_large == expected
    largest = max(cell.at["unlabeled"] for cell in of(plan, "samult"))
    assert largest == (40 if "200" in sweep else 120)


def test_labelled_rows_are_swept_up_to_limits(toy):
    overrides = ["sweep.labeled=[10, 20, 40]", "solvers.samult.at_most={labeled: 20}"]
    plan = plan_of(toy, "protocol.unlabeled=60", *overrides)
    assert [cell.at["labeled"] for cell in of(plan, "samult")] == [10, 20]
    assert [cell.at["labeled"] for cell in of(plan, "rff_s2auc")] == [10, 20, 40]
    # what is not swept has its number, too
    assert of(plan_of(toy, "solvers.samult.at_most={labeled: 11}"), "samult") == []


COUNTS = [
    "seed=1",
    "protocol.labeled=31",
    "protocol.folds=4",
    "protocol.scale=[0, 2]",
    "solvers.qsg_s2auc.params.kernel=laplacian",
    "solvers.qsg_s2auc.grid.lam=[0.25, 2.0]",
    "solvers.qsg_s2auc.search_at.unlabeled=51",
    "dataset.rows=140",
]
DOES_NOT = [
    "protocol.trials=5",
    "sweep.unlabeled=[40]",
    "solvers.samult.grid.lam=[2.0]",
    "solvers.qsg_s2auc.label=Ours",
    "solvers.qsg_s2auc.against=samult",
    "solvers.qsg_s2auc.params.kernel=gaussian",
]


@pytest.mark.parametrize("override", [*COUNTS, *DOES_NOT])
def test_what_determines_a_result_is_in_its_key_and_nothing_else(toy, override):
    fit, changed = (of(plan_of(toy, *more), "qsg_s2auc")[0] for more in ((), (override,)))
    assert fit.at["unlabeled"] == 40 and (fit.key == changed.key) is (override in DOES_NOT)


def test_all_rows_and_their_number_are_the_same_search(toy):
    sizes = [f"solvers.samult.search_at.unlabeled={size}" for size in ("all", 120, 1000)]
    assert len({frozenset(keys(plan_of(toy, size))) for size in sizes}) == 1


OWN = """
from dsgkit.solvers.base import PairwiseAUCEstimator

class Mine(PairwiseAUCEstimator):
    def __init__(self, width=2, lam=0.5):
        self.width, self.lam = width, lam

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:, 0]
"""


@pytest.fixture
def own_plan(toy, own_modules):
    """A function that returns the plan of a user's class in a module of that text."""

    def plan(text=OWN, kind="my:Mine", config="own.yaml", key="mine", **settings):
        own_modules(kind.partition(":")[0], text)
        spec = {"kind": kind, "grid": {"lam": [1, 2], "width": [3, 4]}} | settings
        return plan_of(change_toy(toy, config, solvers={key: spec}))

    return plan


ANOTHER = [{"text": OWN.replace("def fit", "version = 1\n    def fit")}, {"kind": "your:Mine"}]
THE_SAME = [
    {"config": "other.yaml", "key": "ours", "label": "Ours"},
    {"grid": {"width": [4, 3], "lam": [2.0, 1.0]}},
]


@pytest.mark.parametrize("changed", [*ANOTHER, *THE_SAME])
def test_what_makes_a_class_another_solver(own_plan, changed):
    first, other = keys(own_plan()), keys(own_plan(**changed))
    assert first == other if changed in THE_SAME else not first & other


COST = "def cost(self, n_inputs, **counts):\n        return __import__('dsgkit.numerics.costs')"
WRONG = {
    "/ 0": r"^planning my:Mine raises TypeError: .* \(my\.py:9",
    ".numerics.costs.Cost(flops=float('nan'))": r"solvers\.mine: its cost\(\) comes to nan oper",
    ".numerics.costs.Cost(memory=-1)": r"comes to \S+ operations and -1 bytes; both must be",
}


@pytest.mark.parametrize("cost", WRONG)
def test_a_class_that_cannot_be_planned_is_told(own_plan, cost):
    with pytest.raises(ConfigError, match=WRONG[cost]):
        own_plan(OWN.replace("def fit", f"{COST}{cost}\n    def fit"))


def test_parameters_that_do_not_go_together_are_told_before_a_run(toy):
    solvers = {"bls3vm": {"params": {"C_star": 1}, "grid": {"C_star_ratio": [0, 1]}}}
    kind = {"kind": "semi_supervised_svm"}
    change_toy(toy, protocol=kind, solvers=solvers, outputs=["error_table"])
    with pytest.raises(ConfigError, match=r"solvers\.bls3vm: C_star is 1 and C_star_ratio is 0"):
        plan_of(toy)


def test_trials_of_a_task_of_ones_own_may_differ_in_size(tmp_path, monkeypatch):
    sizes, begin = itertools.cycle([100, 75, 100]), Orderly.__init__

    def other(self, *arguments):
        begin(self, *arguments)
        self.sizes = {"unlabeled": next(sizes)}

    monkeypatch.setattr(Orderly, "__init__", other)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    plan = plan_of(write_config(tmp_path, {"well": behaving()}, trials=3))
    expected = [(0, 70), (0, 80), (1, 70), (2, 70), (2, 80)]
    assert [(cell.trial, cell.at["unlabeled"]) for cell in plan.cells] == expected
    assert plan.too_large == [TooLarge((80,), 75, False)]


def grid(name, *values):
    return [{name: value} for value in values]


BOTH = [{"lam": lam, "sigma": sigma} for lam in (1.0, 2.0) for sigma in (4.0, 0.5)]
TIES = [[0.9, 0.8 + 1e-15 * k] for k in range(4)]
WORDS = [{"lam": "some word", "sigma": 1.0}, {"lam": 0.0, "sigma": 0.5}, {"lam": "a word"}]
CHOICES = [  # of the best point, by shares of a search
    ([(grid("lam", 0, 1, 2, 3), [[0.5, 0.6], [0.9, 0.7], [0.8, 0.7], [0.7, 0.8]])], {"lam": 1}),
    ([(grid("lam", 0, 1), [[0.5]] * 2), (grid("lam", 2, 3), [[0.4], [0.9]])], {"lam": 3}),
    ([(grid("lam", 0, 1, 2, 3), [[None], [0.2], [None], [0.1]])], {"lam": 1}),
    # no point has a score on the second fold; the others lack one on a fold that counts
    (
        [(grid("lam", 0, 1, 2), [[1.0, None, None], [None, None, 0.9], [0.7, None, 0.6]])],
        {"lam": 2},
    ),
    ([(grid("lam", 0, 1), [[1.0, None], [None, 0.9]])], None),
    ([(grid("lam", 0, 1), [[None], [None]])], None),
    # among equal scores that of the smoother function, whatever the order; a word counts as 0
    *[([(list(p), list(s))], BOTH[3]) for p, s in ((BOTH, TIES), (BOTH[::-1], TIES[::-1]))],
    ([(WORDS, [[0.5]] * 3)], {"lam": "a word"}),
    ([(grid("gamma", 1, 2), [[0.5]] * 2)], {"gamma": 1}),
    ([(grid("lam", 1), [[0.1]])], {"lam": 1}),
    ([], {"lam": 7.0}),  # there is one point
]


@pytest.mark.parametrize(("shares", "expected"), CHOICES)
def test_the_best_mean_over_the_folds_that_count_wins(toy, shares, expected):
    """What earlier stages chose stays."""
    experiment = load_experiment(toy)
    cell = Cell("k", "fit", "samult", 0, {}, stages=(({"lam": 7.0}, {"lam": 2.0}),))
    names = ("points", "fold_scores")
    searches = [dict(zip(names, share, strict=True)) for share in shares]
    searches = [one | {"status": "ok", "params": {"lam": 9.0, "eta": 7.0}} for one in searches]
    if expected is None:
        with pytest.raises(FitError, match=r"no point .* on every fold$"):
            choose(experiment, cell, searches)
    else:
        earlier = {"lam": 9.0, "eta": 7.0} if shares else {}
        assert choose(experiment, cell, searches) == {**earlier, **expected}
    refused = {"status": "out_of_memory", "message": "needs 9 GiB", "needed": 9 * 2**30}
    for message in ("needs 9 GiB", "while searching: needs 9 GiB"):
        with pytest.raises(FitError, match=r"^while searching: needs 9 GiB$") as error:
            choose(experiment, cell, [*searches, refused | {"message": message}])
        assert (error.value.status, error.value.needed) == ("out_of_memory", 9 * 2**30)


def test_lower_is_better_where_the_measure_says_so(toy):
    change_toy(toy, protocol={"kind": "semi_supervised_svm"}, solvers={"frs3vm": {}}, outputs=[])
    points, scores = grid("C", 1.0, 2.0, 3.0), [[0.5, 0.3], [0.2, 0.25], [0.25, 0.2]]
    assert best_point(load_experiment(toy), "frs3vm", points, scores) == ({"C": 2.0}, 0.225)

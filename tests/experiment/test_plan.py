"""Plans: what keys depend on, what is left out or cannot be planned, how parameters are chosen."""

from dataclasses import replace
from itertools import cycle, product

import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError, DataError, FitError
from dsgkit.experiment.folder import read_plan, write_description
from dsgkit.experiment.plan import Cell, TooLarge, best_point, choose, make_plan
from tests.conftest import change_toy
from tests.experiment.misbehaving import Orderly
from tests.experiment.runs import behaving, write_config


def plan_of(path, *overrides):
    experiment = load_experiment(path, overrides=overrides)
    return make_plan(experiment, load_dataset(experiment.dataset))


def of(plan, solver, kind="fit", trial=0):
    kinds = (solver, kind, trial)
    return [cell for cell in plan.cells if (cell.solver, cell.kind, cell.trial) == kinds]


def keys(plan):
    return {cell.key for cell in plan.cells}


def test_keys_of_what_is_searched_number_by_number_from_the_start_are_what_they_were(toy):
    """Those of other searches are in ``test_golden``: what changes one raises a version."""
    dataset = {"path": "toy.csv", "loader": "delimited", "target": {"ordered": True}}
    solvers = {"m_pnu_auc": {"search": [{"coordinates": {"prior": [0.25, 0.5]}}]}}
    change_toy(toy, protocol={"kind": "ordinal"}, dataset=dataset, solvers=solvers, outputs=[])
    cells = [(cell.kind, cell.coordinate, cell.key[:8]) for cell in plan_of(toy).cells]
    assert cells[:2] == [("search", "prior", "9f0808f6"), ("fit", "", "f219ffa8")]


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
    ("overrides", "sizes", "too_large"),
    [
        (["sweep.unlabeled=[40, 200, 500]"], [40], TooLarge((200, 500), 120, False)),
        (["sweep.unlabeled=[120, 500]"], [120], TooLarge((500,), 120, True)),
        (["sweep.unlabeled=[500, all]"], [120], TooLarge((500,), 120, True)),
        (["sweep.unlabeled=[40, all]"], [40, 120], None),
        (["solvers.samult.at_most={labeled: 30}"], [40, 120], None),
        (["solvers.samult.at_most={labeled: 29}"], [], None),  # what is not swept has a number, too
    ],
)
def test_sizes_beyond_the_data_or_a_limit_have_no_cells(toy, overrides, sizes, too_large):
    plan = plan_of(toy, *overrides)
    assert [cell.at["unlabeled"] for cell in of(plan, "samult")] == sizes
    assert plan.too_large == ([too_large] if too_large else [])
    with pytest.raises(DataError, match=r"no point .* is within its 120 unlabelled rows; add"):
        plan_of(toy, "sweep.unlabeled=[121]")


SAME = [
    "protocol.trials=5",
    "sweep.unlabeled=[40]",
    "solvers.samult.grid.lam=[2.0]",
    "solvers.qsg_s2auc.label=Ours",
    "solvers.qsg_s2auc.against=samult",
    "solvers.qsg_s2auc.params.kernel=gaussian",
]


def test_what_determines_a_result_is_in_its_key_and_nothing_else(toy):
    overrides = [(), *((one,) for one in SAME), ("dataset.rows=140",), ("seed=1",)]
    fits = [of(plan_of(toy, *one), "qsg_s2auc")[0] for one in overrides]
    assert {fit.at["unlabeled"] for fit in fits} == {40}
    assert len({fit.key for fit in fits[:-2]}) == 1 and len({fit.key for fit in fits}) == 3
    sizes = [f"solvers.samult.search_at.unlabeled={size}" for size in ("all", 120, 1000)]
    assert len({frozenset(keys(plan_of(toy, size))) for size in sizes}) == 1


OWN = """
from dsgkit.bases import PairwiseAUCEstimator

class Mine(PairwiseAUCEstimator):
    def __init__(self, width=2, lam=0.5):
        self.width, self.lam = width, lam

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:, 0]
"""
COST = "def cost(self, n, n_models=1):\n        return __import__('dsgkit.costs')"
WRONG = {
    "/ 0": r"^planning my:Mine raises TypeError: .* \(my\.py:9",
    ".costs.Cost(flops=float('nan'))": r"solvers\.mine: its cost\(\) comes to nan oper",
    ".costs.Cost(memory=-1)": r"comes to \S+ operations and -1 bytes; both must be",
}


def test_what_makes_a_class_another_solver_and_what_cannot_be_planned(toy, own_modules):
    def plan(text=OWN, kind="my:Mine", config="own.yaml", key="mine", **settings):
        own_modules(kind.partition(":")[0], text)
        spec = {"kind": kind, "grid": {"lam": [1, 2], "width": [3, 4]}} | settings
        made = plan_of(change_toy(toy, config, solvers={key: spec}))
        costs.append([cell.flops for cell in made.cells])
        return keys(made)

    costs = []
    first = plan()
    for seconds in (1e-6, 3e-6):
        plan(text=OWN.replace("lam\n\n", f"lam\n        self.max_seconds = {seconds}\n\n"))
    added = [more - less for less, more in zip(*costs[1:], strict=True)]
    # searches fit a model for each of three folds; a second stands for 1e11 operations
    assert added == pytest.approx(([6e5] * 4 + [2e5] * 2) * 2)
    assert plan(config="other.yaml", key="ours", label="Ours") == first
    assert plan(grid={"width": [4, 3], "lam": [2.0, 1.0]}) == first
    assert not plan(text=OWN.replace("def fit", "version = 1\n    def fit")) & first
    assert not plan(kind="your:Mine") & first
    for cost, told in WRONG.items():
        with pytest.raises(ConfigError, match=told):
            plan(OWN.replace("def fit", f"{COST}{cost}\n    def fit"))
    solvers = {"bls3vm": {"params": {"C_star": 1}, "grid": {"C_star_ratio": [0, 1]}}}
    change_toy(toy, protocol={"kind": "semi_supervised_svm"}, solvers=solvers, outputs=[])
    with pytest.raises(ConfigError, match=r"solvers\.bls3vm: C_star is 1 and C_star_ratio is 0"):
        plan_of(toy)


def test_trials_of_a_task_of_ones_own_may_differ_in_size(tmp_path, monkeypatch):
    sizes, begin = cycle([100, 75, 75, 100]), Orderly.__init__

    def other(self, *arguments):
        begin(self, *arguments)
        self.sizes = {"unlabeled": next(sizes)}

    monkeypatch.setattr(Orderly, "__init__", other)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    solvers = {"well": behaving() | {"at_most": {"unlabeled": 70}}}
    plan = plan_of(write_config(tmp_path, solvers, trials=4))
    assert [(c.trial, c.at["unlabeled"]) for c in plan.cells] == [(n, 70) for n in range(4)]
    assert (plan.too_large, len(plan.left_out)) == ([TooLarge((80,), 75, False)], 1)


def grid(name, *values):
    return [{name: value} for value in values]


BOTH = [{"lam": lam, "sigma": sigma} for lam in (1.0, 2.0) for sigma in (4.0, 0.5)]
TIES = [[0.9, 0.8 - 1e-15 * k] for k in range(4)]
WORDS = [{"lam": "some word", "sigma": 1.0}, {"lam": 0.0, "sigma": 0.5}, {"lam": "a word"}]
CHOICES = [  # of the best point, by shares of a search
    ([(grid("lam", 0, 1, 2, 3), [[0.5, 0.6], [0.9, 0.7], [0.8, 0.7], [0.7, 0.8]])], {"lam": 1}),
    ([(grid("lam", 0, 1), [[0.5]] * 2), (grid("lam", 2, 3), [[0.4], [0.9]])], {"lam": 3}),
    ([(grid("lam", 0, 1, 2, 3), [[None], [0.2], [None], [0.1]])], {"lam": 1}),
    # no point has a score on the second fold; the others lack one on a fold that counts
    ([(grid("lam", 0, 1, 2), [[1, None, None], [None, None, 0.9], [0.7, None, 0.6]])], {"lam": 2}),
    ([(grid("lam", 0, 1), [[1.0, None], [None, 0.9]])], None),
    ([(grid("lam", 0, 1), [[None], [None]])], None),
    # among equal scores that of the smoother function, whatever the order; a word counts as 0
    *([[(points, scores)], BOTH[3]] for points, scores in ((BOTH, TIES), (BOTH[::-1], TIES[::-1]))),
    ([(WORDS, [[0.5]] * 3)], {"lam": "a word"}),
    ([(grid("gamma", 1, 2), [[0.5]] * 2)], {"gamma": 1}),
    ([(grid("lam", 2, 1), [[0.5], [0.5 + 4e-9]])], {"lam": 1}),  # more than rounding
    ([], {"lam": 7.0}),  # there is one point
]


@pytest.mark.parametrize(("shares", "expected"), CHOICES)
def test_the_best_mean_over_the_folds_that_count_wins(toy, shares, expected):
    """What earlier stages chose stays."""
    experiment = load_experiment(toy)
    cell = Cell("k", "fit", "samult", 0, {}, stages=(({"lam": 7.0}, {"lam": 2.0}),))
    earlier = {"params": {"lam": 9.0, "eta": 7.0}, "status": "ok"}
    searches = [{"points": share[0], "fold_scores": share[1]} | earlier for share in shares]
    if expected is None:
        with pytest.raises(FitError, match=r"no point .* on every fold$"):
            choose(experiment, cell, searches)
    else:
        before = earlier["params"] if shares else {}
        assert choose(experiment, cell, searches) == {**before, **expected}
    assert choose(experiment, replace(cell, kind="search"), []) == {}
    refused = {"status": "out_of_memory", "message": "needs 9 GiB", "needed": 9 * 2**30}
    for message in ("needs 9 GiB", "while searching: needs 9 GiB"):
        with pytest.raises(FitError, match=r"^while searching: needs 9 GiB$") as error:
            choose(experiment, cell, [*searches, refused | {"message": message}])
        assert (error.value.status, error.value.needed) == ("out_of_memory", 9 * 2**30)


def test_lower_is_better_where_the_measure_says_so(toy):
    change_toy(toy, protocol={"kind": "semi_supervised_svm"}, solvers={"frs3vm": {}}, outputs=[])
    points, scores = grid("C", 1.0, 2.0, 3.0), [[0.5, 0.3], [0.2, 0.25], [0.25, 0.2]]
    assert best_point(load_experiment(toy), "frs3vm", points, scores) == ({"C": 2.0}, 0.225)

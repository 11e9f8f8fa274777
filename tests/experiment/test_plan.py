"""Plans: which cells there are, what they need and cost, and what their keys depend on."""

import hashlib
import itertools
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError
from dsgkit.experiment.description import describe
from dsgkit.experiment.folder import read_plan, write_description
from dsgkit.experiment.plan import LeftOut, TooLarge, make_plan
from dsgkit.tasks.auc import SemiSupervisedAUC
from tests.conftest import change_toy
from tests.experiment.misbehaving import Orderly
from tests.experiment.runs import behaving, write_config


def whole_plan(experiment):
    return make_plan(experiment, load_dataset(experiment.dataset))


def planned(experiment):
    return whole_plan(experiment).cells


@pytest.fixture
def experiment(toy):
    return load_experiment(toy)


@pytest.fixture
def plan(experiment):
    return planned(experiment)


def cells(plan, solver, kind):
    return [cell for cell in plan if (cell.solver, cell.kind) == (solver, kind)]


def test_a_search_has_one_cell_per_sigma_and_trial(plan):
    searches = cells(plan, "qsg_s2auc", "search")
    assert len(searches) == 2 * 2
    for trial in range(2):
        points = [p for cell in searches if cell.trial == trial for p in cell.points]
        expected = product([0.25, 1.0], [0.5, 2.0], [0.0, 0.5])
        assert sorted((p["lam"], p["sigma"], p["gamma"]) for p in points) == sorted(expected)
    assert all(len({p["sigma"] for p in cell.points}) == 1 for cell in searches)
    assert {cell.at["unlabeled"] for cell in searches} == {50}


def test_a_fit_for_every_sweep_point_and_trial_after_its_searches(plan):
    for solver in ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc"):
        fits = {(c.trial, c.at["unlabeled"]) for c in cells(plan, solver, "fit")}
        assert fits == {*product((0, 1), (40, 120))}
        for trial in (0, 1):
            kinds = [c.kind for c in plan if (c.trial, c.solver) == (trial, solver)]
            assert kinds == sorted(kinds, reverse=True)
    assert cells(plan, "rff_s2auc", "search") == []  # nothing is to be chosen
    assert len({cell.key for cell in plan}) == len(plan)
    assert all(cell.flops > 0 and cell.memory > cell.training / cell.flops > 0 for cell in plan)


def test_what_the_config_leaves_out_has_no_cell_and_is_told(toy):
    """Nor does a solver without a fit have a search."""
    overrides = ["solvers.samult.at_most.unlabeled=39", "solvers.rff_s2auc.at_most.unlabeled=119"]
    experiment = load_experiment(toy, overrides=overrides)
    cells, left_out, _ = whole_plan(experiment)
    assert {cell.solver for cell in cells} == {"qsg_s2auc", "pnu_auc", "rff_s2auc"}
    fits = {(cell.solver, cell.at["unlabeled"]) for cell in cells if cell.kind == "fit"}
    every = product(experiment.solvers, (40, 120))
    expected = {("samult", 40), ("samult", 120), ("rff_s2auc", 120)}
    assert fits == {*every} - expected
    assert {(solver, at["unlabeled"]) for solver, at in left_out} == expected


LABELED_ONLY = {
    "logistic": {"kind": "sklearn.linear_model:LogisticRegression", "grid": {"C": [1, 10]}},
    "supervised": {"kind": "samult", "params": {"gamma": 1, "sigma": 1}},
}


@pytest.fixture
def with_labeled_only(toy):
    """A config with solvers that do not use unlabelled rows."""
    config = yaml.safe_load(toy.read_text())
    config["solvers"] |= LABELED_ONLY
    config["sweep"] = {"unlabeled": [40, 60, "all"]}
    toy.write_text(yaml.safe_dump(config))
    return toy


def test_what_does_not_use_the_swept_rows_is_fitted_once_at_the_largest_size(
    with_labeled_only, monkeypatch
):
    experiment = load_experiment(with_labeled_only)
    dataset = load_dataset(experiment.dataset)
    plan = make_plan(experiment, dataset).cells
    for solver in experiment.solvers:
        fits = [(c.trial, c.at["unlabeled"], c.also_at) for c in cells(plan, solver, "fit")]
        if solver in LABELED_ONLY:
            assert fits == [(0, 120, (40, 60)), (1, 120, (40, 60))]
        else:
            assert fits == [(trial, n, ()) for trial in (0, 1) for n in (40, 60, 120)]
    # a fit that stays has the key that it had beside the others
    monkeypatch.setattr(SemiSupervisedAUC, "depends_on", lambda *_: True)
    every = {cell.key for cell in make_plan(experiment, dataset).cells}
    assert {cell.key for cell in plan} < every
    assert len(every) - len(plan) == 2 * 2 * len(LABELED_ONLY)


def test_a_fit_that_stands_at_several_sizes_is_of_the_largest_within_limits(with_labeled_only):
    overrides = ["solvers.logistic.at_most.unlabeled=60"]
    experiment = load_experiment(with_labeled_only, overrides=overrides)
    cells_, left_out, _ = whole_plan(experiment)
    assert {(c.at["unlabeled"], c.also_at) for c in cells(cells_, "logistic", "fit")} == {
        (60, (40,))
    }
    assert left_out == [LeftOut("logistic", {"unlabeled": 120})]


def test_a_plan_is_read_as_it_was_written(with_labeled_only, tmp_path):
    overrides = ["solvers.logistic.at_most.unlabeled=60", "sweep.unlabeled=[40, 60, 500, all]"]
    experiment = load_experiment(with_labeled_only, overrides=overrides)
    dataset = load_dataset(experiment.dataset)
    plan = make_plan(experiment, dataset)
    write_description(tmp_path, experiment, dataset, describe(experiment), plan, 1)
    read = read_plan(tmp_path)
    assert read.left_out == plan.left_out != []
    assert read.too_large == plan.too_large != []
    unread = {"training": 0.0, "memory": 0, "stages": (), "needs": (), "coordinate": ""}
    assert read.cells == [replace(cell, **unread) for cell in plan.cells]


@pytest.mark.parametrize(
    ("overrides", "solver", "sizes"),
    [
        # a point of the grid uses unlabelled rows
        (
            ["solvers.both={kind: samult, params: {sigma: 1}, grid: {gamma: [1, 0.5]}}"],
            "both",
            {40, 60, 120},
        ),
        # labelled rows matter to all
        (["sweep={labeled: [10, 20]}", "protocol.unlabeled=60"], "logistic", {10, 20}),
    ],
)
def test_what_uses_the_swept_rows_is_fitted_at_every_size(
    with_labeled_only, overrides, solver, sizes
):
    experiment = load_experiment(with_labeled_only, overrides=overrides)
    fits = cells(planned(experiment), solver, "fit")
    assert {cell.at[experiment.axis.name] for cell in fits} == sizes


def test_parameters_that_do_not_go_together_are_told_before_a_run(toy):
    solvers = {"bls3vm": {"params": {"C_star": 1}, "grid": {"C_star_ratio": [0, 1]}}}
    kind = {"kind": "semi_supervised_svm"}
    change_toy(toy, protocol=kind, solvers=solvers, outputs=["error_table"])
    experiment = load_experiment(toy)
    with pytest.raises(ConfigError, match=r"solvers\.bls3vm: C_star is 1 and C_star_ratio is 0"):
        planned(experiment)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("[40, 200, 500]", [TooLarge((200, 500), 120, False)]),
        ("[500, all]", [TooLarge((500,), 120, True)]),
        ("[120, 500]", [TooLarge((500,), 120, True)]),
        ("[40, all]", []),
    ],
)
def test_sizes_beyond_the_data_are_named_in_the_plan(toy, sweep, expected):
    experiment = load_experiment(toy, overrides=[f"sweep.unlabeled={sweep}"])
    plan = whole_plan(experiment)
    assert plan.too_large == expected
    swept = [n for n in experiment.sweep["unlabeled"] if n != "all" and n <= 120]
    swept += [120] * ("all" in experiment.sweep["unlabeled"])
    assert {cell.at["unlabeled"] for cell in plan.cells if cell.kind == "fit"} == {*swept}


def test_labelled_rows_are_swept_with_a_search_for_each_size(toy, experiment):
    overrides = [
        "sweep.labeled=[10, 20, 40]",
        "protocol.unlabeled=60",
        "solvers.samult.at_most={labeled: 20}",
        "solvers.samult.search_at={unlabeled: 50}",
    ]
    swept = load_experiment(toy, overrides=overrides)
    plan = planned(swept)
    for n, unlabeled in ((10, 50), (20, 50)):
        fits = [c for c in cells(plan, "samult", "fit") if c.at["labeled"] == n]
        assert [c.at for c in fits] == [{"unlabeled": 60, "labeled": n}] * 2
        searches = [c for c in cells(plan, "samult", "search") if c.key in fits[0].needs]
        assert {tuple(c.at.items()) for c in searches} == {
            (("unlabeled", unlabeled), ("labeled", n))
        }
    assert {c.at["labeled"] for c in cells(plan, "samult", "fit")} == {10, 20}
    assert {c.at["labeled"] for c in cells(plan, "rff_s2auc", "fit")} == {10, 20, 40}
    assert len({cell.key for cell in plan}) == len(plan)
    # the sweep says how many are drawn
    other = load_experiment(toy, overrides=[*overrides, "protocol.labeled=11"])
    assert {c.key for c in planned(other)} == {c.key for c in plan}
    # what is not swept has its number, too
    fixed = load_experiment(toy, overrides=["solvers.samult.at_most={labeled: 11}"])
    assert fixed.protocol.labeled > 11
    assert "samult" not in {c.solver for c in planned(fixed)}
    with pytest.raises(ConfigError, match=r"search_at={labeled: 20}: "):
        load_experiment(toy, overrides=["solvers.samult.search_at={labeled: 20}"])


COUNTS = [
    "seed=1",
    "protocol.labeled=31",
    "protocol.folds=4",
    "protocol.scale=[0, 2]",
    "protocol.unlabeled=60",
    "solvers.qsg_s2auc.params.batch_size=17",
    "solvers.qsg_s2auc.params.kernel=laplacian",
    "solvers.qsg_s2auc.grid.lam=[0.25, 2.0]",
    "solvers.qsg_s2auc.search_at.unlabeled=51",
]
DOES_NOT = [
    "protocol.trials=5",
    "sweep.unlabeled=[40]",
    "outputs=[auc_table]",
    "solvers.samult.grid.lam=[2.0]",
    "solvers.qsg_s2auc.label=Ours",
    "solvers.qsg_s2auc.against=samult",
    "solvers.qsg_s2auc.params.kernel=gaussian",
]


def first_keys(experiment, dataset=None):
    """The keys of a solver's cells that all changes of the config leave."""
    plan = make_plan(experiment, dataset or load_dataset(experiment.dataset)).cells
    first = [c for c in cells(plan, "qsg_s2auc", "fit") if c.trial == 0 and c.at["unlabeled"] == 40]
    return [first[0].key, *first[0].needs]


@pytest.mark.parametrize("override", [*COUNTS, *DOES_NOT])
def test_what_determines_a_result_is_in_its_key_and_nothing_else(toy, experiment, override):
    before, after = first_keys(experiment), first_keys(load_experiment(toy, overrides=[override]))
    assert after == before if override in DOES_NOT else after[0] != before[0]


def test_keys_depend_on_the_rows_and_not_on_later_settings_by_default(toy, experiment, monkeypatch):
    before, dataset = first_keys(experiment), load_dataset(experiment.dataset)
    other = SimpleNamespace(identity=["other data"])
    other = type("Other", (type(dataset),), {"identity": other.identity})(**vars(dataset))
    assert not {*before} & {*first_keys(experiment, other)}
    monkeypatch.setattr(type(experiment.protocol), "unsaid", ())
    assert not {*before} & {*first_keys(experiment)}


def test_all_rows_and_their_number_are_the_same_search(toy):
    keys = [
        [cell.key for cell in planned(changed)]
        for size in ("all", "120", "1000")
        for changed in [
            load_experiment(toy, overrides=[f"solvers.samult.search_at.unlabeled={size}"])
        ]
    ]
    assert keys[0] == keys[1] == keys[2]


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
        return planned(load_experiment(change_toy(toy, config, solvers={key: spec})))

    return plan


def keys(plan):
    return {cell.key for cell in plan}


def test_a_class_of_ones_own_is_planned(own_plan):
    assert len(cells(own_plan(), "mine", "search")) == 2 * 4
    batched = "from typing import Annotated\nfrom dsgkit.solvers.parameters import PER_MODEL\n" + (
        OWN.replace("    def __init__", "    lam: Annotated[float, PER_MODEL]\n    def __init__")
    )
    searches = cells(own_plan(batched), "mine", "search")
    assert len(searches) == 2 * 2
    assert all(len({point["width"] for point in cell.points}) == 1 for cell in searches)


ANOTHER = [
    {"text": OWN.replace("def fit", "version = 1\n    def fit")},
    {"kind": "your:Mine"},
]
THE_SAME = [
    {},
    {"config": "other.yaml"},
    {"key": "ours"},
    {"label": "Ours"},
    {"grid": {"width": [4, 3], "lam": [2.0, 1.0]}},
]


@pytest.mark.parametrize("changed", [*ANOTHER, *THE_SAME])
def test_what_makes_a_class_another_solver(own_plan, changed):
    first, other = keys(own_plan()), keys(own_plan(**changed))
    assert first == other if changed in THE_SAME else not first & other


COST = "def cost(self, n_inputs, **counts):\n        {}\n    def fit"
WRONG = {
    COST.format(
        "1 / 0"
    ): r"^planning my:Mine raises ZeroDivisionError: division by zero \(my\.py:9",
    **{
        COST.format(f"return __import__('dsgkit.numerics.costs').numerics.costs.Cost({amount})"): (
            r"solvers\.\w+: its cost\(\) comes to \S+ operations and \S+ bytes; both"
        )
        for amount in ("flops=float('inf')", "flops=float('nan')", "memory=-1")
    },
}


@pytest.mark.parametrize("cost", WRONG)
def test_a_class_that_cannot_be_planned_is_told(own_plan, cost):
    with pytest.raises(ConfigError, match=WRONG[cost]):
        own_plan(OWN.replace("def fit", cost))


def two_searches(toy, *overrides):
    """Return the toy with searches of two grids, which no shipped config has."""
    first, second = "{lam: [0.25, 1.0], sigma: [0.5, 1.0]}", "{gamma: [0.0, 0.5]}"
    twice = f"solvers.twice={{kind: samult, search: [{{grid: {first}}}, {{grid: {second}}}]}}"
    return load_experiment(toy, overrides=[twice, *overrides])


def test_a_second_search_waits_for_the_first_and_fits_for_the_second(toy):
    plan = [c for c in planned(two_searches(toy)) if (c.solver, c.trial) == ("twice", 0)]
    first, other, second, *fits = plan
    assert [cell.kind for cell in plan] == ["search"] * 3 + ["fit"] * 2
    assert first.needs == other.needs == ()
    assert second.needs == (first.key, other.key)
    assert second.points == ({"gamma": 0.0}, {"gamma": 0.5})
    earlier = [(point["lam"], point["sigma"]) for point in second.stages[0]]
    assert earlier == [*product((0.25, 1.0), (0.5, 1.0))]
    assert all(fit.needs == (second.key,) for fit in fits)


def test_keys_are_what_they_were(toy):
    """Results of earlier releases are found by them: what changes one raises a version."""
    swept = two_searches(toy, "sweep.labeled=[10, 20]", "protocol.unlabeled=60")
    plans = [planned(e) for e in (load_experiment(toy), swept)]
    text = " ".join(cell.key for plan in plans for cell in plan)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "03ec8a7cce2db2ab"


def test_trials_of_a_task_of_ones_own_may_differ_in_size(tmp_path, monkeypatch):
    sizes = itertools.cycle([100, 75, 100])
    begin = Orderly.__init__

    def other(self, *arguments):
        begin(self, *arguments)
        self.sizes = {"unlabeled": next(sizes)}

    monkeypatch.setattr(Orderly, "__init__", other)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    plan = planned(load_experiment(write_config(tmp_path, {"well": behaving()}, trials=3)))
    expected = [(0, 70), (0, 80), (1, 70), (2, 70), (2, 80)]
    assert [(cell.trial, cell.at["unlabeled"]) for cell in plan] == expected

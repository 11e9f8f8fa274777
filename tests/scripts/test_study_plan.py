"""What was planned is set against what records say."""

import itertools
import json

import pytest

from dsgkit.experiment.plan import Cell
from tests.scripts.conftest import invoke


def test_figures_are_added_up_by_solver_and_kind(script):
    plan = [
        Cell(name, kind, "one", 0, {"unlabeled": 10}, flops=100.0, training=60.0)
        for name, kind in (("a", "search"), ("b", "fit"), ("c", "fit"), ("d", "fit"), ("e", "fit"))
    ]
    records = {
        "a": {"status": "ok", "times": {"load": 9.0, "search": 7.0}},
        "b": {"status": "ok", "times": {"fit": 2.0, "predict": 1.0, "evaluate": 0.5}},
        "c": {"status": "ok", "times": {"compile": 9.0, "fit": 3.0, "clustering": 1.0}},
        "d": {"status": "failed", "times": {"fit": 99.0}},
    }
    search, fits = script("study_plan")["by_solver"](plan, records, {"one": "One"}, 10.0)
    names = ("cells", "planned_training", "training", "planned_judging", "judging")
    # by hand, at 10 operations a second
    assert [search[name] for name in names] == pytest.approx([1, 10, 7, 0, 0])
    assert [fits[name] for name in names] == pytest.approx([2, 12, 6, 8, 1.5])
    assert (fits["solver"], fits["kind"]) == ("One", "fit")


@pytest.mark.slow
def test_a_config_is_planned_and_run(study, toy, processes):
    file = toy.parent / "plans.json"
    main, scope = study("study_plan")
    scope.update(subprocess=processes, _children=itertools.count().__next__)
    others = ("qsg_s2auc", "pnu_auc", "rff_s2auc")
    settings = ["protocol.trials=1", *(f"solvers.{name}=null" for name in others)]
    settings = [f"--set={setting}" for setting in settings]
    invoke(main, toy, "--out", toy.parent / "results", "--json", file, *settings)
    kept = json.loads(file.read_text())
    (figures,) = kept["numbers"]["configs"]
    assert figures["finished"] == figures["cells"] == 3
    assert figures["planned"] > 0 and figures["measured"] == 1
    assert str(toy.parent) not in file.read_text()

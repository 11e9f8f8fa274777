"""The run of everything: its order, its plan, and what it leaves out."""

from types import SimpleNamespace

import pytest
import yaml

from dsgkit.cli import cli
from tests.conftest import TOY_CONFIG
from tests.scripts.conftest import invoke


@pytest.mark.parametrize(
    ("seconds", "order"),
    [
        ({"a": [3, 1, 2]}, ["a 1", "a 2", "a 3"]),
        ({"a": [9, 1], "b": [5, 4]}, ["a 1", "b 4", "a 9", "b 5"]),
        ({"a": [8], "b": [2, 1, 9]}, ["b 1", "a 8", "b 2", "b 9"]),
    ],
)
def test_the_setting_with_the_least_done_is_next(script, seconds, order):
    scope = script("reproduce")
    kinds = {kind: SimpleNamespace(protocol=SimpleNamespace(kind=kind)) for kind in seconds}
    runs = [
        scope["Run"](f"{kind} {n}", "quick", kinds[kind], n)
        for kind in kinds
        for n in seconds[kind]
    ]
    assert [run.config for run in scope["in_turn"](runs)] == order


@pytest.mark.slow
def test_a_plan_says_what_is_missing_and_runs_go_on_where_they_were_stopped(
    script, toy, in_process
):
    """With two configs in the place of the shipped ones, one without its data."""
    scope = script("reproduce")
    scope["CONFIGS"] = folder = toy.parent / "configs"
    folder.mkdir()
    small = TOY_CONFIG | {"profiles": {"quick": {"protocol": {"trials": 1}}}}
    small["solvers"] = {"rff_s2auc": TOY_CONFIG["solvers"]["rff_s2auc"]}
    small["dataset"] = {**small["dataset"], "path": str(toy.parent / "toy.csv")}
    (folder / "small.yaml").write_text(yaml.safe_dump(small))
    (folder / "far.yaml").write_text(yaml.safe_dump({**small, "dataset": {"name": "higgs"}}))
    called = []

    def run(command, **_):
        called.append(words := command[command.index("dsgkit") + 1 :])
        if words[0] == "run":  # the commands at the end take long
            invoke(cli, *words)
        return SimpleNamespace(returncode=0)

    scope["subprocess"] = SimpleNamespace(run=run)
    here = ("--profile", "quick", "--out", toy.parent / "results")
    far, small, total = invoke(scope["main"], *here, "--plan-only").output.splitlines()
    assert "far-quick" in far and "left out: dataset higgs" in far and "https://" in far
    assert small.startswith("small-quick ")
    assert total.startswith("1 runs: about ")
    assert not called
    invoke(scope["main"], *here)
    assert (toy.parent / "results" / "small-quick" / "tables").is_dir()
    assert [words[0] for words in called] == ["run", "claims", "pages"]
    assert "cells finished" in invoke(scope["main"], *here, "--plan-only").output

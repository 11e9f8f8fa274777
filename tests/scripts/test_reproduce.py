"""The run of everything: its order, its plan, and what it leaves out."""

from functools import partial
from types import SimpleNamespace

import pytest
import yaml

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
    runs = [
        scope["Run"](
            f"{kind} {n}", "quick", SimpleNamespace(protocol=SimpleNamespace(kind=kind)), n
        )
        for kind, every in seconds.items()
        for n in every
    ]
    assert [run.config for run in scope["in_turn"](runs)] == order


@pytest.fixture
def everything(study, toy, processes):
    """The command, with two configs in the place of the shipped ones, one without its data."""
    folder = toy.parent / "configs"
    folder.mkdir()
    small = TOY_CONFIG | {"profiles": {"quick": {"protocol": {"trials": 1}}}}
    small["solvers"] = {"rff_s2auc": TOY_CONFIG["solvers"]["rff_s2auc"]}
    small["dataset"] = {**small["dataset"], "path": str(toy.parent / "toy.csv")}
    (folder / "small.yaml").write_text(yaml.safe_dump(small))
    far = {**small, "dataset": {"name": "higgs"}}
    (folder / "far.yaml").write_text(yaml.safe_dump(far))

    concluded = []  # the commands at the end of a run, which take long

    def run(command, **settings):
        words = command[command.index("dsgkit") + 1 :]
        return processes.run(command) if words[0] == "run" else concluded.append(words)

    main, scope = study("reproduce")
    scope.update(CONFIGS=folder, subprocess=SimpleNamespace(run=run))
    here = ("--profile", "quick", "--out", toy.parent / "results")
    return partial(invoke, main, *here), concluded


@pytest.mark.slow
def test_a_plan_says_what_is_missing_and_runs_go_on_where_they_were_stopped(everything, toy):
    everything, concluded = everything
    far, small, total = everything("--plan-only").output.splitlines()
    assert "far-quick" in far and "left out: dataset higgs" in far and "https://" in far
    assert small.startswith("small-quick ")
    assert total.startswith("1 runs: about ")
    assert not (toy.parent / "results").exists()
    everything()
    assert (toy.parent / "results" / "small-quick" / "tables").is_dir()
    assert [words[0] for words in concluded] == ["claims", "pages"]
    assert "cells finished" in everything("--plan-only").output

"""Trials that have ended, while a run goes on."""

from types import SimpleNamespace

import pytest

from dsgkit.report.trials import size_text, trial_text
from tests.report.conftest import RANKING, UNLABELED, solver_of


def experiment_with(names, axis=UNLABELED):
    """An experiment of three trials, with solvers of these names by key."""
    return SimpleNamespace(
        task=RANKING,
        axis=axis,
        solvers={key: solver_of(key, name) for key, name in names.items()},
        protocol=SimpleNamespace(trials=3),
        outputs=["auc_table"],
    )


def test_a_trial_that_has_ended_has_a_line():
    experiment = experiment_with({key: key.upper() for key in "ab"})
    fits = [
        (SimpleNamespace(solver=key, at={"unlabeled": n}, also_at=also), {"scores": {"auc": auc}})
        for key, n, also, auc in (
            ("a", 500, (), 0.7),
            ("a", 2000, (), 0.8),
            ("b", 2000, (500,), 0.9),
        )
    ]
    assert trial_text(experiment, 0, fits) == "trial 1 of 3: AUC A 0.800; B 0.900"
    lost = [(cell, {"status": "failed"}) for cell, _ in fits]
    assert trial_text(experiment, 2, lost) == "trial 3 of 3"


@pytest.mark.parametrize("width", [80, 120])
def test_a_line_on_a_trial_is_wrapped_between_solvers(width):
    names = {f"s{n}": f"Labelled rows alone, exact {n}" for n in range(9)}
    experiment = experiment_with(names, axis=None)
    fits = [
        (SimpleNamespace(solver=key, at={}, also_at=()), {"scores": {"auc": 0.5}}) for key in names
    ]
    text = trial_text(experiment, 0, fits, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(f"{name} 0.500" in " ".join(text.split()) for name in names.values())
    assert not any(line.split()[0] == "0.500" for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 120])
def test_a_size_of_the_first_trial_has_a_table(width):
    names = {"a": "A", "b": "Labelled rows alone, exact, by a name that is long " * 2, "c": "C"}
    experiment = experiment_with(names)
    ended = {
        "a": {"status": "ok", "scores": {"auc": 0.8}, "times": {"fit": 1.5}},
        "b": {"status": "ok", "scores": {"auc": 0.75}, "times": {"fit": 0.0123}},
        "c": {"status": "timeout", "scores": {}},
    }
    fits = [
        (SimpleNamespace(solver=key, at={"unlabeled": 2000}, also_at=()), record)
        for key, record in ended.items()
    ]
    text = size_text(experiment, 2000, fits, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "trial 1 of 3, 2,000 unlabelled rows:"
    assert lines[1].split()[:3] == ["Solver", "AUC", "Training"]
    assert ["A", "0.800", "1.5", "s"] in [line.split() for line in lines]
    assert lines[-1].split() == ["C", "timeout"]
    assert "0.750" in text and "12 ms" in text


def test_a_table_that_holds_for_all_sizes_names_none():
    at = SimpleNamespace(solver="a", at={"unlabeled": 2000}, also_at=(500,))
    fits = [(at, {"status": "ok", "scores": {"auc": 0.8}, "times": {"fit": 1.5}})]
    text = size_text(experiment_with({"a": "A"}), 2000, fits)
    assert text.startswith("trial 1 of 3:\n")

"""Numbers that an estimator gives of its fit go into the record, and can never cost it."""

import json

import pytest
import yaml

from dsgkit.config import load_experiment
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment

pytestmark = pytest.mark.usefixtures("in_process")

MODULE = """
import sys
import numpy as np
from dsgkit.solvers.base import Estimator

class Plain(Estimator):
    tasks, version = ("semi_supervised_auc",), 1
    def fit(self, X, y, X_unlabeled):
        self.given_ = len(X) + len(y) + len(X_unlabeled)
        return self
    def decision_function(self, X): return np.asarray(X)[:, 0]

class Telling(Plain):
    def diagnostics(self, X, y, X_unlabeled):
        assert len(X) + len(y) + len(X_unlabeled) == self.given_
        return {"objective": np.float32(0.5), "steps": self.given_}

class FromLabels(Plain):
    def fit(self, X, y): return self
    def diagnostics(self, X, y): return {"objective": len(X)}

class Infinite(Plain):
    def diagnostics(self, **training): return {"objective": np.inf, "steps": 3}

class Failing(Plain):
    def diagnostics(self, **training): raise ValueError("no value")

class Ending(Plain):
    def diagnostics(self, **training): sys.exit(3)

class Wordy(Plain):
    def diagnostics(self, **training): return {"objective": "small"}

class Hidden(Plain):
    @property
    def diagnostics(self): raise RuntimeError("not to be seen")

class Listing(Plain):
    def diagnostics(self, **training): return [1.0]

class Endless(Plain):
    def diagnostics(self, **training): return dict.fromkeys(map(str, range(101)), 0.0)

class Large(Plain):
    def diagnostics(self, **training):
        return {"bytes": np.ones(2**25).nbytes}
"""


@pytest.fixture
def run(toy, own_modules):
    """A function that fits a class once: its record, as it is stored, and the results."""

    def fitted(solver):
        own_modules("diagnosed", MODULE)
        config = {
            "dataset": {
                "path": "toy.csv",
                "loader": "delimited",
                "target": {"positive": [1]},
            },
            "protocol": {"kind": "semi_supervised_auc", "trials": 1, "labeled": 30, "folds": 3},
            "solvers": {"mine": {"kind": f"diagnosed:{solver}"}},
            "outputs": [],
        }
        path = toy.parent / "diagnosed.yaml"
        path.write_text(yaml.safe_dump(config))
        folder = toy.parent / "results"
        outcome = run_experiment(load_experiment(path), folder, Options(once=True))
        assert not outcome.failures
        results = load_results(folder)
        lines = (folder / "cells.jsonl").read_text().splitlines()
        return json.loads(lines[-1]), results

    return fitted


def test_the_numbers_are_in_the_record_and_in_the_table_of_fits(run):
    record, results = run("Telling")
    expected = {"objective": 0.5, "steps": record["estimator"]["given_"]}
    assert record["diagnostics"] == expected and "warnings" not in record
    assert results.cells["diagnostics"].tolist() == [expected]


def test_only_the_arrays_are_given_that_fit_names(run):
    assert run("FromLabels")[0]["diagnostics"] == {"objective": 30}


def test_an_estimator_without_any_has_none(run):
    record, results = run("Plain")
    assert "diagnostics" not in record and "warnings" not in record
    assert results.cells["diagnostics"].tolist() == [{}]


def test_a_number_that_is_not_finite_is_left_out_with_a_warning(run):
    record, _ = run("Infinite")
    assert record["diagnostics"] == {"steps": 3} and record["scores"]["auc"] is not None
    assert record["warnings"] == ["the diagnostic 'objective' is not a finite number"]


@pytest.mark.parametrize(
    ("solver", "told"),
    [
        ("Failing", "ValueError: no value"),
        ("Ending", "SystemExit: 3"),
        ("Wordy", "got 'small'"),
        ("Hidden", "RuntimeError: not to be seen"),
        ("Listing", "AttributeError"),
        ("Endless", "at most 100 items"),
    ],
)
def test_an_error_costs_the_diagnostics_only(run, solver, told):
    record, _ = run(solver)
    assert record["status"] == "ok" and record["scores"]["auc"] is not None
    assert "diagnostics" not in record
    (warning,) = record["warnings"]
    assert warning.startswith("no diagnostics: ") and told in warning


def test_they_are_outside_of_every_clock_and_of_the_peak_memory(run):
    plain, large = run("Plain")[0], run("Large")[0]
    assert large["diagnostics"] == {"bytes": 2**28}
    assert set(large["times"]) == set(plain["times"])
    assert large["peak_memory"] < plain["peak_memory"] + 2**27

"""Numbers that an estimator gives of its fit go into the record, and can never cost it."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from tests.conftest import change_toy
from tests.experiment.runs import stored

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

class FromLabels(Plain):
    def fit(self, X, y): return self
    def diagnostics(self, X, y): return {"objective": len(X)}

class Hidden(Plain):
    @property
    def diagnostics(self): raise RuntimeError("not to be seen")

class Telling(Plain):
    def diagnostics(self, X, y, X_unlabeled):
        assert len(X) + len(y) + len(X_unlabeled) == self.given_
        {body}
"""
BODIES = {
    "raise ValueError('no value')": "ValueError: no value",
    "sys.exit(3)": "SystemExit: 3",
    "return {'objective': 'small'}": "got 'small'",
    "return [1.0]": "AttributeError",
    "return dict.fromkeys(map(str, range(101)), 0.0)": "at most 100 items",
    "Hidden": "RuntimeError: not to be seen",
}
"""What is done in place of returning numbers, and how that is told."""


@pytest.fixture
def fitted(toy, own_modules):
    """A function that fits a class once: its record, as it is stored."""

    def fitted(solver, body="return {}"):
        own_modules("diagnosed", MODULE.replace("{body}", body))
        solvers, sweep = {"mine": {"kind": f"diagnosed:{solver}"}}, {"unlabeled": ["all"]}
        parts = {"protocol": {"trials": 1}, "solvers": solvers, "sweep": sweep, "outputs": []}
        path = change_toy(toy, "diagnosed.yaml", **parts)
        folder = toy.parent / "results"
        outcome = run_experiment(load_experiment(path), folder, Options(once=True))
        assert not outcome.failures
        record = stored(folder)[-1]
        assert load_results(folder).cells["diagnostics"].tolist() == [record.get("diagnostics", {})]
        return record

    return fitted


def test_the_numbers_are_in_the_record_and_in_the_table_of_fits(fitted):
    record = fitted("Telling", "return {'objective': np.float32(0.5), 'steps': self.given_}")
    assert record["diagnostics"] == {"objective": 0.5, "steps": record["estimator"]["given_"]}
    assert "warnings" not in record
    assert fitted("FromLabels")["diagnostics"] == {"objective": 30}, "of the arrays that fit names"
    plain = fitted("Plain")
    assert "diagnostics" not in plain and "warnings" not in plain


def test_a_number_that_is_not_finite_is_left_out_with_a_warning(fitted):
    record = fitted("Telling", "return {'objective': np.inf, 'steps': 3}")
    assert record["diagnostics"] == {"steps": 3} and record["scores"]["auc"] is not None
    assert record["warnings"] == ["the diagnostic 'objective' is not a finite number"]


@pytest.mark.parametrize("body", BODIES)
def test_an_error_costs_the_diagnostics_only(fitted, body):
    record = fitted("Hidden") if body == "Hidden" else fitted("Telling", body)
    assert record["status"] == "ok" and record["scores"]["auc"] is not None
    assert "diagnostics" not in record
    (warning,) = record["warnings"]
    assert warning.startswith("no diagnostics: ") and BODIES[body] in warning


def test_they_are_outside_of_every_clock_and_of_the_peak_memory(fitted):
    plain, large = fitted("Plain"), fitted("Telling", "return {'bytes': np.ones(2**25).nbytes}")
    assert large["diagnostics"] == {"bytes": 2**28}
    assert set(large["times"]) == set(plain["times"])
    assert large["peak_memory"] < plain["peak_memory"] + 2**27

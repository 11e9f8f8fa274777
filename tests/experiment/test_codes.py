"""Results that other code has computed: told, computed again on request, and not otherwise."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.experiment.cells import ended_record, run_job
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import make_plan, solver_code
from dsgkit.experiment.records import sealed
from dsgkit.solvers.catalogue import SOLVERS
from tests.conftest import change_toy
from tests.experiment.runs import dsg_here, stored

SOLVER = """
from dsgkit.solvers.base import PairwiseAUCEstimator
from helper import column

class Mine(PairwiseAUCEstimator):
    {version}

    def __init__(self, lam=0.5):
        self.lam = lam

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return column(X)
"""
HELPER = '''
def column(X):
    """Return a column."""
    return X[:][:, 0]
'''
EDITED = HELPER.replace(", 0]", ", 1]")
CELLS = 2 * (2 + 2)
RESULTS = Path("results") / "toy"


@pytest.fixture
def run(toy, own_modules):
    """A function that runs a user's solver in a class of some version with some helper."""

    def run(helper=HELPER, *options, version="version = 1", code=0):
        own_modules("helper", helper)
        own_modules("mine", SOLVER.format(version=version))
        solver = {"kind": "mine:Mine", "grid": {"lam": [1.0, 2.0]}}
        change_toy(toy, solvers={"mine": solver}, outputs=["auc_table"])
        done, out, err = dsg_here(toy.parent, "run", "toy.yaml", *options)
        assert done == code, err
        return counted(out), without_trials(err)

    return run


def counted(out):
    """Return how many cells a run computed and reused."""
    return re.search(r"^\d+ cells computed, \d+ reused", out, re.MULTILINE)[0]


def without_trials(err):
    """Return what a run says besides the lines on trials that have ended."""
    return "".join(x for x in err.splitlines(keepends=True) if not x.startswith("trial "))


def scores(toy):
    records = {record["key"]: record for record in stored(toy.parent / RESULTS)}
    return [record["scores"]["auc"] for record in records.values() if record["kind"] == "fit"]


@pytest.mark.slow
def test_cells_of_other_code_are_told_and_computed_again_on_request(run, toy):
    assert run() == (f"{CELLS} cells computed, 0 reused", "")
    first = scores(toy)
    comments = HELPER.replace("a column", "the first column") + "# edited\n"
    assert run(comments) == (f"0 cells computed, {CELLS} reused", "")
    reused, err = run(EDITED)
    assert reused == f"0 cells computed, {CELLS} reused"
    assert err == (
        f"reused: {CELLS} cells computed by other code (Mine {CELLS}); "
        "--renew computes them again\n"
    )
    assert scores(toy) == first
    sentence = f"toy.csv: {CELLS} cells computed by other code (Mine {CELLS})."
    assert dsg_here(toy.parent, "report", RESULTS)[0] == 0
    assert sentence in (toy.parent / RESULTS / "report.html").read_text()
    assert run(EDITED, "--renew") == (f"{CELLS} cells computed, 0 reused", "")
    assert scores(toy) != first
    assert len(stored(toy.parent / RESULTS)) == 2 * CELLS  # the earlier ones are still there
    assert run(EDITED, "--renew") == (f"0 cells computed, {CELLS} reused", "")


@pytest.mark.parametrize("text", [HELPER + "# edited\n", EDITED])
def test_without_a_version_only_code_computes_again(run, text):
    run(version="pass")
    computed = CELLS if text == EDITED else 0
    assert run(text, version="pass") == (
        f"{computed} cells computed, {CELLS - computed} reused",
        "",
    )


def test_records_from_before_are_of_unknown_code(run, toy):
    run()
    path = toy.parent / RESULTS / "cells.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    without = [{k: v for k, v in record.items() if k != "code"} for record in records]
    path.write_bytes(b"".join(map(sealed, without[1:])) + sealed(records[0] | {"code": "0" * 16}))
    told = f"{CELLS - 1} cells without a record of the code"
    assert " ".join(run()[1].split()) == (
        f"reused: 1 cell computed by other code (Mine 1); --renew computes them again; {told}"
    )
    first = 1 + 2 * (records[0]["kind"] == "search")  # its fits follow a search
    assert run(HELPER, "--renew")[0] == f"{first} cells computed, {CELLS - first} reused"


def test_a_cell_that_fails_is_of_the_code_that_failed(run, toy):
    run(HELPER.replace(", 0]", ", 9]"), code=1)
    run(HELPER)
    assert len({record["code"] for record in stored(toy.parent / RESULTS)}) == 2


def test_a_copy_from_another_folder_keeps_its_code(run):
    run()
    reused, err = run(EDITED, "--out", "results/other")
    assert reused == f"{CELLS} cells computed, 0 reused"
    shutil.move("results/other/toy", "results/elsewhere")
    shutil.rmtree(RESULTS)
    reused, err = run(HELPER)
    assert "computed by other code" in err


def test_a_record_has_the_code_of_the_process_that_computes_it(toy, in_process):
    """A worker, or a node of a cluster, may have other code than the process that plans."""
    experiment = load_experiment(toy)
    dataset = load_dataset(experiment.dataset)
    cell = next(c for c in make_plan(experiment, dataset) if c.solver == "rff_s2auc")
    planned = replace(cell, code="0" * 16)
    job = Job(experiment, dataset.content_hash, SOLVERS["rff_s2auc"].version, planned, {}, Limits())
    assert run_job(job)["code"] == solver_code(experiment, "rff_s2auc") == cell.code
    assert ended_record(job, "crashed", "")["code"] == planned.code

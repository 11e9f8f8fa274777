"""Made-up results, and the judgement of a criterion on them."""

import itertools
import json
import sys
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

import dsgkit.papers.figures  # noqa: F401 - keeps `papers` as it is before a test replaces it
from dsgkit import cli
from dsgkit.papers import claims, evidence
from dsgkit.papers.claims import Judgement, read_paper
from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import Case
from tests.report.conftest import (
    AUC,
    ERROR,
    RANKING,
    experiment_for,
    records_of,
    results_of,
    solver_of,
)

TASK = RANKING.model_copy(
    update={
        "measures": (replace(AUC, traced=True), ERROR, *RANKING.measures[-2:]),
    }
)
DATASETS = ("codrna", "ijcnn1", "skin", "dota2")


@pytest.fixture
def made(tmp_path):
    """Return a function that makes results of fits.

    ``fits`` has, for each solver and size, what its trials came to: values of ``of``, a status, or
    fields of a record.
    """
    numbers = itertools.count()

    def make(fits, of="auc", dataset="codrna", name=None, params=None, task=TASK):
        solvers = {
            key: solver_of(f"mine:{key}", key, params=(params or {}).get(key, {})) for key in fits
        }
        values = {
            key: {n: [fields_of(of, value) for value in trials] for n, trials in sizes.items()}
            for key, sizes in fits.items()
        }
        experiment = experiment_for(values, task, solvers, dataset, name=name)
        records = records_of(experiment, values, full=True)
        return results_of(tmp_path / str(next(numbers)), experiment, records, task)

    return make


def fields_of(name, value):
    """Return the fields of a record of a value, or of how a fit ended."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        status, _, searching = value.partition(" ")
        told = {"message": f"{searching}: stopped"} if searching else {}
        if status == "refused":
            return {"status": "out_of_memory", "needed": 10**12} | told
        return {"status": status} | ({"timeout": 90.0} if status == "timeout" else {}) | told
    if name == "fit":
        return {"times": {"fit": value}}
    if name in ("auc", "error"):
        return {"scores": {name: value}}
    return {name: value} if name == "peak_memory" else {"diagnostics": {name: value}}


def by_dataset(*of_each):
    """Return what each dataset has."""
    return dict(zip(DATASETS, of_each, strict=False))


@pytest.fixture
def judge(made):
    """Return a function from a criterion and fits (of all datasets, or of each) to a verdict."""

    def judge_fits(criterion, fits, datasets=DATASETS, missing=(), **besides):
        by_dataset = fits if set(fits) <= set(DATASETS) else dict.fromkeys(datasets, fits)
        cases = [
            Case(name, made(of, criterion.get("measure", "fit"), name, **besides))
            for name, of in by_dataset.items()
        ]
        return judged(criterion, Scope(cases, missing=missing))

    return judge_fits


def judged(criterion, scope):
    """Return the verdict and the points of a criterion as a file has it."""
    one = TypeAdapter(Judgement).validate_python({"by": "protocol", **criterion})
    return one.judge(scope)


PAPER = """
number: 1
key: mine
title: A paper
citation: Somebody, 2020
task: semi_supervised_auc
suffix: s2auc
profiles: {protocol: [reference, ""], useful: [wide]}
datasets: {own: [codrna, ijcnn1, skin, dota2], absent: [higgs]}
claims:
- id: mine-01
  claim: A is as good as b.
  place: sect. 1
  kind: accuracy
  judged:
  - {by: protocol, test: equal, a: own, b: other, measure: auc, margin: 0.01}
  - {by: useful, test: equal, a: own, b: other, measure: auc, margin: 0.01}
  why_not: {words: The grid is too coarse., study: grids}
- id: mine-02
  claim: The error falls like 1/t.
  place: Theorem 1
  kind: convergence
  judged:
  - {by: protocol, test: rate, study: convergence, x: t, y: errors, exponent: -1, tolerance: 0.1}
"""
GOOD, BAD = [0.9, 0.91, 0.9, 0.89, 0.9], [0.8, 0.81, 0.8, 0.79, 0.8]


@pytest.fixture
def folders(made, tmp_path, monkeypatch):
    """Make results in which a is worse by the protocol and as good by the useful profile."""
    root = tmp_path / "kept"
    found = {}
    for dataset in DATASETS:
        for profile, own in (("reference", BAD), ("wide", GOOD)):
            name = f"{dataset}_s2auc-{profile}"
            fits = {"own": {2000: own}, "other": {2000: GOOD}}
            results = made(fits, dataset=dataset, name=name)
            (root / name).parent.mkdir(exist_ok=True)
            results.folder.rename(root / name)
            found[name] = results
    (root / "notes").mkdir()
    (root / "studies").mkdir()
    numbers = {"t": [1, 10, 100], "errors": [1, 0.1, 0.01]}
    (root / "studies" / "convergence.json").write_text(json.dumps({"numbers": numbers}))
    monkeypatch.setattr(evidence, "load_results", lambda folder: found[folder.name])
    return root


@pytest.fixture
def run_dsg(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command with the made-up paper in the place of the others."""
    file = tmp_path / "mine.yaml"
    file.write_text(PAPER)
    monkeypatch.setattr(claims, "papers", lambda: (read_paper(file),))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", command, *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run

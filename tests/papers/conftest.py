"""A made-up paper, kept results by which it is judged, and its commands."""

import itertools
import json
import sys
from dataclasses import replace

import pytest

import dsgkit.papers.figures  # noqa: F401 - keeps `papers` as it is before a test replaces it
from dsgkit import cli
from dsgkit.papers import schema
from dsgkit.papers.schema import Paper, read_strictly
from tests.papers.judged import DATASETS, PAPER, fields_of, run_of, write_kept
from tests.report.conftest import (
    AUC,
    ERROR,
    RANKING,
    experiment_for,
    records_of,
    results_of,
    solver_of,
)

GOOD, BAD = [0.9, 0.91, 0.9, 0.89, 0.9], [0.8, 0.81, 0.8, 0.79, 0.8]


@pytest.fixture
def folders(tmp_path):
    """Make kept results in which a is worse by the protocol and as good by the useful profile."""
    root = tmp_path / "kept"
    for dataset, (profile, own) in itertools.product(
        DATASETS, (("reference", BAD), ("wide", GOOD))
    ):
        run = run_of({"own": {2000: own}, "other": {2000: GOOD}}, "auc", dataset)
        write_kept(root / f"{dataset}_s2auc-{profile}", run)
    (root / "notes").mkdir()
    (root / "studies").mkdir()
    numbers = {"t": [1, 10, 100], "errors": [1, 0.1, 0.01]}
    (root / "studies" / "convergence.json").write_text(json.dumps({"numbers": numbers}))
    return root


@pytest.fixture
def run_dsg(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command with the made-up paper in the place of the others."""
    file = tmp_path / "mine.yaml"
    file.write_text(PAPER)
    monkeypatch.setattr(schema, "papers", lambda: (read_strictly(file, Paper, "judged"),))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", command, *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


# for the tests of pages, which are of `Results`

TASK = RANKING.model_copy(
    update={"measures": (replace(AUC, traced=True), ERROR, *RANKING.measures[-2:])}
)


@pytest.fixture
def made(tmp_path):
    """Return a function that makes results of fits, as `run_of` does."""
    numbers = itertools.count()

    def make(fits, of="auc", dataset="codrna", name=None, params=None, task=TASK):
        solvers = {
            key: solver_of(f"mine:{key}", key, params=(params or {}).get(key, {})) for key in fits
        }
        values = {
            key: {n: [flat(of, value) for value in trials] for n, trials in sizes.items()}
            for key, sizes in fits.items()
        }
        experiment = experiment_for(values, task, solvers, dataset, name=name)
        records = records_of(experiment, values, full=True)
        return results_of(tmp_path / str(next(numbers)), experiment, records, task)

    return make


def flat(of, value):
    return value if isinstance(value, dict) else fields_of(of, value)

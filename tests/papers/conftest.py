"""A made-up paper, kept results by which it is judged, and its commands."""

import itertools
import json
import sys

import pytest

import dsgkit.papers.figures  # noqa: F401 - keeps `papers` as it is before a test replaces it
from dsgkit import cli
from dsgkit.papers import schema
from dsgkit.papers.schema import Paper, read_strictly
from tests.papers.judged import DATASETS, PAPER, run_of, write_kept

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

"""The examples in docstrings and in scripts/examples run, and print what they show."""

import doctest
import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import dsgkit

PACKAGE = Path(dsgkit.__file__).parent


def with_examples():
    """The names of the modules that show an example."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"^ +>>> |^@with_example", path.read_text(), re.MULTILINE):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [*with_examples()])
def test_the_examples_of_a_module_run(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def numbers(printed):
    """Return the last number of each line of a table of names and numbers."""
    found = re.findall(r"^(\S.*?)  +.*?([\d.]+)$", printed, re.MULTILINE)
    return {name: float(number) for name, number in found}


BETTER = {  # first is a higher score, or for grades a smaller error, than the second
    "few_labels": ("QSG-S2AUC", "QSG-S2AUC, labelled rows alone"),
    "similar_pairs": ("TSGSU, pairs and unlabelled rows", "k-means, unlabelled rows alone"),
    "clusters": ("BSGD-LMOC, clusters named by labels", "SVM, labelled rows alone"),
    "ordered_ratings": ("The median grade", "QS3ORAO"),
}
EXAMPLES = Path(__file__).parents[1] / "scripts" / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", BETTER)
def test_an_example_shows_what_its_method_adds(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    scores = numbers(capsys.readouterr().out)
    better, worse = BETTER[name]
    assert scores[better] > scores[worse] + 0.05


@pytest.mark.slow
def test_an_own_solver_is_run_read_and_plotted(tmp_path):
    command = [sys.executable, str(EXAMPLES / "own_solver.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()[3:]]
    assert [row[0] for row in rows] == ["50", "500", "3970"]
    assert all(float(ours) > float(labeled_alone) + 0.1 for _, ours, labeled_alone in rows)
    assert (tmp_path / "own_solver.png").read_bytes().startswith(b"\x89PNG")


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*BETTER, "own_solver"}

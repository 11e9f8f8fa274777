"""What the README shows can be run."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from dsgkit.config import load_experiment
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def block(language, after=""):
    text = README[README.index(after) :]
    return re.search(rf"```{language}\n(.*?)```", text, re.DOTALL).group(1)


def test_its_config_loads(tmp_path):
    base = ROOT / "configs" / "base" / "s2auc.yaml"
    (tmp_path / "mine.yaml").write_text(block("yaml").replace("base/s2auc.yaml", str(base)))
    experiment = load_experiment(tmp_path / "mine.yaml", profile="quick")
    shipped = load_experiment(ROOT / "configs" / "codrna_s2auc.yaml").solvers
    assert list(experiment.solvers) == [*(key for key in shipped if key != "samult"), "rff_big"]
    assert experiment.protocol.trials == 3
    assert experiment.solvers["qsg_s2auc"].params["t0"] == "stable"


def test_its_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    names = {
        "X": X,
        "y": np.arange(40) % 2,
        "X_unlabeled": rng.random((60, 2)),
        "X_new": rng.random((10, 2)),
        "folds": np.array_split(np.arange(40), 5),
        "lams": [0.5, 1.0],
        "gammas": [0.0, 1.0],
    }
    exec(block("python"), names)
    assert names["scores"].shape == (10,)
    assert names["values"].shape == (4, 40)


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
def test_its_code_with_pairs_runs():
    names = {}
    exec(block("python", "Pairs of rows of one class"), names)
    assert names["model"].score(names["X_unlabeled"], 2 * names["y"][200:] - 1) > 0.8


def test_its_solver_runs(toy, monkeypatch, own_modules, in_process):
    monkeypatch.chdir(toy.parent)
    mine = "### A solver of your own"
    own_modules("my_solvers", block("python", mine))
    config = yaml.safe_load(toy.read_text()) | yaml.safe_load(block("yaml", mine))
    toy.write_text(yaml.safe_dump(config))
    outcome = run_experiment(load_experiment(toy), toy.parent / "results", Options(once=True))
    assert outcome.failures == []
    cells = load_results(toy.parent / "results").cells
    assert set(cells["label"]) == {"LDA"}
    assert cells["auc"].min() > 0.8


def test_the_files_it_names_are_there():
    for path in re.findall(r"(?:configs|scripts|dsgkit)/[\w/]+\.(?:yaml|py)", README):
        assert (ROOT / path).is_file(), path

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
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", *sorted(ROOT.glob("*/README.md")))
}
README, PACKAGE, CONFIGS = PAGES["README.md"], PAGES["dsgkit/README.md"], PAGES["configs/README.md"]


def blocks(language, page):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def block(language, page, after=""):
    return blocks(language, page[page.index(after) :])[0]


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        (tmp_path / "mine.yaml").write_text(text.replace("base/", f"{ROOT}/configs/base/"))
        return load_experiment(tmp_path / "mine.yaml", **options)

    return load


def test_every_config_loads(load):
    whole = [
        text
        for page in PAGES.values()
        for text in blocks("yaml", page)
        if "\nextends:" in f"\n{text}"
    ]
    assert len(whole) == 7
    for text in whole:
        assert load(text).solvers


def test_a_config_is_laid_over_its_base(load):
    experiment = load(block("yaml", CONFIGS), profile="quick")
    shipped = load_experiment(ROOT / "configs" / "codrna_s2auc.yaml").solvers
    assert list(experiment.solvers) == [*(key for key in shipped if key != "samult"), "rff_big"]
    assert experiment.protocol.trials == 3
    assert experiment.solvers["qsg_s2auc"].params["t0"] == "stable"


@pytest.mark.parametrize("page", [README, PACKAGE], ids=["front page", "package"])
def test_code_with_labelled_and_unlabelled_rows_runs(page, tmp_path, monkeypatch):
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
    exec(block("python", page), names)
    assert names["scores"].shape == (10,)
    if page is PACKAGE:
        assert names["values"].shape == (4, 40)


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
def test_code_with_pairs_runs():
    names = {}
    exec(block("python", PACKAGE, "Pairs of rows of one class"), names)
    assert names["model"].score(names["X_unlabeled"], 2 * names["y"][200:] - 1) > 0.8


def test_code_with_clusters_runs():
    names = {}
    exec(block("python", PACKAGE, "Clusters:"), names)
    assert names["model"].n_clusters_ == 2


def test_a_solver_runs(toy, monkeypatch, own_modules, in_process):
    monkeypatch.chdir(toy.parent)
    mine = "## A solver of your own"
    own_modules("my_solvers", block("python", PACKAGE, mine))
    config = yaml.safe_load(toy.read_text()) | yaml.safe_load(block("yaml", PACKAGE, mine))
    toy.write_text(yaml.safe_dump(config))
    outcome = run_experiment(load_experiment(toy), toy.parent / "results", Options(once=True))
    assert outcome.failures == []
    cells = load_results(toy.parent / "results").cells
    assert set(cells["label"]) == {"LDA"}
    assert cells["auc"].min() > 0.8


def test_the_front_page_is_short():
    assert len(README.split()) < 1000


@pytest.mark.parametrize("name", PAGES)
def test_the_files_that_a_page_names_are_there(name):
    text = PAGES[name]
    for path in re.findall(r"(?:configs|scripts|dsgkit)/[\w/]+\.(?:yaml|py|md)", text):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / name).parent.joinpath(path).exists(), path


def test_every_measurement_is_listed():
    scripts = {
        path.name
        for path in (ROOT / "scripts").glob("*.py")
        if path.name.startswith(("bench_", "study_"))
    }
    assert scripts == {
        *re.findall(r"^\| `((?:bench|study)_\w+\.py)", PAGES["scripts/README.md"], re.M)
    }

"""What the README shows can be run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.preprocessing import minmax_scale

from dsgkit import load_results
from dsgkit.cli import cli
from dsgkit.config.schema import load_experiment
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.seeds import derive_seed, permutation

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("*/README.md")))
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


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """A function that runs a block of Python that uses no name of another one."""

    def execute(text, folder=tmp_path):
        monkeypatch.chdir(folder)
        exec(text, names := {"__name__": "block"})
        return names

    return execute


def test_the_front_page_shows_what_unlabelled_rows_add(execute, capsys):
    text = block("python", README)
    execute(text)
    with_all, labeled_alone = map(float, capsys.readouterr().out.split())
    assert f"# {with_all}, then {labeled_alone}\n" in text
    assert with_all > labeled_alone + 0.2


def test_code_with_labelled_and_unlabelled_rows_runs(execute):
    names = execute(block("python", PACKAGE))
    model, values = names["model"], names["values"]
    assert names["scores"].shape == (100,)
    assert values.shape == (6, 60)
    assert np.isfinite(values).all() and model.score(names["X_new"], names["classes"][300:]) > 0.8


def test_code_with_pairs_and_with_clusters_runs(execute):
    names = execute(block("python", PACKAGE, "Pairs of rows of one class"))
    assert round(names["accuracy"], 2) == 0.95
    low, high = names["model"].prior_interval_
    assert low < np.mean(names["hidden"] == 1) < high
    assert execute(block("python", PACKAGE, "Clusters:"))["model"].n_clusters_ == 2


def test_code_with_ordered_classes_runs(execute):
    names = execute(block("python", PACKAGE, "Ordered classes:"))
    X_new, model, values = names["X_new"], names["model"], names["values"]
    assert np.array_equal(names["predicted"], (values[:, None] > model.thresholds_).sum(axis=1))
    model, columns = names["per_cut"], names["columns"]
    assert columns.shape == (100, 2)
    assert np.array_equal(model.predict(X_new), (columns > model.thresholds_).sum(axis=1))


def test_code_with_results_runs(execute):
    names = execute(block("python", PAGES["results/README.md"]), folder=ROOT)
    assert names["means"]["auc"].between(0.5, 1).all()
    assert names["lam"]["qs3orao"] > 0


def test_code_with_splits_runs(execute, finished, tmp_path):
    done = CliRunner().invoke(cli, ["export", "--splits", str(finished)])
    (tmp_path / "splits.csv").write_text(done.output)
    names = execute(blocks("python", PAGES["results/README.md"])[1])
    assert len({*names["labeled"], *names["unlabeled"]}) == 150


def test_a_block_of_python_defines_its_names(tmp_path):
    """By a linter: no name is undefined, no import without use."""
    for name, page in PAGES.items():
        for number, text in enumerate(blocks("python", page)):
            (tmp_path / f"{Path(name).parent.name or 'front'}_{number}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def run(tmp_path, monkeypatch, own_modules, in_process):
    """A function that runs a config with modules of one's own: what it ends with, and its cells."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))

    def run(config, **modules):
        for name, text in modules.items():
            own_modules(name, text)
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
        experiment = load_experiment(tmp_path / "mine.yaml")
        outcome = run_experiment(experiment, tmp_path / "results", Options(once=True))
        assert outcome.failures == []
        return experiment, load_results(tmp_path / "results")

    return run


MINE = "## User-defined solvers"


def test_a_solver_runs(toy, run):
    config = yaml.safe_load(block("yaml", PACKAGE, MINE))
    shutil.copy(toy.parent / "toy.csv", toy.parent / "rows.csv")
    experiment, cells = run(config, my_solvers=block("python", PACKAGE, MINE))
    assert set(cells["label"]) == {"LDA", "SVM (labelled rows)"}
    assert cells.query("solver == 'lda'")["auc"].min() > 0.8
    assert experiment.solvers["lda"].against == "svc"
    assert experiment.solvers["svc"].against is None


def ordinal_config(toy, **solvers):
    """Return a config of four ordered classes, with the rows of the toy dataset."""
    rows = np.loadtxt(toy.parent / "toy.csv", delimiter=",")
    classes = np.digitize(rows[:, 0] + 0.1 * rows[:, 1], [0.25, 0.5, 0.75])
    table = np.column_stack([rows[:, :-1], classes])
    np.savetxt(toy.parent / "classes.csv", table, delimiter=",", fmt="%.5f")
    return {
        "dataset": {"path": "classes.csv", "loader": "delimited", "target": {"ordered": True}},
        "protocol": {"kind": "ordinal", "labeled": 40, "trials": 2, "folds": 3},
        "solvers": solvers,
    }


def test_an_ordinal_solver_runs(toy, run):
    solver = {"kind": "my_ordinal:SemiLeastSquares", "grid": {"lam": [0.1, 1.0]}}
    config = ordinal_config(toy, mine=solver)
    _, cells = run(config, my_ordinal=block("python", PACKAGE, "The same for ordered classes"))
    assert cells["auc"].min() > 0.9
    assert cells["accuracy"].min() > 0.6


PIPELINES = block("python", PACKAGE, "For a pipeline,")


def test_a_pipeline_runs(toy, run):
    config = yaml.safe_load(block("yaml", PACKAGE, "For a pipeline,"))
    shutil.copy(toy.parent / "toy.csv", toy.parent / "rows.csv")
    _, cells = run(config, my_models=PIPELINES)
    assert cells["auc"].min() > 0.8


def test_a_function_that_makes_a_regressor_runs(toy, run):
    config = ordinal_config(toy, mine={"kind": "my_models:boosting"})
    _, cells = run(config, my_models=PIPELINES)
    assert cells["accuracy"].min() > 0.6


TASK = "## User-defined learning settings"


@pytest.fixture
def houses(tmp_path):
    """Prices in a table, as the package's page names it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) @ np.diag([3, 2, 1, 0.1, 0.1])
    price = 300 + 50 * X[:, 0] - 20 * X[:, 1] + 5 * rng.normal(size=200)
    table = pd.DataFrame(X, columns=list("abcde")).assign(price=price)
    table.to_csv(tmp_path / "houses.csv", index=False)
    return table


def test_a_task_runs(houses, run):
    """And its RMSE is that of scikit-learn's metric on the numbers in the file."""
    config = yaml.safe_load(block("yaml", PACKAGE, TASK))
    module = block("python", PACKAGE, TASK)
    task = module[: module.index("class ComponentRidge")]
    assert len(task.splitlines()) <= 60
    experiment, cells = run(config, my_regression=module)
    assert experiment.solvers["components"].against == "ridge"
    assert set(cells["solver"]) == {"components", "ridge"}
    X, price = houses.to_numpy()[:, :-1], houses["price"].to_numpy()
    X = minmax_scale(X.astype(np.float32))
    for trial in range(5):
        seed = derive_seed(experiment.seed, "split", trial)
        order = permutation(200, derive_seed(seed, "labeled"))
        labeled, others = order[:50], order[50:]
        expected = [
            root_mean_squared_error(
                price[others],
                Ridge(alpha).fit(X[labeled], price[labeled]).predict(X[others]),
            )
            for alpha in (0.01, 1)
        ]
        (found,) = cells.query("solver == 'ridge' and trial == @trial")["rmse"].unique()
        assert min(abs(found - value) for value in expected) < 1e-3
        assert found < 30 < price.std()


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

"""What the README shows can be run."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.preprocessing import minmax_scale

from dsgkit import load_results
from dsgkit.config.schema import load_experiment
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.seeds import derive_seed, permutation

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
def test_code_with_pairs_and_with_clusters_runs():
    names = {}
    exec(block("python", PACKAGE, "Pairs of rows of one class"), names)
    assert names["model"].score(names["X_unlabeled"], 2 * names["y"][200:] - 1) > 0.8
    exec(block("python", PACKAGE, "Clusters:"), names := {})
    assert names["model"].n_clusters_ == 2


def test_code_with_ordered_classes_runs():
    rng = np.random.default_rng(0)
    X, X_unlabeled, X_new = rng.random((60, 2)), rng.random((90, 2)), rng.random((10, 2))
    names = {"X": X, "y": np.digitize(X[:, 0], [0.3, 0.7]), "X_unlabeled": X_unlabeled}
    exec(block("python", PACKAGE, "Ordered classes:"), names := {**names, "X_new": X_new})
    model, values = names["model"], names["values"]
    assert values.shape == (10,)
    assert np.array_equal(names["classes"], (values[:, None] > model.thresholds_).sum(axis=1))
    model, columns = names["per_cut"], names["columns"]
    assert columns.shape == (10, 2)
    assert np.array_equal(model.predict(X_new), (columns > model.thresholds_).sum(axis=1))


def test_code_with_results_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    exec(block("python", PAGES["results/README.md"]), names)
    assert names["means"]["auc"].between(0.5, 1).all()
    assert names["lam"]["qs3orao"] > 0


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
    config = yaml.safe_load(toy.read_text()) | yaml.safe_load(block("yaml", PACKAGE, MINE))
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
    solvers = yaml.safe_load(block("yaml", PACKAGE, "For a pipeline,"))["solvers"]
    config = yaml.safe_load(toy.read_text()) | {"solvers": solvers}
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

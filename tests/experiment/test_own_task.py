"""The proof that runner and reports know no learning setting: one of a user's own, all the way."""

import shutil

import numpy as np
import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError
from dsgkit.experiment.folder import describe
from dsgkit.experiment.plan import make_plan
from dsgkit.seeds import derive_seed
from tests.experiment.own_task import rmse
from tests.experiment.runs import dsg_here, stored
from tests.test_wrong_inputs import cases

RIDGE = "tests.experiment.own_task:Ridge"
CONFIG = {
    "dataset": {"path": "rows.csv", "loader": "delimited"},
    "protocol": {"kind": f"{RIDGE}Task", "trials": 3},
    "solvers": {
        "ridge": {"kind": RIDGE, "grid": {"lam": [0.01, "mean_square", 100.0]}},
        "mean": {"kind": RIDGE, "params": {"lam": 1e6}, "label": "Mean"},
    },
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    X[:, 0] = X @ [0, 2, -1] + 0.05 * rng.normal(size=80)
    rows = np.column_stack([X, X[:, 0] > X[:, 0].mean()])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", fmt="%.5f")
    (tmp_path / "ridge.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


@pytest.mark.slow
def test_a_task_of_ones_own_goes_all_the_way(folder):
    """By the command line; then the search and the fits are done again by hand."""
    code, out, err = dsg_here(folder, "run", "ridge.yaml", "--report", "page.html")
    assert code == 0, err
    results = folder / "results" / "ridge"
    assert "RMSE on the held-out rows" in out and "9 cells computed, 0 reused" in out
    assert (results / "tables" / "rmse_table.csv").is_file()
    assert list((results / "figures").glob("rmse_boxplot*.pdf"))
    page = (folder / "page.html").read_text()
    assert "RMSE" in page and "unlabelled" not in page
    shutil.copytree(results, folder / "other")
    for command, expected in {
        "status results/ridge": "9 of 9 cells (100%) have a result; finished",
        "compare results/ridge other": "RMSE",
        "run ridge.yaml --dry-run": "ridge: 9 cells, each a search or a fit; 9 of them finished",
    }.items():
        code, out, err = dsg_here(folder, *command.split())
        assert (code, err) == (0, "") and expected in out

    experiment, records = load_experiment(folder / "ridge.yaml"), stored(results)
    dataset = load_dataset(experiment.dataset)
    for trial in range(3):
        of = {r["kind"]: r for r in records if (r["solver"], r["trial"]) == ("ridge", trial)}
        search, fit = of["search"], of["fit"]
        means = dict(zip([p["lam"] for p in search["points"]], search["fold_scores"], strict=True))
        best = min(means, key=lambda lam: np.mean(means[lam]))
        lam = 0.25 if best == "mean_square" else best
        assert fit["params"] == {"lam": best} and fit["estimator"]["lam"] == lam
        seed = derive_seed(experiment.seed, "split", trial)
        X, target, _ = experiment.task(dataset, experiment.protocol, seed).rows()
        A = X[20:].T @ X[20:] + lam * np.eye(2)
        expected = rmse(target[:20], X[:20] @ np.linalg.solve(A, X[20:].T @ target[20:]))
        assert fit["scores"] == {"rmse": pytest.approx(expected, rel=1e-6)}
        assert fit["at"] == {} and fit["full"] and fit["trace"][1] == {"seconds": 1.0, "rmse": 0.5}
        assert set(fit["times"]) >= {"fit", "assign"}
        with np.load(results / fit["artefact"]) as arrays:
            assert arrays["coefficients"].shape == (2,)


def test_settings_are_for_what_it_declares_and_checked_by_it(folder):
    def of(*overrides):
        return load_experiment(folder / "ridge.yaml", overrides=overrides)

    def keys(*overrides):
        cells = make_plan(of(*overrides), load_dataset(of().dataset)).cells
        return {(c.solver, c.kind): c.key for c in cells if c.trial == 0}

    before, after = keys(), keys("protocol.parts=4")
    assert before["mean", "fit"] == after["mean", "fit"]
    assert before["ridge", "fit"] != after["ridge", "fit"]
    assert not set(before.values()) & set(keys("protocol.held_out=0.5").values())
    assert describe(of()).not_of_splits == ("trials", "parts", "digits")
    for override, answer in (case.values for case in cases("overrides of a task of one's own")):
        with pytest.raises(ConfigError) as error:
            of(override)
        assert str(error.value) == answer

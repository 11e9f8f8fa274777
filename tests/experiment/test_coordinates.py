"""A search of a parameter's numbers, one after the other, through a whole run."""

from pathlib import Path

import numpy as np
import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.report import write_report
from tests.experiment.runs import stored

pytestmark = pytest.mark.usefixtures("in_process")

CONFIG = """
dataset: {path: rows.csv, loader: delimited, target: {ordered: true}}
protocol: {kind: ordinal, labeled: 40, folds: 2, trials: 1}
outputs: [auc_table]
solvers:
"""
SEARCHED = """\
  qs3orao:
    params: {batch_size: 8, n_features: 4, n_iterations: 12, thresholds: share}
    search:
    - grid: {lam: [0.25, 1], sigma: [0.5, 2], gamma: [0.25, 0.75]}
    - coordinates: {gamma: [0, 0.5, 1]}
"""


def alone(solver, params, coordinates):
    spec = f"  {solver}: {{params: {params}, search: [{{coordinates: {coordinates}}}]}}\n"
    Path("alone.yaml").write_text(CONFIG + spec)
    return load_experiment("alone.yaml")


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=120) / 4, [0.6, 1.0, 1.4])
    np.savetxt("rows.csv", np.column_stack([X, y]), delimiter=",")
    (tmp_path / "c.yaml").write_text(CONFIG + SEARCHED)
    return load_experiment("c.yaml")


def tried_in(record):
    return list(zip(record["points"], record["fold_scores"], strict=True))


def test_every_number_is_chosen_in_its_turn(experiment, tmp_path):
    outcome = run_experiment(experiment, tmp_path / "results" / "c", Options(once=True))
    assert outcome.failures == []
    *shares, search, fit = stored(tmp_path / "results" / "c")
    assert [len(share["points"]) for share in shares] == [4, 4]  # cut along sigma
    start = search["params"]
    pairs = [pair for share in shares for pair in tried_in(share)]
    assert start == max(pairs, key=lambda pair: np.mean(pair[1]))[0]
    gamma, tried = [start["gamma"]] * 3, iter(tried_in(search))
    best = -np.inf
    for cut in range(3):
        for value in dict.fromkeys([gamma[cut], 0, 0.5, 1]):
            point, scores = next(tried)
            assert point == {"gamma": [*gamma[:cut], value, *gamma[cut + 1 :]]}
            if np.mean(scores) > best + 1e-9:
                best, better = np.mean(scores), point["gamma"]
        gamma = better
    assert next(tried, None) is None
    assert fit["params"] == {**start, "gamma": gamma}
    assert fit["estimator"]["gamma"] == gamma
    again = run_experiment(experiment, tmp_path / "results" / "c", Options(once=True))
    assert (again.computed, again.reused) == (0, 4)
    write_report([load_results(tmp_path / "results" / "c")], tmp_path / "results" / "c")
    params = (tmp_path / "results" / "c" / "tables" / "params_table.md").read_text()
    assert f"[{' '.join(f'{g:g}' for g in gamma)}] (1)" in params


def test_its_work_is_that_of_all_numbers(experiment):
    plan = make_plan(experiment, load_dataset(experiment.dataset))
    grid, coordinates = plan[0], plan[2]
    assert coordinates.coordinate == "gamma"
    per_point = grid.work.training / 4
    assert coordinates.work.training == pytest.approx(3 * 3 * per_point, rel=0.3)


@pytest.mark.usefixtures("experiment")
def test_where_the_numbers_start_is_part_of_the_identity():
    plans = []
    for start in (0, 0.5):
        config = alone("m_pnu_auc", f"{{eta: {start}}}", "{eta: [-0.5, 0.5]}")
        plans.append([cell.key for cell in make_plan(config, load_dataset(config.dataset))])
    assert not set(plans[0]) & set(plans[1])


@pytest.mark.usefixtures("experiment")
def test_numbers_that_have_no_value_yet_start_from_the_first_one(tmp_path):
    config = alone("m_pnu_auc", "{n_centers: 5}", "{prior: [0.25, 0.5]}")
    assert run_experiment(config, tmp_path / "results", Options(once=True)).failures == []
    chosen = stored(tmp_path / "results")[-1]["params"]["prior"]
    assert len(chosen) == 3
    assert set(chosen) <= {0.25, 0.5}


@pytest.mark.usefixtures("experiment")
def test_as_many_numbers_to_start_from_as_cuts_are_asked_for(tmp_path):
    config = alone("exact_s2or", "{gamma: [0, 0]}", "{gamma: [0, 0.5]}")
    first = run_experiment(config, tmp_path / "results", Options(once=True)).failures[0]
    assert "gamma must be one number or 3, got 2" in str(first)

"""Short studies have the numbers that claims read, and what they compute agrees with others."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dsgkit.papers.tests import of_study
from dsgkit.report.stats import NEW_ROWS_RATIO
from tests.estimators.similar.problems import risk as su_risk
from tests.estimators.similar.problems import squared
from tests.scripts.conftest import KEPT, invoke, numbers_of

SHORT = [
    ("study_convergence", "--seeds 1 --most 128", "squared_distances feature_errors data_errors"),
    ("study_convergence", "--seeds 1 --most 128 --ordinal --theta-lam 2", "iterations data_errors"),
    (
        *("study_gradient_norm", "--seeds 1 --most 64 --starts"),
        "starts.opposite.objectives.0.1 excess.random slopes.zero.by_regularizer",
    ),
    ("study_gradient_norm", "--seeds 1 --most 64 --objective su --correction none", "bounds.0"),
    (
        *("study_gradient_norm", "--seeds 1 --most 64 --objective su --correction-at sample"),
        "iterations squared_gradients squared_distances",
    ),
    (
        *("study_gradient_norm", "--seeds 1 --most 64 --objective su --correction-at all_rows"),
        "negative_batches negative_samples slopes.zero.squared_gradients",
    ),
    (
        *("study_risks", "--binary layers_2 --ordinal layers_5 --draws 20"),
        "binary.zero_one_risks.all_rows ordinal.squared_risks.all_rows",
    ),
    ("study_thresholds", "layers_5 --trials 1", "hinge.widths hinge.gaps share.mae"),
    ("study_resampled_test", "--datasets 2", "false_positives found half_width"),
    ("study_budget", "moons --seeds 1 --budget 20", "means.0.purity overall.6.compactness"),
    (
        *("study_cluster_mass", "--dataset moons --seeds 1 --most 150 --budget 10"),
        "steps budget supports.pnn averaged_gaps.removal_at_random bounds.removal",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments", "places"), SHORT)
def test_a_short_study_has_the_numbers_that_claims_read(
    script, tmp_path, monkeypatch, name, arguments, places
):
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    scope = script(name)
    if name == "study_budget":
        scope.update(GAMMAS=[2.0], MARGIN_C=[128.0], SPHERE_C=[0.125])
    file = tmp_path / "study.json"
    invoke(scope["main"], *arguments.split(), "--json", file, code=None)  # it may miss a rate
    kept = json.loads(file.read_text())
    assert kept["made_by"]["script"] == f"scripts/{name}.py" and kept["made_by"]["commit"]
    assert str(tmp_path) not in file.read_text()
    for place in places.split():
        assert np.isfinite(of_study(kept, "numbers", place)).all()


@pytest.mark.parametrize(("rate", "code"), [(-1.0, 0), (-0.6, 1), (np.nan, 1)])
def test_a_slope_that_is_not_the_theorems_ends_with_code_1(script, rate, code):
    scope = script("study_convergence")
    scope["minimiser"] = lambda *_: None
    scope["errors_of"] = lambda run, exact, at: [np.array(at, float) ** r for r in (-1, -1, rate)]
    output = invoke(scope["main"], code=code).output
    assert ("missed: slope of data_errors" in output) == bool(code)


def test_a_replay_is_a_loop_over_triplets_with_the_exact_kernel(script):
    """With many frequencies f is h, which that loop gives too."""
    scope = script("study_convergence")
    scope.update(N_LABELED=20, N_UNLABELED=40, N_INPUTS=3, BATCH=8, N_FREQUENCIES=8192)
    X, y = scope["synthetic_rows"](2)
    run = scope["training"](X, y, 2.0, 1.5, 16, 0)
    *_, last = scope["replay"](run, [16])
    K = np.exp(-((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    beta = np.zeros(60)
    for t, (p, n, u) in enumerate(zip(*run.rows()[1], strict=True), start=1):
        h = K @ beta
        beta *= 1 - 1.5 / t
        for i, j, k in zip(p, n, u, strict=True):
            pn, pu, un = (1 - h[a] + h[b] for a, b in ((i, j), (i, k), (k, j)))
            step = 1.5 / 2 / t * 2 / 8
            beta[i] += step * (pn + pu) / 2
            beta[j] -= step * (pn + un) / 2
            beta[k] += step * (un - pu) / 2
    np.testing.assert_allclose(last.beta, beta, atol=0.01 * np.abs(beta).max())
    np.testing.assert_allclose(last.h, run.K @ last.beta, atol=1e-9)
    assert np.abs(last.f - last.h).max() < 0.05 * np.abs(last.h).max()


def s3vm_risk(run, h):
    p, n, _ = run.rows()[0]
    labeled = np.concatenate([np.maximum(0, 1 - h[p]), np.maximum(0, 1 + h[n])]).mean()
    return 10 * labeled + 2 * np.mean(np.maximum(0, 1 - np.abs(h[200:])))


def corrected_risk(run, h):
    of_class = [lambda z, t, y=y: squared(z, t) * (t == y) for y in (1, -1)]
    return sum(abs(su_risk(h[:60].reshape(30, 2), h[60:], 0.8, loss)) for loss in of_class)


@pytest.mark.parametrize(
    ("training", "risk"), [("s3vm_training", s3vm_risk), ("su_training", corrected_risk)]
)
def test_the_gradient_of_the_study_is_that_of_the_objective(script, training, risk):
    """Central differences along a direction in the RKHS, away from kinks by chance."""
    scope = script("study_gradient_norm")
    scope.update(N_PAIRS=30, N_UNLABELED=50)
    given = () if risk is s3vm_risk else ("abs", "batch")
    run = scope[training](*given, 16, 0)
    pools, K = run.rows()[0], run.K
    beta, direction = np.random.default_rng(0).normal(size=(2, len(K))) * [[0.05], [1]]

    def objective(b):
        return run.lam / 2 * b @ K @ b + risk(run, K @ b)

    assert scope["objective"](run, pools, beta, K @ beta) == pytest.approx(objective(beta))
    step = 1e-6 * direction
    expected = (objective(beta + step) - objective(beta - step)) / 2e-6
    found = direction @ K @ scope["gradient"](run, pools, beta, K @ beta)
    assert found == pytest.approx(expected, rel=1e-3)


def test_a_run_that_is_corrected_by_all_rows_descends_along_the_gradient(script):
    """With all rows in every batch a step is one along the gradient, on both sides of a kink."""
    scope = script("study_gradient_norm")
    scope.update(N_PAIRS=25, N_UNLABELED=50, BATCH=50, LAM=0.001, THETA=8.0)
    run = scope["su_training"]("abs", "all_rows", 200, 0)
    pools, negative, expected = run.rows()[0], 0, np.zeros(100)
    for moment in scope["corrected_by_all_rows"](run):
        np.testing.assert_allclose(moment.beta, expected, atol=1e-6)
        np.testing.assert_allclose(moment.h, run.K @ moment.beta, atol=1e-5)
        negative += scope["is_negative"](run, moment.h, pools)
        gradient = scope["gradient"](run, pools, moment.beta, moment.h)
        expected = moment.beta - run.eta * gradient
    assert 0 < negative < 200


def test_minimisers_of_the_hinge_are_all_points_of_its_least_value(script):
    rng, b = np.random.default_rng(0), np.linspace(-4, 4, 8001)
    for n in (7, 12):
        f = rng.normal(size=n)
        above = f + rng.normal(size=n) > 0
        low, high = script("study_thresholds")["minimisers"](f, above)
        loss = np.maximum(0, 1 - np.where(above, 1, -1) * (f - b[:, None])).sum(axis=1)
        best = b[loss < loss.min() + 1e-9]
        assert (low, high) == pytest.approx((best[0], best[-1]), abs=0.002)


@pytest.mark.parametrize("strategy", ["none", "removal"])
def test_the_mean_objective_is_that_of_machines_of_every_length(script, strategy):
    scope, lengths, C = script("study_cluster_mass"), [20, 60], 3.0
    X = np.random.default_rng(0).random((30, 2))
    K = np.exp(-8 * ((X[:, None] - X) ** 2).sum(axis=2))
    machines = [scope["machine"](strategy, 8.0, C, 5, n, 1) for n in range(1, 60)]
    # the first iterate is w = 0, the t-th that after t - 1 steps
    objectives = [C, *(scope["measured"](machine, X)[2] for machine in machines)]
    found, _ = scope["averaged"](K, C, 5, strategy, lengths, 1)
    np.testing.assert_allclose(found, [np.mean(objectives[:n]) for n in lengths], rtol=1e-9)


def test_intervals_about_new_rows_are_valid_where_a_test_has_no_power():
    """At three trials, as of `dsg try`, and the labelled rows that it takes."""
    numbers = numbers_of(KEPT / "studies" / "resampled_test.json")
    kept = pd.DataFrame(numbers).query("trials == 3 and labelled < 333")
    bounded = kept.query("test == 'bounded'")
    assert bounded["ratio"].eq(NEW_ROWS_RATIO).all() and numbers["datasets"] == 300
    assert bounded["false_positives"].max() <= 0.06
    assert kept.query("test == 'plain'")["false_positives"].max() > 0.2
    assert kept.query("test != 'plain'").groupby("test")["found"].min().max() < 0.5

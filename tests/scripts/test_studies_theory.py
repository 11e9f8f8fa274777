"""Studies of what the papers prove: their numbers against others' computations of the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from tests.scripts.conftest import invoke, numbers_of


def test_errors_of_random_features_and_of_data_are_those_of_a_plain_loop(script):
    """With many frequencies f is h, which a loop over triplets with an exact kernel gives too."""
    scope = script("study_errors")
    scope["main"].callback.__globals__.update(N_LABELED=20, N_UNLABELED=40, BATCH=8, LAM=2.0)
    X, y = scope["synthetic_rows"](60, 3, 0)
    exact = scope["minimiser"](X, y)
    lengths = [4, 16]

    def errors(n_frequencies):
        scope["main"].callback.__globals__.update(N_FREQUENCIES=n_frequencies)
        problem = scope["problem_of"](X, y, 1.5, lengths[-1], 0)
        return problem, *scope["errors_of"](problem, exact, lengths)

    _, few, _ = errors(16)
    problem, many, data = errors(8192)
    assert (many < few / 100).all()

    K = np.exp(-((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    p, n, u = scope["row_numbers"](problem)
    beta = np.zeros(60)
    for t in range(1, 17):
        h = K @ beta
        beta *= 1 - 1.5 / t
        for i, j, k in zip(p[t - 1], n[t - 1], u[t - 1], strict=True):
            pn, pu, un = (1 - h[a] + h[b] for a, b in ((i, j), (i, k), (k, j)))
            step = 1.5 / 2 / t * 2 / 8
            beta[i] += step * (pn + pu) / 2
            beta[j] -= step * (pn + un) / 2
            beta[k] += step * (un - pu) / 2
        if t in lengths:
            off = beta - exact
            expected = off @ K @ off / (exact @ K @ exact)
            assert data[lengths.index(t)] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("rate", "code"), [(-1.0, 0), (-1.25, 0), (-0.6, 1), (np.nan, 1)])
def test_both_rates_of_error_are_judged(study, tmp_path, rate, code):
    main, scope = study("study_errors")
    scope.update(
        minimiser=lambda X, y: None,
        errors_of=lambda problem, exact, at: (1.0 / np.array(at), np.array(at, float) ** rate),
    )
    file = tmp_path / "errors.json"
    output = invoke(main, "--seeds", 2, "--json", file, code=code).output
    assert ("missed: slope not within 0.3 of -1: ||h_t" in output) == bool(code)
    numbers = numbers_of(file)
    assert np.shape(numbers["data_errors"]) == np.shape(numbers["feature_errors"]) == (2, 9)
    assert numbers["slopes"]["feature_errors"] == pytest.approx(-1)


def test_both_sides_of_the_risks_are_those_over_all_pairs(script):
    scope = script("study_risks")
    rng = np.random.default_rng(0)
    f = np.round(rng.normal(size=60), 1)  # with ties
    positive = f + rng.normal(size=60) > 0.3
    case = scope["Case"]("made up", f, positive)
    labeled, unlabeled = np.arange(30), np.arange(20, 60)
    p, n, u = f[:30][positive[:30]], f[:30][~positive[:30]], f[20:]
    for loss, constant, pairs in (
        ("zero_one", 0.5, lambda d: (1 - np.sign(d)) / 2),
        ("squared", 1.0, lambda d: (1 - d) ** 2),
    ):
        expected = pairs(p[:, None] - u).mean() + pairs(u[:, None] - n).mean() - constant
        assert case.left_side(loss, labeled, unlabeled) == pytest.approx(expected)
        expected = pairs(f[positive][:, None] - f[~positive]).mean()
        assert case.right_side(loss) == pytest.approx(expected)


def test_unbiased_risks_pass_and_biased_ones_are_told(script, monkeypatch, tmp_path):
    """A selection of unlabelled rows that depends on f is no mixture of the classes."""
    scope = script("study_risks")
    main = scope["main"]
    rng = np.random.default_rng(0)
    f = rng.normal(size=2000)
    case = scope["Case"]("made up", f, f + rng.normal(size=2000) > 0.3)
    main.callback.__globals__["cases_of"] = lambda name: iter([case])
    file = tmp_path / "risks.json"
    arguments = ["--binary", "x", "--ordinal", "x", "--draws", 30, "--json", file]
    invoke(main, *arguments)
    numbers = numbers_of(file)["binary"]
    assert abs(numbers["zero_one"][0]) < 3 < numbers["squared"][0]
    squared = numbers["squared_risks"]
    assert squared["difference"][0] == pytest.approx(squared["penalty"][0], rel=0.1)

    left_side = scope["Case"].left_side
    monkeypatch.setattr(
        scope["Case"],
        "left_side",
        lambda case, loss, labeled=slice(None), unlabeled=slice(None): left_side(
            case, loss, labeled, np.flatnonzero(case.f > 0.5)
        ),
    )
    output = invoke(main, *arguments, code=1).output
    assert "missed: the 0-1 loss is biased; the equation of the zero-one loss on all" in output


def test_minimisers_of_the_hinge_are_those_of_a_linear_program(script):
    scope = script("study_thresholds")
    rng = np.random.default_rng(0)
    for n in (7, 12):
        f = rng.normal(size=n)
        above = f + rng.normal(size=n) > 0
        sign = np.where(above, 1.0, -1.0)
        # variables: the threshold b, and the losses x_i >= 1 - sign_i (f_i - b)
        A = -np.hstack([-sign[:, None], np.eye(n)])
        limits = sign * f - 1
        bounds = [(None, None)] + [(0, None)] * n
        cost = np.append(0.0, np.ones(n))
        least = optimize.linprog(cost, A, limits, bounds=bounds).fun
        rows, limits = np.vstack([A, cost]), np.append(limits, least)
        low, high = (
            way * optimize.linprog(way * np.eye(n + 1)[0], rows, limits, bounds=bounds).fun
            for way in (1, -1)
        )
        assert scope["minimisers"](f, above) == pytest.approx((low, high), abs=1e-6)


def test_the_study_of_thresholds_keeps_scores_and_intervals(study, tmp_path):
    main, scope = study("study_thresholds")
    scores = {"mae": 1.0, "macro_mae": 1.5, "accuracy": 0.5, "never": 2.0}

    def scores_of(name, trials, params):
        for trial in range(trials):
            yield {"dataset": name, "rule": "constant", **scores}
            hinge = {**scores, "mae": trial + len(name), "widths": [0.1, 0.2], "gaps": [0.3]}
            yield {"dataset": name, "rule": "hinge", **hinge}

    scope["scores_of"] = scores_of
    file = tmp_path / "thresholds.json"
    output = invoke(main, "lev", "abalone", "--trials", 2, "--json", file).output
    numbers = numbers_of(file)
    assert numbers["hinge"]["mae"] == [3.5, 7.5] and numbers["constant"]["mae"] == [1.0, 1.0]
    assert numbers["hinge"]["widths"] == [0.1, 0.2] * 4 and numbers["hinge"]["gaps"] == [0.3] * 4
    assert "intervals 0.1 to 0.2 wide" in output


@pytest.mark.parametrize("start", ["random", "opposite"])
def test_runs_from_far_starts_end_where_a_plain_loop_does(script, start):
    """With many frequencies f is h, which a loop over rows with an exact kernel gives too."""
    scope = script("study_gradient_norm")
    scope["follow"].__globals__.update(N_LABELED=20, N_UNLABELED=40, N_FREQUENCIES=8192)
    problem = scope["s3vm_problem"]("da", 16, 1)
    run = scope["follow"](problem, start)

    X = np.vstack(problem.tables).astype(float)
    K = np.exp(-scope["SIGMA"] * ((X[:, None] - X) ** 2).sum(axis=2))
    positive = np.isin(np.arange(20), problem.sources[0].pools[0])
    y = np.where(positive, 1.0, -1.0)
    beta = scope["start_of"](start, problem, K)
    step, C, C_star = 16**-0.75, scope["C"], scope["C_UNLABELED"]
    assert beta @ K @ beta == pytest.approx(scope["START_NORM"] ** 2)
    if start == "opposite":
        assert (np.sign(beta[:20]) == -y).all()

    def objective(beta):
        h = K @ beta
        labeled = np.maximum(0, 1 - y * h[:20]).mean()
        return beta @ h / 2 + C * labeled + C_star * np.exp(-5 * h[20:] ** 2).mean()

    first = objective(beta)
    for drawn in zip(*scope["row_numbers"](problem), strict=True):
        h = K @ beta
        beta *= 1 - step
        for rows, side in ((drawn[0], 1), (drawn[1], -1)):
            share = np.mean(y == side)
            for i in rows:
                beta[i] += step * C * share * side * (side * h[i] < 1) / 16
        for i in drawn[2]:
            beta[i] += step * C_star * 10 * h[i] * np.exp(-5 * h[i] ** 2) / 16
    assert run.objective == pytest.approx(objective(beta), rel=0.02)
    assert run.objective < 0.8 * first


@pytest.mark.parametrize("strategy", ["none", "removal", "removal_at_random"])
def test_the_loop_of_the_mass_makes_the_steps_of_the_machines(script, strategy):
    """And the mean of the objectives is that of machines of every length."""
    scope = script("study_cluster_mass")
    X = np.random.default_rng(0).random((30, 2))
    K = np.exp(-8 * ((X[:, None] - X) ** 2).sum(axis=2))
    lengths, C, budget = [10, 60], 6.0, 8
    run = scope["averaged"](K, C, budget, strategy, lengths, 3)
    assert (np.count_nonzero(run.coefficients) > budget) == (strategy == "none")
    if strategy == "removal_at_random":
        other = scope["averaged"](K, C, budget, "removal", lengths, 3)
        assert (other.coefficients != run.coefficients).any()
        return
    name = {"none": "no budget"}.get(strategy, strategy)
    models = [
        scope["machines"](8.0, C, budget, n_steps, 3)[name].fit_domain(X)
        for n_steps in range(1, 61)
    ]
    coefficients = np.zeros(30)
    for x, alpha in zip(models[-1].support_vectors_, models[-1].dual_coef_, strict=True):
        coefficients[np.flatnonzero((x == X).all(axis=1))] = alpha
    np.testing.assert_allclose(run.coefficients, coefficients, rtol=1e-12)
    # the first iterate is w = 0, the t-th that after t - 1 steps
    objectives = [C, *(model.diagnostics(X)["objective"] for model in models)]
    expected = [np.mean(objectives[:n_steps]) for n_steps in lengths]
    np.testing.assert_allclose(run.objective, expected, rtol=1e-9)


def test_the_bound_of_the_mean_objective_is_that_of_the_theorem(script):
    bound = script("study_cluster_mass")["theorem_bound"]
    assert bound(3.0, 0.0, 0.0, 1) == pytest.approx(18.0)  # G = 6
    # G = 6, H = 2, W = 2 + sqrt(4 + 64)
    expected = 64 * (np.log(5) + 1) / 10 + (2 + np.sqrt(68)) * 7 / 5
    assert bound(3.0, 2.0, 7.0, 5) == pytest.approx(expected)

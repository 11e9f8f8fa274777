"""The studies fail where what they check does not hold, and short ones run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.estimators.similar.problems import risk as su_risk
from tests.estimators.similar.problems import squared
from tests.scripts.conftest import invoke, numbers_of

# --- what is judged ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "code"), [(-1.0, 0), (-1.2, 0), (-0.8, 0), (-0.7, 1), (-1.3, 1), (np.nan, 1)]
)
def test_the_rate_of_convergence_is_judged(study, rate, code):
    main, scope = study("study_convergence")
    scope["squared_errors"] = lambda iterations, *_: np.array(iterations, float)[None] ** rate
    output = invoke(main, code=code).output
    assert ("missed: the slope is not within 0.25 of -1" in output) == bool(code)


@pytest.mark.parametrize(
    ("gradient_rate", "distance_rate", "text"),
    [
        (-0.25, -0.5, None),
        (-0.1, -0.5, "the slope of ||grad R||^2"),
        (-0.25, -0.3, "the slope of (f_T - h_T)^2"),
        (np.nan, np.nan, "the slope of ||grad R||^2, (f_T - h_T)^2"),
    ],
)
def test_the_fall_of_the_gradient_norm_is_judged(study, gradient_rate, distance_rate, text):
    main, scope = study("study_gradient_norm")
    scope["s3vm_problem"] = lambda loss, T, seed: T
    scope["follow"] = lambda T, start: scope["Run"](
        np.full(T + 1, T**gradient_rate), T**distance_rate
    )
    output = invoke(main, code=int(text is not None)).output
    assert (f"missed: {text}" if text else "slope") in output


def test_runs_from_far_starts_are_judged_and_kept(study, tmp_path):
    main, scope = study("study_gradient_norm")
    scope["s3vm_problem"] = lambda loss, T, seed: T
    rates = {"zero": -0.25, "random": -0.25, "opposite": -0.1}
    scope["follow"] = lambda T, start: scope["Run"](
        np.full(T + 1, T ** rates[start]), T**-0.5, 0.0, 5.0
    )
    file = tmp_path / "starts.json"
    output = invoke(main, "--starts", "--seeds", 2, "--json", file, code=1).output
    assert "missed: the slope of ||grad R||^2 from the opposite start\n" in output
    numbers = numbers_of(file)
    assert np.shape(numbers["squared_gradients"]) == (6, 5)
    assert numbers["starts"]["random"]["objectives"] == [[5.0] * 5] * 2
    assert numbers["slopes"]["opposite"] == pytest.approx([-0.1, -0.5])
    output = invoke(main, "--starts", "--objective", "su", code=2).output
    assert "--starts is for --objective s3vm" in output


@pytest.mark.parametrize(
    ("removal", "pnn", "said"),
    [
        (0.5, 0.85, ""),
        (0.6, 0.85, "removal has kept its rows"),
        (0.0, 0.6, "PNN is not as without"),
    ],
)
def test_the_mass_of_budgeted_machines_is_judged(study, removal, pnn, said, tmp_path):
    main, scope = study("study_cluster_mass")
    last = {"removal": removal, "pnn": pnn, "prn": 0.7, "no budget": 0.8}
    scope["follow"] = lambda *_: {
        name: scope["Curve"](np.ones((1, 1)), np.full((1, 1), at), *np.ones((2, 1, 1)))
        for name, at in last.items()
    }
    scope["minimum"] = lambda *_: 0.5
    drawn = [] if said else ["--figure", tmp_path / "mass.png"]
    assert said in invoke(main, "--most", 100, *drawn, code=int(bool(said))).output
    assert (tmp_path / "mass.png").is_file() == bool(drawn)


# --- short runs -------------------------------------------------------------------------------


def test_a_short_study_of_convergence_runs_and_keeps_its_numbers(study, tmp_path):
    main, _ = study("study_convergence")
    file = tmp_path / "convergence.json"
    output = invoke(main, "--seeds", 1, "--most", 128, "--json", file, code=None).output
    assert "slope from t = 64 on: -" in output
    kept = json.loads(file.read_text())
    assert kept["study"] == "study_convergence" and "commit" in kept["environment"]
    setting = {"lam": 0.125, "theta_lam": 1.5, "ordinal": False}
    assert kept["arguments"] == {"seeds": 1, "most": 128, **setting}
    numbers = kept["numbers"]
    assert numbers["iterations"] == [16, 32, 64, 128]
    assert np.shape(numbers["squared_distances"]) == (1, 4)
    assert f"{numbers['slope']:.2f} (theory: -1)" in output
    assert str(tmp_path) not in file.read_text()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("study_convergence", "slope from t = 64 on: -"),
        ("study_errors", "slope of ||h_t - f*||^2 / ||f*||^2 from t = 64 on: -"),
    ],
)
def test_ordered_classes_are_studied_too(study, name, told):
    main, _ = study(name)
    assert told in invoke(main, "--seeds", 1, "--most", 128, "--ordinal", code=None).output


@pytest.mark.slow
def test_a_short_study_of_the_gradient_norm_runs_and_draws(study, tmp_path):
    figure = tmp_path / "norm.png"
    main, _ = study("study_gradient_norm")
    output = invoke(main, "--seeds", 1, "--most", 64, "--figure", figure).output
    assert "slope of mean ||grad R||^2: -0." in output
    assert figure.stat().st_size > 10_000


@pytest.mark.slow
def test_a_short_study_of_similar_unlabelled_gradients_keeps_its_numbers(study, tmp_path):
    main, _ = study("study_gradient_norm")
    file = tmp_path / "norm.json"
    invoke(main, "--objective", "su", "--seeds", 1, "--most", 64, "--json", file, code=None)
    numbers = numbers_of(file)
    assert numbers["theory"] == [-0.5, 0.0] and numbers["iterations"] == [16, 64]
    for distance, bound in zip(numbers["squared_distances"], numbers["bounds"], strict=True):
        assert 0 < distance < bound


def test_a_short_study_of_the_mass_runs(study, monkeypatch, tmp_path):
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    main, _ = study("study_cluster_mass")
    file = tmp_path / "mass.json"
    sizes = ["--seeds", 1, "--most", 200, "--budget", 10]
    output = invoke(main, *sizes, "--json", file, code=None).output
    numbers = numbers_of(file)
    assert numbers["steps"] == [100, 150, 200] and numbers["n_rows"] == 788
    for name in ("mass", "inside", "above_minimum"):
        assert set(numbers[name]) == {"removal", "pnn", "prn", "none"}
        assert {np.shape(values) for values in numbers[name].values()} == {(1, 3)}
    assert np.min(list(numbers["above_minimum"].values())) > 0
    assert numbers["supports"]["none"][-1] > numbers["supports"]["pnn"][-1] == 10
    gaps, bounds = (np.array(numbers[name]["removal"]) for name in ("averaged_gaps", "bounds"))
    assert (gaps > 0).all() and (gaps < bounds).all()
    lines = output.splitlines()
    assert lines[0].startswith("seven generated groups: 788 rows")
    assert [line.split()[0] for line in lines[3:6]] == ["100", "150", "200"]


# --- what is computed -------------------------------------------------------------------------


def assert_gradient(scope, problem, objective, beta, direction):
    """The study's objective and its gradient, against a computation of the same and differences."""
    X = np.vstack(problem.tables).astype(np.float64)
    K = np.exp(-scope["SIGMA"] * ((X[:, None] - X) ** 2).sum(axis=2))
    beta = beta(K)
    assert scope["full_objective"](problem, beta, K @ beta) == pytest.approx(objective(K, beta))
    step = 1e-6 * direction
    expected = (objective(K, beta + step) - objective(K, beta - step)) / 2e-6
    found = direction @ K @ scope["full_gradient"](problem, beta, K @ beta)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("loss", ["sshg", "da"])
def test_the_gradient_of_the_study_is_that_of_the_objective(study, loss):
    """Central differences of the risk along directions in the RKHS, away from kinks by chance."""
    scope = study("study_gradient_norm")[1]
    problem = scope["s3vm_problem"](loss, 16, 0)
    (positive,), (negative,) = problem.sources[0].pools, problem.sources[1].pools
    n_rows = sum(map(len, problem.tables))
    beta, direction = np.random.default_rng(0).normal(size=(2, n_rows)) * [[0.05], [1]]

    def risk(K, beta):
        h = K @ beta
        hinges = [np.maximum(0, 1 - h[positive]), np.maximum(0, 1 + h[negative])]
        r = np.abs(h[200:])
        u = np.maximum(0, 1 - r) ** 2 / 2 if loss == "sshg" else np.exp(-5 * r**2)
        labeled = np.concatenate(hinges).mean()
        return beta @ h / 2 + scope["C"] * labeled + scope["C_UNLABELED"] * u.mean()

    assert_gradient(scope, problem, risk, lambda K: beta, direction)


@pytest.mark.parametrize(("at_pairs", "correction"), [(-1.0, "abs"), (3.0, "abs"), (3.0, "none")])
def test_the_gradient_of_the_study_is_that_of_the_similar_unlabelled_objective(
    study, at_pairs, correction
):
    """Central differences, at functions with and without a negative part of the risk."""
    scope = study("study_gradient_norm")[1]
    scope["su_problem"].__globals__.update(N_PAIRS=30, N_UNLABELED=50)
    problem = scope["su_problem"](16, 0, correction)
    corrected = abs if correction == "abs" else float
    n_rows = sum(map(len, problem.tables))
    values = np.where(np.arange(n_rows) < 60, at_pairs, -1)

    def parts(h):
        """Return the risk of either class."""
        of_class = [lambda z, t, y=y: squared(z, t) * (t == y) for y in (1, -1)]
        return [su_risk(h[:60].reshape(30, 2), h[60:], scope["PRIOR"], loss) for loss in of_class]

    def objective(K, beta):
        h = K @ beta
        return scope["LAM"] / 2 * beta @ h + sum(map(corrected, parts(h)))

    def start(K):
        beta = np.linalg.solve(K + 0.1 * np.eye(n_rows), values)
        assert (min(parts(K @ beta)) < 0) == (at_pairs == 3)
        return beta

    assert_gradient(scope, problem, objective, start, np.random.default_rng(0).normal(size=n_rows))


def test_pairs_of_the_study_of_similar_unlabelled_gradients_are_of_one_class(study):
    scope = study("study_gradient_norm")[1]
    scope["two_moons"].__globals__["two_moons"] = lambda n, seed: (
        np.where(np.arange(n) % 2, 1.0, -1.0)[:, None] * np.arange(1, n + 1)[:, None],
        np.arange(n) % 2 == 1,
    )
    pairs, others = (table[:, 0] for table in scope["su_problem"](16, 0).tables)
    signs = np.sign(pairs.reshape(-1, 2))
    assert (signs[:, 0] == signs[:, 1]).all() and np.mean(signs > 0) > 0.85
    assert 0.75 < np.mean(others > 0) < 0.85
    assert len(np.unique([*pairs, *others])) == len(pairs) + len(others)

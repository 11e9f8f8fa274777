"""The study of TSGS3VM-P's way to its minimum: its exact minimisers are what they are called."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from dsgkit import TSGS3VMP
from tests.scripts.conftest import invoke, numbers_of

C = 50.0


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 15)
    return (rng.normal(size=(30, 2)) + y[:, None]).astype(np.float32), y


def test_the_minimum_of_the_hinge_fulfils_the_conditions_of_its_dual(script, rows):
    X, y = rows
    K = np.exp(-((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    coef = script("study_away")["minimiser"](K, y, C)
    share, margin = coef * y * len(y) / C, y * (K @ coef)
    assert (share >= 0).all() and (share <= 1).all()
    assert share[margin > 1.001] == pytest.approx(0, abs=1e-5)
    assert share[margin < 0.999] == pytest.approx(1, abs=1e-5)


def test_the_least_squares_are_the_least(script, rows):
    X, y = rows
    K = np.exp(-((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    coef = script("study_away")["least_squares"](K, y, C)

    def objective(a):
        return a @ K @ a / 2 + C * np.mean((2 - y * (K @ a)) ** 2) / 4

    best = optimize.minimize(objective, np.zeros(30), method="BFGS", options={"maxiter": 2000})
    assert objective(coef) == pytest.approx(best.fun, rel=1e-6)


def test_sweeps_come_near_to_the_minimum_on_their_features_and_not_below(script, rows):
    scope = script("study_away")
    X, y = rows
    model = TSGS3VMP(C=C, sigma=1.0, C_star_ratio=0.0, n_features=8, n_blocks=3, n_sweeps=60)
    model.fit(X, y, X)
    K = scope["feature_kernel"](model.function_, X, X)
    coef = scope["minimiser"](K, y, C)
    (norm,) = model.function_.squared_norm()

    def objective(values, squared_norm):
        return squared_norm / 2 / C + np.maximum(0, 1 - y * values).mean()

    least = objective(K @ coef, coef @ K @ coef)
    assert least - 1e-6 <= objective(model.decision_function(X), norm) <= 1.05 * least


def test_a_short_study_keeps_its_numbers(study, tmp_path):
    main, scope = study("study_away")
    sizes = {"N_LABELED": 20, "N_UNLABELED": 30, "N_TESTED": 40, "SWEEPS": (1, 2), "C": (1e2, 1e3)}
    scope.update(sizes)
    file = tmp_path / "away.json"
    arguments = ["layers_2", "--trials", 1, "--sigma", 1, "--blocks", 2, "--features", 8]
    invoke(main, *arguments, "--json", file)
    numbers = numbers_of(file)
    assert numbers["C"] == [1e2, 1e3]
    objective = numbers["sigma 1"]["minimum, same features, C*/C = 0"]["objective"]
    assert (np.array(objective) <= numbers["sigma 1"]["2 sweeps, C*/C = 0"]["objective"]).all()

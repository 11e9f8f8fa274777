"""The benchmarks run and measure what they say; how fast anything is, is no test."""

import numpy as np
import pytest

from dsgkit import QSGS2AUC, SAMULT
from tests.scripts.conftest import invoke, numbers_of


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_author_style_loop_is_the_method(script, gamma):
    """It draws other rows and frequencies than the engine: both come near the exact solution."""
    loop, rng = script("author_loop"), np.random.default_rng(0)
    X, XU = rng.random((60, 3), dtype=np.float32), rng.random((500, 3), dtype=np.float32)
    y = np.where(X[:, 0] > 0.5, 1, -1)
    setting = {"lam": 0.5, "sigma": 1.0, "gamma": gamma}
    sizes = {"n_iterations": 150, "batch_size": 64, "n_features": 32}
    alpha = loop["fit"](X, y, XU, **sizes, **setting)
    f = sum(loop["features"](XU, t, 32, 1.0) @ a for t, a in enumerate(alpha))
    engine = QSGS2AUC(**setting, **sizes).fit(X, y, XU)
    exact = SAMULT(**setting).fit(X, y, XU).decision_function(XU)
    for values in (f, engine.decision_function(XU)):
        assert np.mean((values - exact) ** 2) < 0.01 * np.mean(exact**2)


@pytest.mark.slow
def test_the_engine_is_measured(script, monkeypatch, tmp_path):
    scope = script("bench_engine")
    scope.update(product_seconds=lambda *_: 1e-8, sincos_seconds=lambda: 1e-9, CALL_COLUMNS=99)
    scope.update(feature_seconds=lambda *_: 1e-8, N_TEST=2000, SAMPLER_SIZES=(512,), COLUMNS=(33,))
    monkeypatch.setattr("hardware.PAUSE_SECONDS", 0.0)
    sizes = ["--inputs", 3, "--iterations", 4, "--repeats", 1]
    invoke(scope["main"], *sizes, "--json", tmp_path / "engine.json")
    numbers = numbers_of(tmp_path / "engine.json")
    assert set(numbers["inputs"]) == {"3"} and set(numbers["structured"]) == {"33"}
    assert all(value > 0 for of in numbers["inputs"].values() for value in of.values())
    assert set(numbers["scaling"]) == {"T", "n_features", "batch_size"}
    assert numbers["peers"]["best_possible_auc"] > numbers["peers"]["auc"]["engine"]


def test_the_limit_counts_every_feature_once(script):
    scope = script("bench_engine")
    scope.update(feature_seconds=lambda *_: 256.0, product_seconds=lambda *_: 10.0)
    drawn = sum(256 * t for t in range(20))  # unlabelled rows on every earlier block
    new = 20 * (256 + 200)  # rows that a new block is evaluated at
    assert scope["limits"](7, 20) == (256.0 * (drawn + new), 266.0 * (drawn + new))


def test_generated_labels_follow_the_law_and_a_file_is_the_beginning_of_a_larger_one(
    script, tmp_path
):
    data = script("bench_big")
    X, y = data["make_rows"](60_000, 5)
    score = data["score"](X)
    near = np.abs(score - data["MEAN_SCORE"] - 1) < 0.1
    assert abs(score.mean() - data["MEAN_SCORE"]) < 0.1
    assert abs((y[near] == 1).mean() - 1 / (1 + np.exp(-1))) < 0.04
    small, large = (np.load(data["written"](tmp_path, n, 5)) for n in (70, 70_000))
    np.testing.assert_array_equal(small, large[:70])
    np.testing.assert_array_equal(large[:60_000], X)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "rows"), [("auc", 3000), ("ordinal", 3000), ("su", 22_000), ("s3vm", 3000)]
)
def test_training_on_a_file_is_measured_in_a_process_of_its_own(script, tmp_path, task, rows):
    file, main = tmp_path / "big.json", script("bench_big")["main"]
    invoke(main, tmp_path, "--task", task, "--size", rows, 5, "--json", file)
    numbers = numbers_of(file)
    assert numbers["rows"] == rows and numbers["memory"] > 2**20 and numbers["seconds"] > 0
    assert 0.5 < numbers["quality"] <= numbers["best_quality"] <= 1
    assert numbers.get("error", 0) < 0.5

"""The benchmarks measure what they say; how fast anything is, is no test."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dsgkit import QSGS2AUC, SAMULT
from dsgkit.data.targets import Target
from tests.data.conftest import make_dataset
from tests.scripts.conftest import invoke, numbers_of


def rows(n_unlabeled, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 3), dtype=np.float32)
    return X, np.where(X[:, 0] > 0.5, 1, -1), rng.random((n_unlabeled, 3), dtype=np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_author_style_loop_is_the_method(script, gamma):
    """It draws other rows and frequencies than the engine: both come near the exact solution."""
    loop = script("author_loop")
    X, y, XU = rows(500)
    setting = {"lam": 0.5, "sigma": 1.0, "gamma": gamma}
    alpha = loop["fit"](X, y, XU, n_iterations=150, batch_size=64, n_features=32, **setting)
    f = sum(loop["features"](XU, t, 32, 1.0) @ a for t, a in enumerate(alpha))
    exact = SAMULT(**setting).fit(X, y, XU).decision_function(XU)
    engine = QSGS2AUC(**setting, n_iterations=150, batch_size=64, n_features=32).fit(X, y, XU)
    error, engine_error = (
        np.mean((g - exact) ** 2) / np.mean(exact**2) for g in (f, engine.decision_function(XU))
    )
    assert error < 0.01
    assert engine_error < 0.01


@pytest.mark.slow
def test_the_benchmark_prints_one_json_object(study, monkeypatch):
    main, scope = study("bench_engine")
    scope.update(product_seconds=lambda *_: 1e-8, sincos_seconds=lambda: 1e-9, CALL_COLUMNS=99)
    monkeypatch.setattr("peers.N_TEST", 2000)
    monkeypatch.setattr("peers.SAMPLER_SIZES", (512,))
    sizes = ["--inputs", 3, "--columns", 33, "--iterations", 4, "--repeats", 1]
    figures = json.loads(invoke(main, *sizes, "--json").stdout)
    for kind, speedup in (("one_fit", "speedup"), ("grid", "speedup_per_model")):
        assert list(figures[kind]) == ["3"]
        for values in figures[kind].values():
            assert {speedup, "over_limit", "seconds"} <= set(values)
            assert all(value > 0 for value in values.values())
    assert all(value > 0 for value in figures["structured"]["d = 33"].values())
    assert figures["threads"][f"speedup_{figures['threads']['threads']}"] > 0
    assert set(figures["scaling"]) == {"T", "m", "b"}
    assert figures["peers"]["best_possible_auc"] > figures["peers"]["engine"]["auc"]
    assert list(figures["peers"]["samult"]["seconds"]) == ["500", "1000"]  # it has 1024 rows


def test_the_limit_counts_every_feature_once(script):
    scope = script("bench_engine")
    limits = scope["limits"]
    limits.__globals__["product_seconds"] = lambda inner, columns: 0.0 if inner == 7 else 10.0
    limits.__globals__["sincos_seconds"] = lambda: 1.0
    drawn = sum(256 * t for t in range(20))  # unlabelled rows on every earlier block
    new = 20 * (256 + 200)  # rows that a new block is evaluated at
    assert limits(7, 20) == (256.0 * (drawn + new), 266.0 * (drawn + new))


def test_a_dataset_is_the_beginning_of_a_larger_one(script, tmp_path):
    data = script("make_big_data")
    data["write"].__globals__["CHUNK"] = 50
    small, large = (data["write"](tmp_path, n, 6) for n in (70, 220))
    for name in ("X.npy", "y.npy"):
        np.testing.assert_array_equal(np.load(small / name), np.load(large / name)[:70])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["friedman_220x6", "friedman_70x6"]
    X = np.load(large / "X.npy")
    assert X.dtype == np.float32
    assert 0 <= X.min() <= X.max() < 1
    assert len(np.unique(X[:, 0])) == 220


def test_labels_follow_the_law(script):
    data = script("make_big_data")
    X, y = data["make_rows"](60_000, 5)
    score = data["score"](X)
    assert abs(score.mean() - data["MEAN_SCORE"]) < 0.1
    assert np.allclose(data["score"](np.full((1, 5), 0.5)), 10 * np.sin(np.pi / 4) + 7.5)
    near = np.abs(score - data["MEAN_SCORE"] - 1) < 0.1
    assert abs((y[near] == 1).mean() - 1 / (1 + np.exp(-1))) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize("ordinal", [False, True])
def test_large_files_are_measured_and_growth_is_judged(study, tmp_path, ordinal):
    main, scope = study("study_big_data")
    scope.update(SIZES={ordinal: ((600, 5), (1200, 5))}, MAX_MEMORY_GROWTH=1e6)
    alone = scope["in_a_process"]

    def measured(folder, *rest):
        """Once in a process of its own is enough."""
        own = not ordinal and folder.name.startswith("friedman_600x")
        return (alone if own else scope["measure"])(folder, *rest)

    scope["in_a_process"] = measured
    file = tmp_path / "figures.json"
    arguments = [tmp_path, "--iterations", 5, "--json", file, *["--ordinal"] * ordinal]
    invoke(main, *arguments)
    figures = numbers_of(file)["sizes"]
    assert [size["rows"] for size in figures] == [600, 1200]
    assert ordinal or figures[0]["fit_memory"] > 2**20
    assert all(0 <= size["auc"] <= 1 for size in figures)
    again = iter(figures)
    scope.update(in_a_process=lambda *_: next(again), MAX_MEMORY_GROWTH=0.0)
    invoke(main, *arguments, code=1)


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
def test_many_unlabelled_rows_are_measured_beside_pairs_of_one_class(script, tmp_path):
    scope = script("study_big_su")["main"].callback.__globals__
    few = {"n_iterations": 4, "batch_size": 20, "n_features": 8}
    solver = scope["TSGSU"]
    scope.update(N_PAIRS=60, N_LABELED=400, TSGSU=lambda **params: solver(**{**params, **few}))
    X = scope["make_big_data"].make_rows(900, scope["N_INPUTS"])[0]
    np.save(tmp_path / "X.npy", X)
    pairs, tested, positive = scope["pairs_and_tested"](X[:400])
    score = scope["make_big_data"].score
    least = np.quantile(score(X[:400]), 0.3)
    assert len(pairs) == 60 and len(tested) == len(positive) == 160
    assert ((score(pairs[:, 0]) > least) == (score(pairs[:, 1]) > least)).all()
    figures = scope["measure"](tmp_path, 450)
    assert figures["rows"] == 450 and 0 <= figures["accuracy"] <= 1 <= figures["memory"]


@pytest.mark.slow
def test_rules_for_thresholds_are_compared_on_the_same_functions(study):
    main, scope = study("study_thresholds")
    rng = np.random.default_rng(0)
    X, y = rng.random((120, 2)), rng.integers(1, 4, 120)
    dataset = replace(make_dataset(X, y), target=Target("ordered"))
    scope["load_dataset"] = lambda _: dataset
    lines = invoke(main, "lev", "--trials", 1).output.splitlines()
    assert [line.split()[-5] for line in lines[2:7]] == [*scope["RULES"], "constant"]


def test_blocks_that_are_forgotten_are_not_counted(script):
    blocks_met = script("study_big_s3vm")["blocks_met"]
    assert blocks_met(5, 1e-6) == 0 + 1 + 2 + 3 + 4
    assert blocks_met(5, 1.0) == 4
    assert blocks_met(40, 0.5) == sum(range(30)) + 10 * 30  # 2^-30 is left of a block


def test_errors_are_counted_by_the_rule_of_the_estimator(script, tmp_path):
    """A function that is 0 everywhere takes all rows for positive."""
    scope = script("study_big_s3vm")["main"].callback.__globals__
    scope["product_seconds"] = scope["sincos_seconds"] = lambda *_: 1e-6

    class Zero(scope["TSGS3VM"]):
        def decision_function(self, X):
            return np.zeros(len(X))

    scope["TSGS3VM"] = Zero
    data = scope["make_big_data"]
    folder = data.write(tmp_path, 600, 5)
    X, y = np.load(folder / "X.npy")[200:], np.load(folder / "y.npy")[200:]
    figures = scope["measure"](folder, step=0.5, n_iterations=2, batch_size=8, n_features=8)
    assert figures["error"] == np.mean(y == -1)
    above = data.score(X) > data.MEAN_SCORE
    assert figures["best_possible_error"] == np.mean(above != (y == 1))


@pytest.mark.slow
def test_the_semi_supervised_svm_is_measured_on_a_large_file(study, tmp_path):
    main, scope = study("study_big_s3vm")
    sizes = ["--rows", 900, "--inputs", 5, "--features", 8, "--batch", 16]
    file = tmp_path / "figures.json"
    invoke(main, tmp_path, *sizes, "--json", file)
    figures = numbers_of(file)
    assert (figures["rows"], figures["iterations"], figures["blocks"]) == (900, 44, 44)
    assert figures["error"] < 0.5
    assert figures["over_limit"] > 0 and figures["memory"] > 2**20
    scope["measure"] = lambda *_, **__: figures
    assert "900 x 5, T = 44, 44 blocks kept" in invoke(main, tmp_path, *sizes).output

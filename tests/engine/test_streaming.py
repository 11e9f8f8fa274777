"""Doubly stochastic training against the loop that papers' authors write."""

from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsgkit import QSGS2AUC
from dsgkit.engine import coefficients, sizes, streaming
from dsgkit.engine.clock import Clock
from dsgkit.engine.problem import Steps
from dsgkit.engine.sizes import MAX_FORGOTTEN_SHARE
from dsgkit.engine.streaming import stream
from dsgkit.errors import DataError
from dsgkit.system import progress
from dsgkit.system.progress import listening
from tests.engine import reference
from tests.engine.problems import auc, blocks, close, constant, rows


def arrays(seed=10, n_unlabeled=50):
    return dict(zip(("X", "y", "X_unlabeled"), rows(seed, n_unlabeled=n_unlabeled), strict=True))


configurations = st.fixed_dictionaries(
    {
        "lam": st.sampled_from([0.125, 0.5, 1.0, 4.0]),
        "sigma": st.floats(0.1, 8.0),
        "gamma": st.sampled_from([0.0, 0.3, 1.0]),
        "theta_lam": st.sampled_from([1.0, 1.3, 1.5, 2.0, 3.0]),
        "t0": st.sampled_from([0.0, 2.0, 7.5]),
    }
)
shapes = st.builds(dict, T=st.integers(1, 25), b=st.integers(1, 40), m=st.integers(1, 33))


@settings(max_examples=40)
@given(configurations, shapes, st.integers(0, 2**64 - 1), st.sampled_from([20, 200, 5000]))
def test_one_model_equals_the_authors_loop(setting, size, seed, n_unlabeled):
    X, positive, U = rows(0, n_unlabeled=n_unlabeled)
    own = {"n_iterations": size["T"], "batch_size": size["b"], "n_features": size["m"]}
    model = QSGS2AUC(**setting, **own, random_state=seed).fit(X, positive, U)
    step = reference.decreasing(*(setting.pop(name) for name in ("lam", "theta_lam", "t0")))
    alphas = reference.s2auc(X, positive, U, step=step, **setting, **size, seed=seed)
    expected = reference.predict(U[:100], alphas, seed, size["m"], setting["sigma"])
    assert close(model.decision_function(U[:100]), expected)


@pytest.mark.parametrize(
    ("eta", "lam"), [(0.1, 0.0), (0.1, 0.25), (0.1, 1.0), (0.2, 1.0), (1.0, 1.0)]
)
@pytest.mark.parametrize("n_unlabeled", [100, 3000])  # kept, and streamed
def test_constant_steps_shrink_and_forget_blocks(eta, lam, n_unlabeled, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    X, positive, U = rows(10, n_unlabeled=n_unlabeled)
    own = auc(0.5, 0.5, n_unlabeled=n_unlabeled)
    model = stream(own, blocks(), constant([eta, eta], lam), 150, 20)
    size = {"sigma": 1.0, "gamma": 0.5, "T": 150, "b": 20, "m": 6, "seed": 3}
    alphas = reference.s2auc(X, positive, U, step=lambda t: (eta, 1 - eta * lam), **size)
    expected = reference.predict(U[:200], alphas, 3, 6, 1.0)
    assert close(model.values(U[:200])[:, 1], expected)
    if lam == 1:
        needed = 1 if eta == 1 else np.log(MAX_FORGOTTEN_SHARE) / np.log(1 - eta)
        assert abs(len(model.coef) - min(150, needed)) <= max(20, 0.2 * needed)
        assert abs(streaming.remembered(eta) - needed) <= 1
    if eta == 1:
        mean = stream(own, blocks(), constant([eta, eta], lam), 150, 20, average=True)
        assert mean.first == 75 and len(mean.coef) == 75
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 1)  # a pass for each model
    slower = stream(own, blocks(), constant([0.01, eta], lam), 150, 20)
    assert close(slower.values(U[:200])[:, 1], expected)


def test_a_grid_on_folds_is_trained_in_passes_within_the_memory_budget(monkeypatch):
    training, model = arrays(7, 3000), QSGS2AUC(n_iterations=20, batch_size=8, n_features=4)
    points = [{"lam": lam, "gamma": gamma} for lam in (0.5, 1.0) for gamma in (0.0, 0.5, 1.0)]
    folds, heard = [np.arange(15), np.arange(15, 30)], []
    runs, train = [], streaming._Run.train
    monkeypatch.setattr(streaming._Run, "train", lambda self: runs.append(self.G) or train(self))
    expected = model.fit_points(points, folds=folds, **training)
    per_model = sizes.streaming_bytes(20, 8, 30, kept=False, streamed=True, average=False)
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 5 * per_model + 1)
    with listening(heard.append):
        split = model.fit_points(points, folds=folds, **training)
    np.testing.assert_allclose(split, expected, rtol=1e-4, atol=1e-5)
    assert runs == [12, 5, 5, 2]
    assert heard == sorted(heard) and heard[-1] == 1 and {5 / 12, 10 / 12} <= set(heard)


# Means of the last functions, against sums over all functions one by one

LAM = np.array([0.5, 1.0, 3.0, 1e-3])
NAN, ETA = np.full(4, np.nan), np.array([0.2, 0.9, 0.3, 0.1])
STEPS = {
    "constant": Steps(LAM, NAN, 0 * LAM, ETA),
    "erasing": Steps(LAM, NAN, 0 * LAM, 1 / LAM * [1, 1, 1, 1e-3]),
    "decreasing": Steps(np.ones(4), np.array([1.5, 4, 2, 1]), np.array([0.0, 0, 5, 0]), NAN),
    "linear": Steps(LAM, NAN, 0 * LAM, ETA, last=21),
}


def test_linear_steps_fade_to_0_and_what_is_forgotten_in_theory_is_exactly():
    for t, share in ((1, 1), (8, 2 / 3), (21, 1 / 21)):
        np.testing.assert_allclose(STEPS["linear"](t), [share * ETA, 1 - share * ETA * LAM])
    whole = Steps(np.array([3e-5]), np.array([1.0]), np.zeros(1), np.full(1, np.nan))
    assert whole(1)[1] == 0


@pytest.mark.parametrize("n_unlabeled", [50, 3000])
@pytest.mark.parametrize("step", STEPS)
def test_the_mean_of_functions_is_that_of_their_values(step, n_unlabeled, monkeypatch):
    monkeypatch.setattr(streaming, "SMALLEST_SCALE", 0.05)  # what shrinks is often multiplied out
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 5 * 20)
    own = auc(0.5, 0.2, 1.0, 0.5, n_unlabeled=n_unlabeled)
    folds = [np.arange(10), np.arange(3)]
    on_folds = auc(0.5, 0.2, n_unlabeled=n_unlabeled, folds=folds)
    tables = np.vstack(own.data.tables)

    def train(p, T, **more):
        return stream(p, blocks(), STEPS[step], T, 20, **more)

    def of_each(p):
        return np.array([train(p, T).values(tables) for T in range(1, 22)], np.float64)

    values = of_each(own)
    most = 1e-5 * np.abs(values).max(axis=(0, 1))
    for T in (1, 2, 7, 21):
        mean = values[T // 2 : T].sum(axis=0) / (T - T // 2)
        assert (np.abs(train(own, T, average=True).values(tables) - mean) <= most).all()
    at_rows = train(replace(on_folds, values_only=True), 21, average=True).tables[0]
    assert (np.abs(at_rows - of_each(on_folds)[10:].mean(axis=0)[: len(at_rows)]) <= most).all()


# Coefficients

magnitudes = st.floats(2.0**-60, 2.0**10)


@given(st.lists(st.tuples(magnitudes, magnitudes, st.booleans()), min_size=1, max_size=12))
@example([(2.0**-60, 2.0**-60, False)] * 4 + [(1.0, 1.0, True)] * 2)
def test_all_that_is_dropped_stays_below_the_bound_for_every_model(given):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coefficients, "PART_BLOCKS", 3)
        past, added = coefficients.Coefficients(4, 2), np.zeros((0, 2))
        for *pair, forget in given:
            block = np.outer([1, -1, 1, -1], np.float32(pair) / 4).astype(np.float32)
            past.append(block)
            added = np.vstack([added, np.abs(block).sum(axis=0)])
            if forget:
                past.forget()
                most = MAX_FORGOTTEN_SHARE * added.sum(axis=0)
                assert (added[: past.first].sum(axis=0) <= 1.001 * most).all()
                assert (added[: past.first + 1].sum(axis=0) > 0.999 * most).any()
                assert len(past._parts) == -(-len(added) // 3) - past.first // 3
            kept = {first + k: coef for first, part in past.kept() for k, coef in enumerate(part)}
            assert list(kept) == list(range(past.first, len(added)))
            sizes_ = np.abs(list(kept.values())).sum(axis=1)
            np.testing.assert_allclose(sizes_, added[past.first :], rtol=1e-6)


def test_coefficients_that_are_not_finite_are_multiplied_out_and_do_not_hold_on_to_blocks():
    past = coefficients.Coefficients(2, 2)
    for x in (1.0, np.nan, np.nan):
        past.append(np.array([[x, 1e-12 if x == 1.0 else 1.0]] * 2, np.float32))
    past.forget()
    assert past.first == 1
    with np.errstate(invalid="ignore"):
        past.multiply(np.array([0, 1]), np.array([0, -2], np.float32))
    np.testing.assert_array_equal(next(past.kept())[1], np.tile([0, -2.0], (2, 2, 1)))


# Observed training


@pytest.mark.parametrize("n_unlabeled", [100, 6000])
def test_training_does_not_notice_and_shows_the_model_of_a_shorter_training(
    n_unlabeled, monkeypatch
):
    """Also in the middle of a panel, and by an observer that spoils what it is shown."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    training = arrays(n_unlabeled=n_unlabeled)
    U, at, shown, heard = training["X_unlabeled"], [1, 2, 40, 59, 60], [], []

    def estimator(T=60):
        return QSGS2AUC(lam=0.5, batch_size=20, n_features=6, n_iterations=T, sigma=1.0)

    def spoil(t, seconds, model):
        shown.append((t, model.decision_function(U)))
        model.function_.coef[:1] = np.nan

    with listening(heard.append):
        final = estimator().fit_observed(**training, at=at, observe=spoil)
    assert heard == sorted(heard) and len(heard) <= 61  # evaluating is no progress of training
    alone = estimator().fit(**training)
    np.testing.assert_array_equal(final.function_.coef, alone.function_.coef)
    assert [t for t, _ in shown] == at
    for t, values in shown:
        shorter = estimator(t).fit(**training).decision_function(U)
        np.testing.assert_allclose(values, shorter, rtol=1e-4, atol=1e-4)
    for at in ([0], [2, 2], [3, 1], [1, 61], [-1]):
        with pytest.raises(ValueError, match=r"must ascend from 1|only 60 iterations"):
            estimator().fit_observed(**training, at=at, observe=print)


@pytest.mark.parametrize("threads, name", [(1, "process_time"), (2, "perf_counter")])
def test_seconds_are_those_of_training_alone(monkeypatch, threads, name):
    now, seen = [5.0], []

    def spend(seconds):
        now[0] += seconds

    def observe(t, seconds, model):
        seen.append((t, seconds))
        spend(100)

    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr(progress, "time", SimpleNamespace(**{name: lambda: now[0]}))
    clock = Clock([3, 4, 50], observe)
    for t in range(1, 51):
        spend(1)
        clock.after(t, lambda: spend(10))
    assert seen == [(3, 3.0), (4, 4.0), (50, 50.0)]


def test_a_model_has_an_offset_and_the_version_of_its_stream(monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 16)
    model, X = stream(auc(0.5, 0.2), blocks(), constant([0.1, 0.1]), 9, 20), rows(0)[2]
    shifted = replace(model, offset=np.array([0.5, -2], np.float32))
    np.testing.assert_allclose(shifted.values(X) - model.values(X), [[0.5, -2]] * 50, atol=1e-6)
    with pytest.raises(DataError, match="by version 0 of the random stream, here is version"):
        model.__setstate__({**model.__getstate__(), "stream_version": 0})

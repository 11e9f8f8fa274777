"""Trained functions, and those shown to an observer during training."""

from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from dsgkit import QSGS2AUC
from dsgkit.engine import sizes
from dsgkit.engine.clock import Clock
from dsgkit.engine.model import BlockModel, Separate, one_by_one
from dsgkit.engine.streaming import stream
from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.features import FourierFeatures
from dsgkit.system import progress
from dsgkit.system.progress import listening
from tests.engine.problems import auc, blocks, constant, rows

X = np.random.default_rng(1).random((50, 6), dtype=np.float32)


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    features = FourierFeatures("gaussian", 0.7, 5, seed=2**63 + 1)
    return BlockModel(features, rng.normal(size=(4, 10, 3)).astype(np.float32), first=2)


def test_the_value_is_the_sum_over_blocks_and_the_offset(model, monkeypatch):
    offset = np.array([0.5, -2, 0], np.float32)
    phi = [model.blocks.transform(X, 2 + t) * np.sqrt(5) for t in range(4)]
    expected = sum(f @ coef for f, coef in zip(phi, model.coef, strict=True)) + offset
    shifted, done = replace(model, offset=offset), []
    np.testing.assert_allclose(shifted.values(X), expected, atol=1e-5)
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 16)
    with listening(done.append):
        np.testing.assert_allclose(shifted.values(X), expected, atol=1e-5)
    assert done == [0.32, 0.64, 0.96, 1.0]
    shifted.coef[3, 9, 1], offset[2] = np.nan, np.inf
    assert shifted.finite.tolist() == [True, False, False]
    with pytest.raises(DataError, match="by version 0 of the random stream, here is version"):
        model.__setstate__({**model.__getstate__(), "stream_version": 0})


def test_models_without_a_solution_have_no_values(model):
    def solve(part):
        if part.loss.gamma[0] == 1:
            raise FitError("no solution")
        if part.loss.gamma[0] == 0:
            raise MemoryLimitError(2, 1)
        return replace(model, coef=model.coef[..., :1] * np.float32(part.loss.gamma[0]))

    found = one_by_one(auc(0.5, 1.0, 0.25), solve)
    assert isinstance(found, Separate) and found.finite.tolist() == [True, False, True]
    values = found.values(X)
    np.testing.assert_allclose(values[:, 2], values[:, 0] / 2, rtol=1e-5)
    assert np.isnan(values[:, 1]).all()
    for gammas, error in (((1.0,), FitError), ((0.5, 0.0), MemoryLimitError)):
        with pytest.raises(error):
            one_by_one(auc(*gammas), solve)


# Observed training


@pytest.mark.parametrize("n_unlabeled", [100, 6000])
def test_training_does_not_notice_and_shows_the_model_of_a_shorter_training(
    n_unlabeled, monkeypatch
):
    """Also in the middle of a panel, and by an observer that spoils what it is shown."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    X, positive, U = rows(10, n_unlabeled=n_unlabeled)
    training = {"X": X, "y": positive, "X_unlabeled": U}
    at, shown, heard = [1, 2, 40, 59, 60], [], []

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
    now, seen, p = [5.0], [], auc(0.5)
    slopes = type(p.loss).tuple_slopes

    def spend(seconds):
        now[0] += seconds

    def slowly(self, *given):
        spend(1)
        return slopes(self, *given)

    def observe(t, seconds, model):
        seen.append((t, seconds))
        spend(100)

    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr(progress, "time", SimpleNamespace(**{name: lambda: now[0]}))
    monkeypatch.setattr(type(p.loss), "tuple_slopes", slowly)
    stream(replace(p, clock=Clock([3, 4, 50], observe)), blocks(), constant([0.2]), 50, 20)
    assert seen == [(3, 3.0), (4, 4.0), (50, 50.0)]

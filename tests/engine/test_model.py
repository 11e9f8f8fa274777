"""Trained functions, and those shown to an observer during training."""

import copy
import pickle
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


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    features = FourierFeatures("gaussian", 0.7, 5, seed=2**63 + 1)
    return BlockModel(features, rng.normal(size=(4, 10, 3)).astype(np.float32), first=2)


X = np.random.default_rng(1).random((50, 6), dtype=np.float32)


def test_the_value_is_the_sum_over_blocks_and_the_offset(model, monkeypatch):
    offset = np.array([0.5, -2, 0], np.float32)
    phi = [model.blocks.transform(X, 2 + t) * np.sqrt(5) for t in range(4)]
    expected = sum(f @ coef for f, coef in zip(phi, model.coef, strict=True)) + offset
    shifted = replace(model, offset=offset)
    np.testing.assert_allclose(shifted.values(X), expected, atol=1e-5)
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 16)
    done = []
    with listening(done.append):
        np.testing.assert_allclose(shifted.values(X), expected, atol=1e-5)
    assert done == [0.32, 0.64, 0.96, 1.0]
    shifted.coef[3, 9, 1], offset[2] = np.nan, np.inf
    assert shifted.finite.tolist() == [True, False, False]


def test_a_model_of_another_random_stream_is_refused(model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.values(X), model.values(X))
    np.testing.assert_array_equal(copy.copy(model).values(X), model.values(X))
    state = model.__getstate__()
    with pytest.raises(DataError, match="by version 0 of the random stream, here is version"):
        copy.copy(model).__setstate__({**state, "stream_version": 0})


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
    with pytest.raises(FitError, match="no solution"):
        one_by_one(auc(1.0), solve)
    with pytest.raises(MemoryLimitError):
        one_by_one(auc(0.5, 0.0), solve)


# Observed training.

SIZES = {"batch_size": 20, "n_features": 6, "n_iterations": 60, "sigma": 1.0}


def observed(at, n_unlabeled, observe, **more):
    X, positive, U = rows(10, n_unlabeled=n_unlabeled)
    training = {"X": X, "y": positive, "X_unlabeled": U}
    return QSGS2AUC(**SIZES, **more).fit_observed(**training, at=at, observe=observe)


@pytest.mark.parametrize("n_unlabeled", [100, 6000])
def test_training_does_not_notice_and_shows_the_model_of_a_shorter_training(
    n_unlabeled, monkeypatch
):
    """Also in the middle of a panel, and by an observer that spoils what it is shown."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    X, positive, U = rows(10, n_unlabeled=n_unlabeled)
    at, shown, heard = [1, 2, 40, 59, 60], [], []

    def spoil(t, seconds, model):
        shown.append((t, model.decision_function(U)))
        model.function_.coef[:1] = np.nan

    with listening(heard.append):
        final = observed(at, n_unlabeled, spoil, lam=0.5)
    assert heard == sorted(heard) and len(heard) <= 61  # evaluating is no progress of training
    alone = QSGS2AUC(**SIZES, lam=0.5).fit(X, positive, U)
    np.testing.assert_array_equal(final.function_.coef, alone.function_.coef)
    assert [t for t, _ in shown] == at
    for t, values in shown:
        shorter = QSGS2AUC(**{**SIZES, "n_iterations": t}, lam=0.5).fit(X, positive, U)
        np.testing.assert_allclose(values, shorter.decision_function(U), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads, name", [(1, "process_time"), (2, "perf_counter")])
def test_seconds_are_those_of_training_alone(monkeypatch, threads, name):
    now, seen, p = [5.0], [], auc(0.5)

    def spend(seconds):
        now[0] += seconds

    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr(progress, "time", SimpleNamespace(**{name: lambda: now[0]}))
    slopes = type(p.loss).tuple_slopes
    monkeypatch.setattr(
        type(p.loss), "tuple_slopes", lambda self, *given: spend(1) or slopes(self, *given)
    )
    slow = lambda t, seconds, model: seen.append((t, seconds)) or spend(100)  # noqa: E731
    stream(replace(p, clock=Clock([3, 4, 50], slow)), blocks(), constant([0.2]), 50, 20)
    assert seen == [(3, 3.0), (4, 4.0), (50, 50.0)]


@pytest.mark.parametrize("at", [[0], [2, 2], [3, 1], [1, 61], [-1]])
def test_checkpoints_ascend_within_the_iterations(at):
    with pytest.raises(ValueError, match=r"must ascend from 1|only 60 iterations"):
        observed(at, 50, print)

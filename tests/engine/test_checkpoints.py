"""Models shown along a training: they are right, they are free, and training does not notice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from dsgkit.engine import Problem, sizes, train
from dsgkit.engine.coefficients import Coefficients
from dsgkit.system import progress
from dsgkit.system.progress import listening
from tests.engine.test_training import constant_step_problem

STREAMED, RESIDENT = 6000, 100


def shown(problem, at):
    """Train with checkpoints; returns the final model and what was shown."""
    seen = []
    final = train(problem, at=at, observe=lambda *what: seen.append(what))
    return final, seen


def same(a, b):
    assert a.first_block == b.first_block
    np.testing.assert_array_equal(a.coefficients, b.coefficients)


@pytest.mark.parametrize("n_unlabeled", [STREAMED, RESIDENT])
@pytest.mark.parametrize("etas", [[0.001], [0.2], [1.0], [0.3, 0.2]])
def test_training_does_not_notice(n_unlabeled, etas, monkeypatch):
    """Also in the middle of a panel, and where blocks are forgotten."""
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    problem = constant_step_problem(etas, T=150, n_unlabeled=n_unlabeled)
    assert problem.resident(1) == (n_unlabeled == RESIDENT)
    final, seen = shown(problem, [1, 2, 40, 77, 78, 149, 150])
    assert [t for t, _, _ in seen] == [1, 2, 40, 77, 78, 149, 150]
    same(final, train(problem))
    same(final, seen[-1][2])


@pytest.mark.parametrize("n_unlabeled", [STREAMED, RESIDENT])
def test_what_is_shown_is_the_model_of_a_shorter_training(n_unlabeled, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    monkeypatch.setattr(
        Problem, "resident", lambda self, table: table == 0 or n_unlabeled == RESIDENT
    )
    problem = constant_step_problem([0.2], T=150, n_unlabeled=n_unlabeled)
    for t, _, model in shown(problem, [1, 40, 121])[1]:
        same(model, train(replace(problem, n_iterations=t)))


def test_what_is_shown_is_the_observers_own():
    problem = constant_step_problem([0.2], T=60)
    kept = []

    def spoil(t, seconds, model):
        kept.append((model, model.coefficients.copy()))
        model.coefficients[:1] = np.nan

    final = train(problem, at=[20, 60], observe=spoil)
    same(final, train(problem))
    first, at_its_time = kept[0]
    np.testing.assert_array_equal(first.coefficients[1:], at_its_time[1:])


class Clock:
    """A clock that goes on only when told to."""

    def __init__(self):
        self.now = 5.0

    def __call__(self):
        return self.now

    def spend(self, seconds):
        self.now += seconds


@dataclass(frozen=True)
class TakingTime:
    """An objective of one second."""

    objective: object
    clock: Clock

    def coefficients(self, values):
        self.clock.spend(1.0)
        return self.objective.coefficients(values)

    def take(self, models):
        return TakingTime(self.objective.take(models), self.clock)


@pytest.mark.parametrize("threads, name", [(1, "process_time"), (2, "perf_counter")])
def test_on_one_thread_seconds_are_processor_time(monkeypatch, threads, name):
    clock = Clock()
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr(progress, "time", SimpleNamespace(process_time=None, perf_counter=None))
    monkeypatch.setattr(progress.time, name, clock)
    watch = progress.Stopwatch()
    clock.spend(2)
    with watch.paused():
        clock.spend(100)
    assert watch.seconds == 2.0


def test_seconds_are_those_of_training_alone(monkeypatch):
    clock = Clock()
    both = SimpleNamespace(process_time=clock, perf_counter=clock)
    monkeypatch.setattr(progress, "time", both)
    copy = Coefficients.needed
    monkeypatch.setattr(Coefficients, "needed", lambda self: clock.spend(1000) or copy(self))
    problem = constant_step_problem([0.2], T=50)
    problem = replace(problem, objective=TakingTime(problem.objective, clock))
    seen = []

    def slow(t, seconds, model):
        seen.append((t, seconds))
        clock.spend(100)

    train(problem, at=[3, 4, 50], observe=slow)
    assert seen == [(3, 3.0), (4, 4.0), (50, 50.0)]


def test_progress_of_observers_is_not_that_of_training():
    problem = constant_step_problem([0.2], T=4)
    heard = []
    with listening(heard.append):
        train(problem, at=[1, 3], observe=lambda t, s, model: model.decision_function(np.eye(3)))
    assert heard == sorted(heard) and len(heard) == 4


@pytest.mark.parametrize("at", [[0], [2, 2], [3, 1], [1, 51], [-1]])
def test_checkpoints_ascend_within_the_iterations(at):
    with pytest.raises(ValueError, match=r"must ascend within 1\.\.50"):
        train(constant_step_problem([0.2], T=50), at=at, observe=print)

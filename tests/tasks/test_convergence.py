"""The distance to the exact minimiser along a training, in records and in tables."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.data.targets import Target
from dsgkit.errors import DsgWarning
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.auc.qsg_s2auc import QSGS2AUC
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.ordinal.qs3orao import QS3ORAO
from dsgkit.tasks.base import checkpoints
from dsgkit.tasks.ordinal import Ordinal
from dsgkit.tasks.semi_supervised import DISTANCE, SemiSupervisedAUC
from tests.data.conftest import make_dataset

SETTING = {"lam": 0.25, "sigma": 1.0, "gamma": 0.5}
SIZES = {"batch_size": 16, "n_features": 16}
ITERATIONS = 64
PAIRS = [(SemiSupervisedAUC, QSGS2AUC, SAMULT), (Ordinal, QS3ORAO, ExactS2OR)]


def trial_of(task, **settings):
    rng = np.random.default_rng(0)
    X = rng.random((140, 3)).astype(np.float32)
    score = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=len(X))
    if task is SemiSupervisedAUC:
        y = np.where(score > 0.8, 1, -1)
    else:
        y = 1 + np.searchsorted(np.quantile(score, [0.3, 0.7]), score)
    dataset = make_dataset(X, y)
    if task is Ordinal:
        dataset = replace(dataset, target=Target("ordered"))
    spec = task.Spec(kind=task.kind, labeled=40, folds=3, **settings)
    return task(dataset, spec, 0)


def judged(trial, model, at):
    trial.fit(model, at, Clock())
    return trial.judge(model, at, Clock())


@pytest.mark.parametrize(("task", "solver", "exact"), PAIRS)
def test_it_is_that_of_a_training_of_so_many_iterations(task, solver, exact):
    """Of other fits, each of them as long, to the closed form."""
    trial, at = trial_of(task, convergence=True), {"unlabeled": 100}
    found = judged(trial, solver(**SETTING, **SIZES, n_iterations=ITERATIONS), at)
    assert [step["iteration"] for step in found.trace] == checkpoints(ITERATIONS)
    given = trial.training(at)
    rows = np.vstack([given["X"][:], given["X_unlabeled"][:]])

    def values(model):
        """Of the function alone: thresholds take five more fits."""
        return getattr(model, "fit_function", model.fit)(**given).decision_function(rows)

    minimiser = values(exact(**SETTING))
    for step in found.trace[-2:]:
        f = values(solver(**SETTING, **SIZES, n_iterations=step["iteration"]))
        expected = ((f - minimiser) ** 2).mean() / (minimiser**2).mean()
        assert step[DISTANCE.name] == pytest.approx(expected, rel=1e-3)
    seconds = [step["seconds"] for step in found.trace]
    assert seconds == sorted(seconds) and found.scores["auc"] is not None
    assert found.scores[DISTANCE.name] == found.trace[-1][DISTANCE.name]
    assert found.trace[-1][DISTANCE.name] < found.trace[0][DISTANCE.name] / 4


@pytest.mark.parametrize(("task", "solver", "exact"), PAIRS)
def test_a_watched_fit_is_the_same_fit(task, solver, exact):
    at, params = {"unlabeled": 100}, {**SETTING, **SIZES, "sigma": "scale"}
    plain, watched = solver(**params), solver(**params)
    without = judged(trial_of(task), plain, at)
    judged(trial_of(task, convergence=True), watched, at)
    np.testing.assert_array_equal(plain.model_.coefficients, watched.model_.coefficients)
    assert plain.n_iter_ == watched.n_iter_ and plain.sigma_ == watched.sigma_
    assert not without.trace and DISTANCE.name not in without.scores


@pytest.mark.parametrize(
    ("model", "most"),
    [(QSGS2AUC(**SETTING, **SIZES), 99), (SAMULT(**SETTING), 5000)],
    ids=["the minimiser takes too long", "an exact method"],
)
def test_where_there_is_no_distance(monkeypatch, model, most):
    monkeypatch.setattr("dsgkit.tasks.semi_supervised.MAX_CONVERGENCE_ROWS", most)
    found = judged(trial_of(SemiSupervisedAUC, convergence=True), model, {"unlabeled": 100})
    assert not found.trace and DISTANCE.name not in found.scores


def test_without_a_minimiser_there_is_a_warning(monkeypatch):
    monkeypatch.setattr(SAMULT, "_memory_limit", lambda self: 1)
    trial = trial_of(SemiSupervisedAUC, convergence=True)
    with pytest.warns(DsgWarning, match="no exact minimiser to compare with: .*memory"):
        found = judged(trial, QSGS2AUC(**SETTING, **SIZES), {"unlabeled": 100})
    assert not found.trace and found.scores["auc"] is not None

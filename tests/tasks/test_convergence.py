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
from dsgkit.tasks.semi_supervised import SemiSupervisedAUC
from tests.data.conftest import make_dataset

SETTING = {"lam": 0.25, "sigma": 1.0, "gamma": 0.5}
SIZES = {"batch_size": 16, "n_features": 16}
AT = {"unlabeled": 100}


def judged(task, model, **settings):
    rng = np.random.default_rng(0)
    X = rng.random((140, 3)).astype(np.float32)
    score = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=len(X))
    y = 1 + np.searchsorted(np.quantile(score, [0.3, 0.7]), score)
    dataset = make_dataset(X, y if task is Ordinal else np.where(score > 0.8, 1, -1))
    if task is Ordinal:
        dataset = replace(dataset, target=Target("ordered"))
    trial = task(dataset, task.Spec(kind=task.kind, labeled=40, folds=3, **settings), 0)
    trial.fit(model, AT, Clock())
    return trial.training(AT), trial.judge(model, AT, Clock())


@pytest.mark.parametrize(
    ("task", "solver", "exact"),
    [(SemiSupervisedAUC, QSGS2AUC, SAMULT), (Ordinal, QS3ORAO, ExactS2OR)],
)
def test_it_is_that_of_a_training_of_so_many_iterations(task, solver, exact):
    """Of other fits, each of them as long, to the closed form; and a watched fit is the same."""
    model = solver(**SETTING, **SIZES, n_iterations=64)
    given, found = judged(task, model, convergence=True)
    assert [step["iteration"] for step in found.trace] == checkpoints(64)
    rows = np.vstack([given["X"][:], given["X_unlabeled"][:]])

    def values(model):
        """Of the function alone: thresholds take five more fits."""
        return getattr(model, "fit_function", model.fit)(**given).decision_function(rows)

    minimiser = values(exact(**SETTING))
    for step in found.trace[-2:]:
        f = values(solver(**SETTING, **SIZES, n_iterations=step["iteration"]))
        expected = ((f - minimiser) ** 2).mean() / (minimiser**2).mean()
        assert step["squared_distance"] == pytest.approx(expected, rel=1e-3)
    seconds = [step["seconds"] for step in found.trace]
    assert seconds == sorted(seconds) and found.scores["auc"] is not None
    assert found.scores["squared_distance"] == found.trace[-1]["squared_distance"]
    assert found.trace[-1]["squared_distance"] < found.trace[0]["squared_distance"] / 4
    params = {**SETTING, **SIZES, "sigma": "scale"}
    plain, watched = solver(**params), solver(**params)
    _, without = judged(task, plain)
    judged(task, watched, convergence=True)
    np.testing.assert_array_equal(plain.model_.coefficients, watched.model_.coefficients)
    assert plain.n_iter_ == watched.n_iter_ and plain.sigma_ == watched.sigma_
    assert not without.trace and "squared_distance" not in without.scores


@pytest.mark.parametrize(
    ("model", "most"),
    [(QSGS2AUC(**SETTING, **SIZES), 99), (SAMULT(**SETTING), 5000)],
    ids=["the minimiser takes too long", "an exact method"],
)
def test_where_there_is_no_distance(monkeypatch, model, most):
    monkeypatch.setattr("dsgkit.tasks.semi_supervised.MAX_CONVERGENCE_ROWS", most)
    _, found = judged(SemiSupervisedAUC, model, convergence=True)
    assert not found.trace and "squared_distance" not in found.scores


def test_without_a_minimiser_there_is_a_warning(monkeypatch):
    monkeypatch.setattr(SAMULT, "_memory_limit", lambda self: 1)
    with pytest.warns(DsgWarning, match="no exact minimiser to compare with: .*memory"):
        _, found = judged(SemiSupervisedAUC, QSGS2AUC(**SETTING, **SIZES), convergence=True)
    assert not found.trace and found.scores["auc"] is not None

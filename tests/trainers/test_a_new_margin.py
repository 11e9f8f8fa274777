"""A loss of margins that the package does not know gets every trainer: logistic regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typing_extensions import Doc

from dsgkit.objectives.margin import MarginRisk
from dsgkit.objectives.risks import Risk
from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.solvers.common import CStar, CStarRatio, HingeWeight, Sigma
from dsgkit.solvers.s3vm.base import S3VM, step_of
from dsgkit.trainers.blocks import Streaming, Sweeps
from dsgkit.trainers.fixed_features import FixedFeatures
from dsgkit.trainers.steps import StepsOfMargins
from dsgkit.trainers.training import Decreasing, Fold, Training
from tests.solvers.brute_force import folds_of, problem
from tests.trainers.features import BLOCKS, MANY, SOME, features_of

TRAINERS = {
    "streaming": Streaming(MANY, 64, 1500, StepsOfMargins()),
    "fixed": FixedFeatures(SOME, 64, 1000, StepsOfMargins()),
    "sweeps": Sweeps(SOME, 1000, n_blocks=BLOCKS, n_sweeps=60),
}
TOLERANCE = {"streaming": 0.08, "fixed": 0.08, "sweeps": 1e-4}


class Objective:
    """Logistic loss of models; without the share of positive rows it is that of the batch."""

    def __init__(self, C, share=None):
        self.C, self.share = np.float32(C), share

    def take(self, models):
        return type(self)(self.C[models], None if self.share is None else self.share[models])

    def _of_rows(self, values):
        n = [len(f) for f in values[:2]]
        share = np.float32(n[0] / sum(n)) if self.share is None else self.share
        return self.C * share / n[0], self.C * (1 - share) / n[1]

    def coefficients(self, values):
        p, n = self._of_rows(values)
        return [-p / (1 + np.exp(values[0])), n / (1 + np.exp(-values[1])), 0 * values[2]]


class Bounded(Objective):
    def weights(self, values):
        weights = [*self._of_rows(values), 0 * self.C]
        return [w / 4 * np.ones_like(f) for w, f in zip(weights, values, strict=True)]


@dataclass(frozen=True)
class LogisticRisk(Risk):
    C: float
    C_star: float = 0.0

    def value(self, values, counts):
        losses = np.logaddexp(0, np.concatenate([-values[0], values[1]]))
        return float(self.C * losses.mean())

    @classmethod
    def on_tuples(cls, risks, counts):
        share = (counts[:, 0] / counts.sum(axis=1)).astype(np.float32)
        return Objective([risk.C for risk in risks], share)

    @classmethod
    def majorised(cls, risks):
        return Bounded([risk.C for risk in risks])


class KernelLogistic(S3VM, SemiSupervisedClassifier):
    C: HingeWeight = 20.0
    sigma: Sigma = 2.0
    C_star: CStar = None
    C_star_ratio: CStarRatio = None
    _: KW_ONLY
    trainer: Annotated[str, Doc("A trainer's name.")] = "sweeps"

    def _risk(self, n_labeled, n_unlabeled):
        return LogisticRisk(self.C)

    def _step(self):
        return step_of(self.C, "decreasing", 2.0)

    def _trainer(self, n_labeled, n_unlabeled):
        return TRAINERS[self.trainer]


def expected(trainer, X, y, U, C):
    Phi = features_of(trainer, np.vstack([X, U]))
    model = LogisticRegression(C=C / len(X), fit_intercept=False, tol=1e-9, max_iter=10**5)
    return model.fit(Phi[: len(X)], y).decision_function(Phi[len(X) :])


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_finds_the_minimiser(trainer):
    X, y, U = problem(n_labeled=40)
    points = [{"C": 5.0}, {"C": 20.0}]
    model = KernelLogistic(trainer=trainer)
    together = model.fit_points(points, X=X, y=y, X_unlabeled=U).decision_function(U)
    model.fit(X, y, U)
    fits = [(together[:, 0], 5.0), (together[:, 1], 20.0), (model.decision_function(U), 20.0)]
    for values, C in fits:
        best = expected(trainer, X, y, U, C)
        assert np.max(abs(values - best)) <= TOLERANCE[trainer] * np.max(abs(best))
    found = model.diagnostics(X, y, U)
    losses = np.logaddexp(0, -y * model.decision_function(X))
    assert found["risk"] == pytest.approx(20 * losses.mean(), rel=1e-6)


RISKS = {
    "hinge": MarginRisk(20.0, 5.0, 10.0),
    "balanced": MarginRisk(20.0, 5.0, loss="da", balance=True),
    "logistic": LogisticRisk(20.0),
}


def training(X, y, U, pools, risk):
    steps, codes = [Decreasing(1.0, 2.0)], np.where(y > 0, 0, 1)
    return Training(X, codes, U, pools, 2, [[risk] * len(pools)], [0.5], steps)


SHORT = {
    "streaming": replace(TRAINERS["streaming"], n_iterations=60),
    "fixed": replace(TRAINERS["fixed"], n_iterations=60),
    "sweeps": replace(TRAINERS["sweeps"], n_sweeps=3),
}


# hinges have no bound for sweeps
FITTING = [(t, r) for t in SHORT for r in RISKS if t != "sweeps" or r == "logistic"]


@pytest.mark.parametrize(("trainer", "risk"), FITTING)
def test_all_folds_in_one_pass_are_the_trainings_without_each(trainer, risk):
    X, y, U = problem(n_labeled=20)
    folds, trainer = folds_of(20, 4), SHORT[trainer]
    pools = [np.setdiff1d(np.arange(20), fold) for fold in folds]
    together = training(X, y, U, pools, RISKS[risk])
    values = trainer.fold_values(together, [Fold(rows) for rows in folds])[0][0]
    for fold, pool in zip(folds, pools, strict=True):
        alone = trainer.fit(training(X, y, U, [pool], RISKS[risk])).values(X[fold])
        np.testing.assert_allclose(values[fold], alone, atol=1e-3 * abs(alone).max())


def test_a_trainer_says_what_a_risk_lacks():
    X, y, U = problem()
    with pytest.raises(TypeError, match="MarginRisk has no quadratic form, which this trainer"):
        TRAINERS["sweeps"].fit(training(X, y, U, [np.arange(16)], RISKS["hinge"]))

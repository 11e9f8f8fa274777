"""A risk that the package does not know gets every trainer: positive-unlabelled learning.

Of the squared loss ``(t z - 1)^2/4``, the unbiased risk of positive and unlabelled rows is
``-pi mean_P f + mean_U (f + 1)^2/4`` (du Plessis, Niu & Sugiyama, ICML 2015).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
import pytest
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.objectives.risks import Risk
from dsgkit.solvers.common import Lam, Sigma
from dsgkit.solvers.minimise import held_out_values
from dsgkit.solvers.parameters import PER_MODEL, SHARE
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.blocks import Streaming, Sweeps
from dsgkit.trainers.explicit_features import OnLandmarks, OnRandomFeatures
from dsgkit.trainers.fixed_features import FixedFeatures
from dsgkit.trainers.kernel_matrix import KernelMatrix
from dsgkit.trainers.training import Decreasing, Fold, Given
from dsgkit.trainers.unlabeled import UnlabeledFeatures, UnlabeledKernel
from tests.trainers.features import BLOCKS, MANY, SOME, features_of

TRAINERS = {
    "streaming": Streaming(MANY, batch_size=64, n_iterations=1500),
    "fixed": FixedFeatures(SOME, batch_size=64, n_iterations=1000),
    "sweeps": Sweeps(SOME, 1000, n_blocks=BLOCKS, n_sweeps=60),
    "kernel": KernelMatrix("gaussian", 2.0),
    "features": OnRandomFeatures(SOME),
    "landmarks": OnLandmarks("gaussian", 2.0, n_landmarks=1000, random_state=0),
    "kernel of unlabelled rows": UnlabeledKernel("gaussian", 2.0),
    "features of unlabelled rows": UnlabeledFeatures(SOME),
}


@dataclass(frozen=True)
class PositiveUnlabeled(Risk):
    prior: float

    def form(self, counts):
        return PairwiseRisk(
            diagonal=np.array([0, 1 / 4]),
            cross=np.zeros((2, 2)),
            linear=np.array([self.prior / 2, -1 / 4]),
            constant=1 / 4,
        )


class PU(QuadraticRiskEstimator):
    lam: Lam = 0.25
    prior: Annotated[float, SHARE, PER_MODEL, Doc("Share of positive rows.")] = 0.4
    _: KW_ONLY
    sigma: Sigma = 2.0
    trainer: Annotated[str, Doc("A trainer's name.")] = "kernel"

    def fit(self, X_positive, X_unlabeled):
        return super().fit(X_positive, np.ones(len(X_positive)), X_unlabeled)

    def _encode(self, labels, hint):
        return np.array([1]), np.zeros(len(labels), np.int64)

    def _risk(self):
        return PositiveUnlabeled(self.prior)

    def _trainer(self):
        return TRAINERS[self.trainer]

    def _step(self):
        return Decreasing(1.5, "stable")


def problem():
    rng = np.random.default_rng(0)
    positive, negative = (rng.normal(size=(n, 2)) / 5 + at for n, at in ((60, 0.6), (36, 0.1)))
    return positive[:20].astype(np.float32), np.vstack([positive[20:], negative]).astype(np.float32)


def direct(Phi, P, U, prior, lam):
    """Return values at all rows of the function ``Phi w`` that minimises the penalised risk."""
    gram = U.T @ U / (2 * len(U)) + lam * np.eye(Phi.shape[1])
    return Phi @ np.linalg.solve(gram, prior * P.mean(axis=0) - U.mean(axis=0) / 2)


TOLERANCE = {
    **{"streaming": 0.06, "fixed": 0.06, "sweeps": 1e-4},
    **{"kernel": 1e-7, "features": 1e-4, "landmarks": 1e-5},
}
TOLERANCE |= {f"{name} of unlabelled rows": TOLERANCE[name] for name in ("kernel", "features")}


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_finds_the_minimiser(trainer):
    P, U = problem()
    Phi = features_of(trainer, np.vstack([P, U]))
    model = PU(0.25, 0.4, trainer=trainer).fit(P, U)
    expected = direct(Phi, Phi[: len(P)], Phi[len(P) :], 0.4, 0.25)
    got = model.decision_function(np.vstack([P, U]))
    assert np.max(abs(got - expected)) <= TOLERANCE[trainer] * np.max(abs(expected))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_folds_of_several_models_hold_out_rows_of_both_kinds(trainer):
    P, U = problem()
    Phi, Psi = np.split(features_of(trainer, np.vstack([P, U])), [len(P)])
    folds = [Fold(np.arange(k, 20, 2), np.arange(3 * k, 76, 9)) for k in range(2)]
    models = [PU(lam, prior, trainer=trainer) for lam, prior in ((0.125, 0.6), (0.5, 0.3))]
    given = Given(P, np.zeros(len(P), int), U, n_sources=1)
    values = held_out_values(models, given, folds)
    for model, *found in zip(models, *values, strict=True):
        for fold in folds:
            kept = [np.delete(rows, out, 0) for rows, out in zip((Phi, Psi), fold, strict=True)]
            held_out = np.vstack([Phi[fold.labeled], Psi[fold.unlabeled]])
            expected = direct(held_out, *kept, model.prior, model.lam)
            got = np.concatenate([f[out] for f, out in zip(found, fold, strict=True)])
            assert np.max(abs(got - expected)) <= TOLERANCE[trainer]


def test_an_estimator_of_it_has_what_others_have():
    P, U = problem()
    model = clone(PU(0.5)).fit(P, U)
    assert model.cost(2, n_labeled=20, n_unlabeled=76).memory > 0
    found = model.diagnostics(P, np.ones(len(P)), U)
    values, others = model.decision_function(P), model.decision_function(U)
    assert found["risk"] == pytest.approx(np.mean((others + 1) ** 2) / 4 - 0.4 * values.mean())
    assert found["objective"] == pytest.approx(found["risk"] + found["squared_norm"] / 4)

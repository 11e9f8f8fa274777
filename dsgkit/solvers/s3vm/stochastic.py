"""Base of the S3VMs that follow stochastic gradients on random features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.engine import ConstantStep, DSGModel, Problem, Source
from dsgkit.errors import DivergedError
from dsgkit.features import FeatureBlocks, random_features
from dsgkit.objectives.s3vm import S3VMObjective
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.doubly_stochastic import (
    DoublyStochasticEstimator,
    TogetherModels,
    finite_models,
)
from dsgkit.solvers.inputs import check_projections
from dsgkit.solvers.kernel import KernelName
from dsgkit.solvers.parameters import (
    COUNT,
    NOT_NEGATIVE,
    PER_MODEL,
    POSITIVE,
    SEED,
    Range,
    Smoother,
)
from dsgkit.solvers.s3vm.base import S3VM

LossName = Literal["shg", "sshg", "ramp", "da"]
"""The losses of unlabelled rows, those of `dsgkit.objectives.s3vm`."""


class StochasticS3VM(DoublyStochasticEstimator, S3VM):
    """Base of the solvers that follow stochastic gradients of the S3VM objective.

    Subclasses implement `_train`, and say what they cost.
    """

    C: Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller")]
    C_star: Annotated[float | None, NOT_NEGATIVE, PER_MODEL]
    kernel: KernelName
    loss: Annotated[LossName, PER_MODEL]
    ramp_s: Annotated[float, Range(-1, 0, open_low=True), PER_MODEL]
    step: Annotated[float, Range(0, 1, open_low=True), PER_MODEL]
    batch_size: Annotated[int, COUNT]
    n_features: Annotated[int | None, COUNT]
    n_iterations: Annotated[int | None, COUNT]
    n_passes: Annotated[int, COUNT] = 1
    random_state: Annotated[int, SEED]

    def _train(self, problem: Problem) -> list[DSGModel]:
        """Return the models of a problem, in order."""
        raise NotImplementedError

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Train a model for each of many settings, all in one pass over the features.

        As in the base class; the points of one pass must agree in all parameters but C, C_star,
        loss, ramp_s and step. A model that diverged has values of NaN.
        """
        if folds is not None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        settings = self._settings(points)
        checked = clone(self)
        return TogetherModels(checked, _trained(settings, *checked._inputs(X, y, X_unlabeled)))

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        (model,) = _trained([self], X, positive, X_unlabeled)
        if not finite_models(model).all():
            raise DivergedError(f"diverged with C={self.C:g}, beyond single precision: lower C")
        self.model_ = model
        self.n_iter_ = self._iterations(len(X_unlabeled))

    def _iterations(self, n_unlabeled: int) -> int:
        """Return ``n_iterations``, by default those of ``n_passes`` over the unlabelled rows."""
        if self.n_iterations is not None:
            return int(self.n_iterations)
        return int(self.n_passes) * -(-n_unlabeled // int(self.batch_size))

    def _features(self, n_rows: int) -> FeatureBlocks:
        """Return the random features: ``n_features``, by default the root of all training rows."""
        m = math.isqrt(n_rows - 1) + 1 if self.n_features is None else int(self.n_features)
        return random_features(self.kernel, float(self.sigma), m, int(self.random_state))


def _trained(
    settings: Sequence[StochasticS3VM], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> list[DSGModel]:
    """Return the models of all settings, in order; rows and memory are checked."""
    shared, n_labeled, n_unlabeled = settings[0], len(X), len(X_unlabeled)
    check_projections(X, shared.sigma, shared.kernel)
    cost = shared.cost(
        X.shape[1], n_models=len(settings), n_labeled=n_labeled, n_unlabeled=n_unlabeled
    )
    shared._check_memory(cost)
    models = shared._train(_problem(settings, X, positive, X_unlabeled))
    if not any(finite_models(model).any() for model in models):
        check_projections(X_unlabeled, shared.sigma, shared.kernel)
    return models


def _problem(
    settings: Sequence[StochasticS3VM], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> Problem:
    """Return the problem of training a model for every setting."""
    n_labeled, n_unlabeled = len(X), len(X_unlabeled)
    shared = settings[0]
    columns = [
        (s.C, s._unlabeled_weight(n_labeled, n_unlabeled), s.ramp_s, s.step) for s in settings
    ]
    C, C_star, ramp_s, step = np.array(columns, np.float64).T
    return Problem(
        tables=[X, X_unlabeled],
        sources=[
            Source(0, [np.flatnonzero(positive)]),
            Source(0, [np.flatnonzero(~positive)]),
            Source(1, in_passes=True),
        ],
        objective=S3VMObjective(
            C, C_star, float(positive.mean()), [s.loss for s in settings], ramp_s
        ),
        step=ConstantStep(step, lam=np.ones(len(settings))),
        features=shared._features(n_labeled + n_unlabeled),
        n_iterations=shared._iterations(n_unlabeled),
        batch_size=int(shared.batch_size),
        group=np.zeros(len(settings), np.int64),
    )

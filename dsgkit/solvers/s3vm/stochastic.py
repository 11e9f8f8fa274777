"""What the stochastic-gradient solvers of the semi-supervised SVM share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import ConstantStep, DSGModel, Problem, Source
from dsgkit.errors import DataError, DivergedError
from dsgkit.features import FourierFeatures
from dsgkit.objectives.s3vm import UNLABELED_LOSSES, S3VMObjective
from dsgkit.solvers.base import PointModels, SemiSupervisedClassifier, encode_labels
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.inputs import (
    check_above_zero,
    check_between,
    check_count,
    check_one_of,
    check_projections,
    check_seed,
    check_training_rows,
)

PER_MODEL = ("C", "C_star", "step", "loss", "ramp_s")
"""Parameters in which the models of one pass may differ."""


class TogetherModels(PointModels):
    """The models of several parameter settings, evaluated together.

    Parameters
    ----------
    models : sequence of DSGModel
        Together one function for each setting, in order.
    """

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of all at the rows of ``X``, shape (n, n_points); NaN if diverged."""
        values = np.hstack([model.decision_function(X) for model in self._models])
        finite = np.concatenate([finite_models(model) for model in self._models])
        values[:, ~finite] = np.nan
        return values.astype(np.float64)


def finite_models(model: DSGModel) -> NDArray[np.bool_]:
    """Return which functions of a model have finite coefficients, shape (G,)."""
    return np.asarray(np.isfinite(model.coefficients).all(axis=(0, 1)))


class StochasticS3VM(DoublyStochasticEstimator, SemiSupervisedClassifier):
    """Base of the solvers that follow stochastic gradients of the S3VM objective.

    Subclasses implement `_train` and `_iterations`, and say what they cost.
    """

    C: float
    sigma: float
    C_star: float | None
    loss: str
    ramp_s: float
    step: float
    batch_size: int
    n_features: int | None
    random_state: int

    def _train(self, problem: Problem) -> list[DSGModel]:
        """Return the models of a problem, in order."""
        raise NotImplementedError

    def _iterations(self, n_unlabeled: int) -> int:
        """Return the number of iterations T."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> StochasticS3VM:
        """Train on labelled and unlabelled rows.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Two classes; the larger label is the positive one.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            Array, memory map or any object with ``shape`` and indexing.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the arrays cannot be used. NaN, infinite and too
            large values are looked for in the labelled rows at once; in the unlabelled rows, which
            may be many and on disk, only if training ends in values that are not finite.
        MemoryLimitError
            If the fit needs more memory than there is.
        DivergedError
            If the iterates left the range of floating point numbers.
        """
        (model,) = self._train_points(X, y, X_unlabeled, [{}])
        if not finite_models(model).all():
            raise DivergedError(f"diverged with C={self.C:g}, beyond single precision: lower C")
        self.model_ = model
        self.n_iter_ = self._iterations(len(X_unlabeled))
        self.n_features_in_ = X.shape[1]
        return self

    def fit_points(
        self, points: Sequence[Mapping[str, Any]], *, X: Any, y: Any, X_unlabeled: Any
    ) -> PointModels:
        """Train a model for each of many settings, all in one pass over the features.

        As `SemiSupervisedClassifier.fit_points`; ``points`` may set C, C_star, step, loss and
        ramp_s, and must agree in everything else. Errors are those of `fit`, except that a model
        that diverged has values of NaN.
        """
        return TogetherModels(self._train_points(X, y, X_unlabeled, points))

    def _train_points(
        self, X: Any, y: Any, X_unlabeled: Any, points: Sequence[Mapping[str, Any]]
    ) -> list[DSGModel]:
        """Return the trained models of all points, everything checked."""
        settings = self._settings(points, PER_MODEL)
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        shared = settings[0]
        check_projections(X, shared.sigma)
        shared._check_memory(
            shared.memory_needed(len(X), *X_unlabeled.shape, n_models=len(settings))
        )
        models = shared._train(_problem(settings, X, positive, X_unlabeled))
        if not any(finite_models(model).any() for model in models):
            check_projections(X_unlabeled, shared.sigma)
        return models

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that cannot be used."""
        check_above_zero(C=self.C, sigma=self.sigma, step=self.step)
        check_between(0, 1, step=self.step)
        check_between(-1, 0, ramp_s=self.ramp_s)
        if self.ramp_s == -1:
            raise DataError("ramp_s must be above -1: the loss would be flat where |f| < 1")
        if self.C_star is not None:
            check_between(0, math.inf, C_star=self.C_star)
        check_one_of(UNLABELED_LOSSES, loss=self.loss)
        check_count(1, batch_size=self.batch_size)
        if self.n_features is not None:
            check_count(1, n_features=self.n_features)
        if self.max_memory is not None:
            check_above_zero(max_memory=self.max_memory)
        check_seed(self.random_state)

    def _n_frequencies(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return ``n_features``, by default ``ceil(sqrt(n))`` of all training rows."""
        if self.n_features is not None:
            return int(self.n_features)
        return math.isqrt(n_labeled + n_unlabeled - 1) + 1

    def _weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return C*, by default ``C n_l / n_u``."""
        if self.C_star is not None:
            return self.C_star
        return self.C * n_labeled / n_unlabeled


def _problem(
    settings: Sequence[StochasticS3VM], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> Problem:
    """Return the problem of training a model for every setting."""
    n_labeled, n_unlabeled = len(X), len(X_unlabeled)
    shared = settings[0]
    columns = [(s.C, s._weight(n_labeled, n_unlabeled), s.ramp_s, s.step) for s in settings]
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
        step=ConstantStep(step),
        features=FourierFeatures(
            "gaussian",
            float(shared.sigma),
            shared._n_frequencies(n_labeled, n_unlabeled),
            int(shared.random_state),
        ),
        n_iterations=shared._iterations(n_unlabeled),
        batch_size=int(shared.batch_size),
        group=np.zeros(len(settings), np.int64),
    )

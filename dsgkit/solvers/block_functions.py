"""Bases of the estimators whose function is an engine model: model files, observed training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel, Problem, train
from dsgkit.errors import DataError
from dsgkit.linalg import Array
from dsgkit.solvers.base import Estimator, Points
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_rows
from dsgkit.solvers.parameters import parameters
from dsgkit.system.progress import Stopwatch
from dsgkit.trainers.blocks import RandomFeatures, Sweeps


def settings_of(estimator: Any, points: Points) -> list[Any]:
    """Return one unfitted estimator per point, for training in one pass.

    Raises
    ------
    DataError
        If the points differ in parameters that are not declared `PER_MODEL`.
    """
    settings: list[Any] = estimator._unfitted(points)
    solver: Any = type(estimator)
    shared = [name for name, p in parameters(solver).items() if not p.per_model]
    values = [[getattr(setting, name) for name in shared] for setting in settings]
    if any(other != values[0] for other in values):
        raise DataError(f"points of one pass must have the same {', '.join(shared)}")
    return settings


class FittedFunction:
    """A function during training, which an observer gets.

    Parameters
    ----------
    estimator : estimator
        Holds the columns of the training rows.
    model : DSGModel
    """

    def __init__(self, estimator: Any, model: DSGModel) -> None:
        self._estimator = estimator
        self.model = model

    def decision_function(self, X: Any) -> Array:
        """Return the values of the function at the rows of ``X``, shape (n,)."""
        X = as_rows(self._estimator, X, reset=False)
        return self.model.decision_function(X)[:, 0].astype(np.float64)


Observer = Callable[[int, float, FittedFunction], None]
"""Called with an iteration, the training seconds so far (without observing), and the function."""


def observed_training(
    estimator: Any, stopwatch: Stopwatch, at: Sequence[int], observe: Observer
) -> Callable[[Problem], DSGModel]:
    """Return a training function that calls ``observe`` at some iterations.

    Parameters
    ----------
    estimator : estimator
        Holds the columns of the training rows.
    stopwatch : Stopwatch
        Started at the beginning of the fit.
    at : sequence of int
        Iterations, ascending, at most the number of those made.
    observe : Observer
    """
    columns = copy.copy(estimator)  # another fit of this estimator must not change the functions

    def trained(problem: Problem) -> DSGModel:
        before = stopwatch.seconds
        return train(
            problem,
            at=at,
            observe=lambda t, seconds, model: observe(
                t, before + seconds, FittedFunction(columns, model)
            ),
        )

    return trained


def random_features_of(estimator: Any) -> RandomFeatures:
    """Return the specification of an estimator's random features, from its parameters."""
    return RandomFeatures(
        getattr(estimator, "kernel", "gaussian"),
        float(estimator._sigma),
        int(estimator.n_features),
        int(estimator.random_state),
        estimator.frequencies,
    )


class BlockFunctionEstimator(Estimator):
    """Base of the estimators of functions over blocks of random features.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    model_: DSGModel = fitted("Seeds and coefficients.")

    def _random_features(self) -> RandomFeatures:
        return random_features_of(self)

    def save(self, path: str | Path) -> None:
        """Write the fitted function to a ``.npz`` file, which `dsgkit.load_model` reads.

        The file has no classes or thresholds; pickle the estimator to keep these too.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)


class SweepsEstimator(BlockFunctionEstimator):
    """Base of the estimators that are trained by sweeps over their blocks."""

    batch_size: int
    n_blocks: int
    n_sweeps: int

    def _trainer(self, *_counts: int) -> Sweeps:
        return Sweeps(
            self._random_features(),
            int(self.batch_size),
            n_blocks=int(self.n_blocks),
            n_sweeps=int(self.n_sweeps),
        )


class StochasticEstimator(BlockFunctionEstimator):
    """Base of the estimators that are trained in iterations, which can be observed.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    _exact: ClassVar[type[Estimator]]
    """Class of the exact minimiser."""

    n_iter_: int = fitted("Iterations made.")

    def exact_minimiser(self: Any, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Return the exact minimiser of the fitted objective, in O(n^3) for n rows.

        Parameters
        ----------
        X, y, X_unlabeled
            The training rows and labels.
        """
        known = self._exact().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in known}
        exact = self._exact(**{**shared, "sigma": self._sigma})
        exact._warns = False  # the fit has already warned
        # an ordinal model needs no thresholds
        fit = getattr(exact, "fit_function", exact.fit)
        return fit(X, y, X_unlabeled)

    def fit_observed(
        self: Any, X: Any, y: Any, X_unlabeled: Any = None, *, at: Sequence[int], observe: Observer
    ) -> Any:
        """Fit as `fit` does, and call ``observe`` with the function at some iterations.

        Parameters
        ----------
        X, y, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending, at most the number of those made.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of these iterations: with the
            time of the fit so far, without that of observing, and a copy of the function, which
            has ``decision_function``.

        Raises
        ------
        ValueError
            If ``at`` is not ascending or beyond the iterations.
        """
        stopwatch = Stopwatch()
        self._check_params()
        X, labels, X_unlabeled = self._inputs(X, y, X_unlabeled)
        run = observed_training(self, stopwatch, at, observe)
        with self._sigma_for(X, X_unlabeled):
            given = self._given(X, self._codes(labels), X_unlabeled)
            self._train(given, lambda training: self._trainer().fit_by(training, run))
        return self

"""Base of the estimators whose function is one of the engine's: model files, observed training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel, Problem, train
from dsgkit.numerics.arrays import Array
from dsgkit.solvers.base import Estimator, Points
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_rows
from dsgkit.solvers.parameters import parameters
from dsgkit.system.stopwatch import Stopwatch
from dsgkit.tasks.asked import Thresholded
from dsgkit.text.errors import DataError
from dsgkit.trainers.blocks import RandomFeatures, Sweeps


def settings_of(estimator: Any, points: Points) -> list[Any]:
    """Return an estimator for each point of one pass, its parameters checked.

    Raises
    ------
    DataError
        If they differ in parameters other than those that are declared per model.
    """
    settings: list[Any] = estimator._of_points(points)
    solver: Any = type(estimator)
    shared = [name for name, p in parameters(solver).items() if not p.per_model]
    values = [[getattr(setting, name) for name in shared] for setting in settings]
    if any(other != values[0] for other in values):
        raise DataError(f"points of one pass must agree in {', '.join(shared)}")
    return settings


class FittedFunction:
    """A function at a checkpoint of its training.

    Parameters
    ----------
    estimator : estimator
        Knows the columns of the training rows.
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
"""Called with an iteration, the seconds of training until then, and the function there."""


def observed_training(
    estimator: Any, stopwatch: Stopwatch, at: Sequence[int], observe: Observer
) -> Callable[[Problem], DSGModel]:
    """Return training that shows the function on its way.

    Parameters
    ----------
    estimator : estimator
        It knows the columns of the training rows by now.
    stopwatch : Stopwatch
        Made when the fit began.
    at : sequence of int
        Iterations, ascending within those that are made.
    observe : callable
    """
    columns = copy.copy(estimator)  # functions outlive another fit of this estimator

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
    """Return what the random features of an estimator are made from, by its parameters."""
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
        """Return what the features are made from."""
        return random_features_of(self)

    def save(self, path: str | Path) -> None:
        """Write the fitted function to a ``.npz`` file, which `dsgkit.load_model` reads.

        Classes and thresholds are not part of it; pickle keeps the estimator as a whole.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)


class SweepsEstimator(BlockFunctionEstimator):
    """Base of those that are trained by sweeps through their blocks."""

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
    """Base of those that are trained in iterations, and can be watched.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    _exact: ClassVar[type[Estimator]]
    """The class of the exact minimiser."""

    n_iter_: int = fitted("Iterations made.")

    def exact_minimiser(self: Any, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Return the minimiser of the objective that was fitted, in O(n^3) for n rows.

        Parameters
        ----------
        X, y, X_unlabeled
            What was fitted.
        """
        known = self._exact().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in known}
        exact = self._exact(**{**shared, "sigma": self._sigma})
        exact._warns = False  # of what the fit has warned of
        # an ordinal model needs no thresholds
        fit = exact.fit_function if isinstance(exact, Thresholded) else exact.fit
        return fit(X, y, X_unlabeled)

    def fit_observed(
        self: Any, X: Any, y: Any, X_unlabeled: Any = None, *, at: Sequence[int], observe: Observer
    ) -> Any:
        """Fit the function as `fit` does, and show it on the way.

        Parameters
        ----------
        X, y, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within those that are made.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of them, with what the fit has
            taken so far, without what observing takes, and a function of its own that has
            ``decision_function``.

        Raises
        ------
        ValueError
            If ``at`` does not ascend within the iterations.
        """
        stopwatch = Stopwatch()
        self._check_params()
        X, labels, X_unlabeled = self._inputs(X, y, X_unlabeled)
        run = observed_training(self, stopwatch, at, observe)
        with self._settled(X, X_unlabeled):
            given = self._given(X, self._codes(labels), X_unlabeled)
            self._train(given, lambda training: self._trainer().fit_by(training, run))
        return self

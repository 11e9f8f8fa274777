"""Base of the estimators whose model is one of the engine's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel, Problem, train
from dsgkit.errors import DataError
from dsgkit.solvers.base import Estimator, PointModels, Points
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_rows, check_finite
from dsgkit.solvers.parameters import parameters
from dsgkit.stopwatch import Stopwatch


class TogetherModels(PointModels):
    """The models of several parameter settings, evaluated together.

    Parameters
    ----------
    estimator : estimator
        Knows the columns of the training rows.
    models : sequence of DSGModel
        Together one function for each setting, in order.
    """

    def __init__(self, estimator: Any, models: Sequence[DSGModel]) -> None:
        super().__init__(models)
        self._estimator = estimator

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of all at the rows of ``X``, shape (n, n_points); NaN if diverged."""
        X = as_rows(self._estimator, X, reset=False)
        values = np.hstack([model.decision_function(X) for model in self._models])
        finite = np.concatenate([finite_models(model) for model in self._models])
        if not np.isfinite(values[:, finite]).all():
            check_finite(X)
        values[:, ~finite] = np.nan
        return values.astype(np.float64)


class FittedFunction:
    """A function that training has shown on its way.

    Parameters
    ----------
    estimator : estimator
        Knows the columns of the training rows.
    model : DSGModel
    """

    def __init__(self, estimator: Any, model: DSGModel) -> None:
        self._estimator = estimator
        self.model = model

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the function at the rows of ``X``, shape (n,)."""
        X = as_rows(self._estimator, X, reset=False)
        return self.model.decision_function(X)[:, 0].astype(np.float64)


Observer = Callable[[int, float, FittedFunction], None]
"""Takes an iteration, the seconds until then without those of observing, and the function there."""


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


def finite_models(model: DSGModel) -> NDArray[np.bool_]:
    """Return which functions of a model have finite coefficients and intercepts, shape (G,)."""
    finite = np.isfinite(model.coefficients).all(axis=(0, 1)) & np.isfinite(model.intercept)
    return np.asarray(finite)


class DoublyStochasticEstimator(Estimator):
    """Values and files of a fitted model, and the settings that one pass can train together.

    A subclass names this base before the one of its family.
    """

    _solution: ClassVar[str] = "model_"
    model_: DSGModel = fitted("Seeds and coefficients.")

    def _values(self, X: Any) -> NDArray[np.float64]:
        return self.model_.decision_function(X)[:, 0].astype(np.float64)

    def _squared_norm(self) -> float:
        """Return a bound of the squared norm of the fitted function.

        Block t is a term ``<w_t, phi_t>`` in features whose products estimate the kernel: its norm
        is estimated by ``||w_t||``, that of the sum is at most the sum of these. The terms come
        from different batches, whose noise the function averages and the bound does not: it does
        not converge to ``||f*||^2``, which it exceeded 1.2 to 20 times where that was known.
        """
        return float(self._block_norms().sum() ** 2)

    def _block_norms(self) -> NDArray[np.float64]:
        """Return the norm of every block's coefficients, of normalised features."""
        blocks = self.model_.coefficients[:, :, 0]
        squared = np.einsum("tk,tk->t", blocks, blocks, dtype=np.float64)
        return np.sqrt(squared) / self.model_.features.scale

    def save(self, path: str | Path) -> None:
        """Write the fitted function to a ``.npz`` file, which `dsgkit.load_model` reads.

        Classes and thresholds are no part of it; pickle keeps the estimator as a whole.
        """
        check_is_fitted(self, self._solution)
        self.model_.save(path)

    def _settings(self, points: Points) -> list[Self]:
        """Return an estimator for each point, its parameters checked.

        The points of one pass may differ only in parameters that are declared per model.
        """
        settings = [clone(self).set_params(**point) for point in points]
        for setting in settings:
            setting._check_params()
        values = [setting._in_common() for setting in settings]
        if any(other != values[0] for other in values):
            raise DataError(f"points of one pass must agree in {', '.join(values[0])}")
        return settings

    def _in_common(self) -> dict[str, Any]:
        """Return the parameters that models of one pass must agree in."""
        solver: Any = type(self)
        return {n: getattr(self, n) for n, p in parameters(solver).items() if not p.per_model}

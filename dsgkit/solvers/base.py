"""What the estimators of semi-supervised learning share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from dsgkit.costs import Cost
from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.memory import memory_limit
from dsgkit.solvers.inputs import check_above_zero

FUNCTION_FLOPS = 20.0
"""What an exponential, or a cosine and sine together, count as in ``flops``."""


def expansion_flops(n_rows: float, n_centers: float, n_inputs: int) -> float:
    """Return the operations of a Gaussian kernel expansion, as the base class counts them."""
    return n_rows * n_centers * (4.0 * n_inputs + 2 * FUNCTION_FLOPS + 4)


def encode_labels(y: Any) -> NDArray[np.bool_]:
    """Return which rows are positive: those with the larger of exactly two labels.

    Parameters
    ----------
    y : array-like of shape (n_labeled,)

    Raises
    ------
    DataError
        If ``y`` is not one-dimensional or does not hold exactly two different labels.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"labels must be one-dimensional, got shape {labels.shape}")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise DataError(
            f"labels must hold exactly two classes, got {len(classes)}: {classes[:5].tolist()}"
        )
    return labels == classes[1]


def training_rows(held_out: NDArray[np.integer], n_labeled: int) -> NDArray[np.int64]:
    """Return the labelled rows outside of a fold, in order."""
    return np.setdiff1d(np.arange(n_labeled), held_out)


class SemiSupervisedEstimator(BaseEstimator):
    """Base of the estimators that learn from labelled and unlabelled rows."""

    version: ClassVar[int | str | None] = None
    max_memory: float | None = None

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> SemiSupervisedEstimator:
        """Fit the model; see the subclasses."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at the rows of ``X``."""
        raise NotImplementedError

    def cost(self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int) -> Cost:
        """Return what a fit of this size takes, as predicted before it starts."""
        size = n_labeled, n_unlabeled, n_inputs
        return Cost(
            self.flops(*size, n_models=n_models),
            self.memory_needed(*size, n_models=n_models),
            self.predict_flops(1, *size),
        )

    def memory_needed(
        self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1
    ) -> int:
        """Return the bytes that a fit of this size allocates, as predicted before it starts.

        This, `flops` and `predict_flops` serve plans and progress bars. A solver that does not
        say counts as small.

        Parameters
        ----------
        n_labeled, n_unlabeled, n_inputs : int
        n_models : int
            1 for a fit; more for that many models of one `fit_points`.
        """
        return 0

    def flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1) -> float:
        """Return about how many floating-point operations a fit takes (as `memory_needed`).

        All solvers count in operations of a float32 matrix product, which takes ``2 n k m``: the
        count over its speed is a time. A double-precision operation counts twice; an exponential,
        or a sine with its cosine, counts as `FUNCTION_FLOPS` operations of its precision.
        """
        return 1.0

    def predict_flops(self, n_rows: int, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return about the operations of `decision_function` on ``n_rows`` rows.

        The other parameters are the size of the fit before it.
        """
        return 0.0

    def _memory_limit(self) -> int:
        """Return the bytes that a fit may take: ``max_memory`` (GiB), or what is available."""
        if self.max_memory is None:
            return memory_limit()
        check_above_zero(max_memory=self.max_memory)
        return int(self.max_memory * 2**30)

    def _check_memory(self, needed: int) -> None:
        """Raise `MemoryLimitError` if ``needed`` bytes are above the limit."""
        limit = self._memory_limit()
        if needed > limit:
            raise MemoryLimitError(needed, limit)


class PairwiseAUCEstimator(SemiSupervisedEstimator):
    """Base of the estimators that learn a ranking.

    Subclasses implement ``fit`` and ``decision_function``; those that can train a whole grid at
    once also override ``fit_points``.
    """

    tasks: ClassVar[tuple[str, ...]] = ("semi_supervised_auc",)

    def fit_points(
        self,
        points: Sequence[Mapping[str, Any]],
        *,
        folds: Sequence[NDArray[np.integer]],
        X: Any,
        y: Any,
        X_unlabeled: Any,
    ) -> NDArray[np.float64]:
        """Return out-of-fold values of the labelled rows for many parameter settings.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            Used in every fold.
        folds : sequence of int arrays
            The held-out positions of each fold.
        points : sequence of dict
            Parameter settings, laid over this estimator's own.

        Returns
        -------
        ndarray of shape (len(points), n_labeled)
            Entry ``[g, i]`` is the value at row i of the model with ``points[g]`` trained without
            the fold that holds i; NaN where that model has no solution.
        """
        y = np.asarray(y)
        values = np.full((len(points), len(y)), np.nan)
        for row, point in zip(values, points, strict=True):
            for held_out in folds:
                train = training_rows(held_out, len(y))
                model = clone(self).set_params(**point)
                try:
                    model.fit(X[train], y[train], X_unlabeled)
                except MemoryLimitError:
                    raise
                except FitError:
                    continue
                row[held_out] = model.decision_function(X[held_out])
        return values


class PointModels:
    """Fitted estimators, one for each of some parameter settings.

    Parameters
    ----------
    models : sequence of estimators or None
        None where a setting has no solution.
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = models

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of each at the rows of ``X``, shape (n, n_points); NaN without one."""
        missing = np.full(len(X), np.nan)
        columns = [
            missing if model is None else model.decision_function(X) for model in self._models
        ]
        return np.column_stack(columns)


class SemiSupervisedClassifier(SemiSupervisedEstimator):
    """Base of the estimators that learn a classifier: the class is the sign of the value.

    Subclasses implement ``fit`` and ``decision_function``; those that can train several settings at
    once also override ``fit_points``.
    """

    tasks: ClassVar[tuple[str, ...]] = ("semi_supervised_svm",)

    def fit_points(
        self, points: Sequence[Mapping[str, Any]], *, X: Any, y: Any, X_unlabeled: Any
    ) -> PointModels:
        """Fit a model for each of many parameter settings.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
        points : sequence of dict
            Parameter settings, laid over this estimator's own.

        Returns
        -------
        PointModels
            Anything with its ``decision_function``.
        """
        models: list[Any] = []
        for point in points:
            model = clone(self).set_params(**point)
            try:
                model.fit(X, y, X_unlabeled)
            except MemoryLimitError:
                raise
            except FitError:
                model = None
            models.append(model)
        return PointModels(models)

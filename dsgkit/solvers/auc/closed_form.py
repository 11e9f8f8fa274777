"""The fit and the grid search that the closed-form estimators share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dsgkit.solvers.auc.pairwise_quadratic import PairwiseRisk, Response, cv_values, grid_flops
from dsgkit.solvers.base import PairwiseAUCEstimator, encode_labels, expansion_flops
from dsgkit.solvers.inputs import check_columns, check_training_rows


class ClosedFormEstimator(PairwiseAUCEstimator):
    """Base of the estimators whose fit is one linear system.

    A subclass solves the system, and evaluates what it found. For a grid it says which of its
    parameters the features depend on, and how to compute the response of these features; points
    that share the features share one factorisation.

    Attributes
    ----------
    coef_ : ndarray
        The solution.
    n_features_in_ : int
        Columns of the training rows.
    """

    coef_: NDArray[np.float64]

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Two labels; the larger is positive.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the arrays cannot be used.
        MemoryLimitError
            If the fit needs more than ``max_memory``; before anything is allocated.
        IndefiniteError
            If the risk has no minimum.
        FitError
            If it has one that rounding hides.
        """
        self._check_params()
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        self._check_memory(self.memory_needed(len(X), len(X_unlabeled), X.shape[1]))
        self._fit_checked(X, positive, X_unlabeled)
        self.n_features_in_ = X.shape[1]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at the rows of ``X``, shape (n,)."""
        check_is_fitted(self, "coef_")
        check_columns(X, self.n_features_in_)
        return self._values(X)

    def _fit_checked(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        """Compute the fitted attributes from what `fit` has checked."""
        raise NotImplementedError

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at rows that have been checked."""
        raise NotImplementedError

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that is out of range."""
        raise NotImplementedError

    def _feature_params(self) -> Hashable:
        """Return the parameters that the features depend on."""
        raise NotImplementedError

    def _penalty(self) -> float:
        """Return the factor of the squared norm."""
        raise NotImplementedError

    def _risk(self) -> PairwiseRisk:
        """Return the risk that is minimised."""
        raise NotImplementedError

    def _response(self, X: Any, X_unlabeled: Any) -> Response:
        """Return the response of the features of these rows."""
        raise NotImplementedError

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `fit`, or `decision_function` after it, allocates."""
        raise NotImplementedError

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `_response` allocates."""
        raise NotImplementedError

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the order of the matrix that a fit factorises."""
        raise NotImplementedError

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return about the operations that this matrix takes to build, of double precision."""
        raise NotImplementedError

    def _risks(
        self,
        models: Sequence[Any],
        X: Any,
        positive: NDArray[np.bool_],
        X_unlabeled: Any,
        folds: Sequence[NDArray[np.integer]],
    ) -> list[list[PairwiseRisk]]:
        """Return the risk of every model in every fold."""
        return [[model._risk()] * len(folds) for model in models]

    def memory_needed(
        self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1
    ) -> int:
        """Return the bytes that a fit, or a grid of any size, allocates; see the base class."""
        memory = self._fit_memory if n_models == 1 else self._grid_memory
        return memory(n_labeled, n_unlabeled, n_inputs)

    def flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1) -> float:
        """Return about the operations of a fit, or of a grid of models; see the base class."""
        n = self._matrix_size(n_labeled, n_unlabeled)
        solving = n**3 / 3 if n_models == 1 else grid_flops(n, n_labeled, n_models)
        double = 2  # the base class counts in single precision
        return double * (self._building_flops(n_labeled, n_unlabeled, n_inputs) + solving)

    def predict_flops(self, n_rows: int, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return about the operations of a kernel expansion at all rows; see the base class."""
        return expansion_flops(n_rows, self._matrix_size(n_labeled, n_unlabeled), n_inputs)

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

        Points that differ only in the penalty and in the weights of the risk are solved from one
        factorisation; see the base class for parameters and result.

        Raises
        ------
        MemoryLimitError
            If the factorisation needs more than the limit.
        """
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        models = [clone(self).set_params(**point) for point in points]
        groups: dict[Hashable, list[int]] = {}
        for number, model in enumerate(models):
            model._check_params()
            groups.setdefault(model._feature_params(), []).append(number)
        risks = self._risks(models, X, positive, X_unlabeled, folds)
        values = np.empty((len(points), len(positive)))
        for members in groups.values():
            first = models[members[0]]
            first._check_memory(first._grid_memory(len(X), len(X_unlabeled), X.shape[1]))
            values[members] = cv_values(
                first._response(X, X_unlabeled),
                positive,
                len(X_unlabeled),
                folds,
                [risks[i] for i in members],
                [models[i]._penalty() for i in members],
            )
        return values

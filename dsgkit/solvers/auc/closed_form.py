"""The fit and the grid search that the closed-form estimators share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.errors import FitError
from dsgkit.kernels.gaussian import expansion_flops
from dsgkit.objectives.pairwise_risk import NEGATIVE, POSITIVE, PairwiseRisk
from dsgkit.solvers.auc.base import KernelAUCEstimator, KernelEstimator
from dsgkit.solvers.auc.pairwise_quadratic import SINGULAR, Codes, Response, cv_values, grid_flops
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.diagnostics import PairwiseDiagnostics


class ClosedFormEstimator(PairwiseDiagnostics, KernelEstimator):
    """Base of the estimators, of any family, whose fit is one linear system.

    A subclass solves the system, and evaluates what it found. For a grid it says which of its
    parameters the features depend on, and how to compute the response of these features; points
    that share the features share one factorisation. It names this base before that of its family,
    whose labels `_codes` makes codes of.
    """

    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)
    _smallest_penalty: ClassVar[float] = 0.0
    """Below, the features' rounding hides the minimum."""

    coef_: NDArray[np.float64] = fitted("Its coefficients.", "(n_centers,) or (2 * n_features,)")

    def _fit(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> None:
        self._check_memory(self.cost(X.shape[1], n_labeled=len(X), n_unlabeled=len(X_unlabeled)))
        if self._penalty() < self._smallest_penalty:
            raise FitError(SINGULAR)
        self._solve(X, self._codes(labels), X_unlabeled)

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        """Compute the fitted attributes from what has been checked."""
        raise NotImplementedError

    def _feature_params(self) -> Hashable:
        """Return the parameters that the features depend on."""
        raise NotImplementedError

    def _counts(self, codes: Codes) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.bincount(codes, minlength=len(self.classes_))

    def _response(self, X: Any, X_unlabeled: Any) -> Response:
        """Return the response of the features of these rows."""
        raise NotImplementedError

    @property
    def _semi_supervised(self) -> bool:
        """Whether the fit makes use of the unlabelled rows."""
        return True

    def _response_at(self, X: Any, X_unlabeled: Any, weight: float) -> NDArray[np.float64]:
        """Return the response at the own penalty and one weight, sooner than by `_response`."""
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
        codes: Codes,
        X_unlabeled: Any,
        folds: Folds,
    ) -> list[list[PairwiseRisk]]:
        """Return the risk of every model in every fold."""
        training = [training_rows(held_out, len(codes)) for held_out in folds]
        counts = [self._counts(codes[rows]) for rows in training]
        return [[model._risk(part) for part in counts] for model in models]

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, or a grid of models on folds; see the base class."""
        sizes = n_labeled, n_unlabeled, n_inputs
        n = self._matrix_size(n_labeled, n_unlabeled)
        double = 2  # costs count in single precision
        solving = n**3 / 3 if n_models == 1 else grid_flops(n, n_labeled, n_models)
        return Cost(
            flops=double * (self._building_flops(*sizes) + solving),
            memory=self._fit_memory(*sizes) if n_models == 1 else self._grid_memory(*sizes),
            flops_per_row=self._row_flops(*sizes),
        )

    def _row_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the operations of the fitted function at one row."""
        return expansion_flops(self._matrix_size(n_labeled, n_unlabeled), n_inputs)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a model for each of many settings; for folds, from few factorisations.

        As in the base class. With folds, points that differ only in the penalty and in the weights
        of the risk are solved from one factorisation.

        Raises
        ------
        MemoryLimitError
            If a factorisation needs more than the limit.
        """
        if folds is None or X_unlabeled is None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        models = [clone(self).set_params(**point) for point in points]
        groups: dict[Hashable, list[int]] = {}
        for number, model in enumerate(models):
            model._check_params()
            if model._penalty() >= model._smallest_penalty:
                groups.setdefault(model._feature_params(), []).append(number)
        solver = clone(self)  # which may know the classes
        X, labels, X_unlabeled = solver._inputs(X, y, X_unlabeled)
        codes = self._codes(labels)
        risks = solver._risks(models, X, codes, X_unlabeled, folds)
        values = np.full((len(points), len(codes)), np.nan)
        for members in groups.values():
            first = models[members[0]]
            memory = first._grid_memory(len(X), len(X_unlabeled), X.shape[1])
            first._check_memory(Cost(memory=memory))
            values[members] = cv_values(
                first._response(X, X_unlabeled),
                codes,
                len(X_unlabeled),
                folds,
                [risks[i] for i in members],
                [models[i]._penalty() for i in members],
            )
        return values


class ClosedFormRanker(ClosedFormEstimator, KernelAUCEstimator):
    """Base of the AUC estimators whose fit is one linear system."""

    def _codes(self, positive: NDArray[np.bool_]) -> Codes:
        return np.where(positive, POSITIVE, NEGATIVE)

"""Closed forms on explicit features, accumulated in passes over the unlabelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.numerics.costs import Cost
from dsgkit.numerics.linear_systems import EIGH_FLOPS, eigh_memory
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective
from dsgkit.solvers.common import Lam
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.diagnostics import penalised
from dsgkit.solvers.inputs import check_finite
from dsgkit.solvers.similar.base import PairFolds, SimilarUnlabeledEstimator, points_of, without
from dsgkit.solvers.similar.quadratic import (
    BLOCK_ROWS,
    SINGULAR_SYSTEM,
    FeatureMap,
    evaluate,
    mean_features,
    moments,
    solve_primal,
    solve_primal_grid,
)
from dsgkit.text.errors import FitError

Array = NDArray[np.float64]


def with_one(rows: Any) -> Array:
    """Return the features of a linear function with a bias: the inputs, and a one."""
    check_finite(rows)
    return np.column_stack([np.asarray(rows, np.float64), np.ones(len(rows))])


class PenalisedSUEstimator(SimilarUnlabeledEstimator):
    """Base of the estimators whose risk has the regulariser ``lam/2 ||f||^2``."""

    lam: Lam

    def diagnostics(self, X_similar: Any, X_unlabeled: Any) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X_similar, X_unlabeled
            What it was fitted to.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``.
        """
        pairs, X_unlabeled = clone(self)._inputs(X_similar, X_unlabeled)
        values = self._values(points_of(pairs)), self._values(X_unlabeled)
        (risk,) = self._objective().batch_loss([f[:, None] for f in values])
        return penalised(float(risk), self.lam / 2, self._squared_norm())

    def _objective(self) -> SimilarUnlabeledObjective:
        """Return the risk that is minimised; by default with the squared loss, not corrected."""
        return SimilarUnlabeledObjective(np.array([self.prior_]), ["none"], np.zeros(1))

    def _squared_norm(self) -> float:
        """Return the squared norm of the fitted function."""
        raise NotImplementedError


class ExplicitFeaturesEstimator(PenalisedSUEstimator):
    """Base of the closed forms of functions ``phi(x)'w``.

    A subclass implements `_features`, `_width` and `_feature_flops`. Unlabelled rows are read block
    by block: O(n_features^2) memory, whatever their number.
    """

    _smallest_lam: ClassVar[float] = 0.0
    """Below, the features' rounding hides the minimum."""

    coef_: Array = fitted("Coefficients of the features.", "(n_features,)")

    def _features(self) -> FeatureMap:
        """Return the map from rows to features."""
        raise NotImplementedError

    def _width(self, n_inputs: int) -> int:
        """Return how many features there are."""
        raise NotImplementedError

    def _feature_flops(self, n_inputs: int) -> float:
        """Return the operations of the features of one row."""
        raise NotImplementedError

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        if self.lam < self._smallest_lam:
            raise FitError(SINGULAR_SYSTEM)
        self._check_memory(self._cost_of(S, X_unlabeled, 1))
        features = self._features()
        similar = mean_features(features, S)  # before the long pass over the unlabelled rows
        self.coef_ = solve_primal(moments(features, X_unlabeled), similar, self.lam, self.prior_)

    def _values(self, X: Any) -> Array:
        return evaluate(self._features(), X, self.coef_)

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self.coef_)

    def _cost_of(self, S: Array, X_unlabeled: Any, n_models: int) -> Cost:
        counts = {"n_similar": len(S) // 2, "n_unlabeled": len(X_unlabeled)}
        return self.cost(S.shape[1], n_models=n_models, **counts)

    def _fold_values(
        self, models: Sequence[Self], pairs: Array, X_unlabeled: Any, folds: PairFolds
    ) -> Iterator[tuple[Array, Array]]:
        """Yield held-out values from two passes over the unlabelled rows.

        The moments of training rows are those of all rows less those of the held-out ones.
        """
        first = models[0]
        first._check_memory(first._cost_of(points_of(pairs), X_unlabeled, len(models) + 1))
        features = first._features()
        everything = moments(features, X_unlabeled)
        for held_pairs, held_rows in folds:
            S = without(pairs, held_pairs)
            apart = moments(features, X_unlabeled, held_rows) if len(held_rows) else None
            solutions = solve_primal_grid(
                everything.less(apart),
                mean_features(features, S),
                [model.lam for model in models],
                [model.prior_ for model in models],
            )
            solutions[:, [model.lam < model._smallest_lam for model in models]] = np.nan
            similar = evaluate(features, points_of(pairs[held_pairs]), solutions)
            yield similar.T, evaluate(features, X_unlabeled, solutions, held_rows).T

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, or a grid of models on folds.

        Parameters
        ----------
        n_inputs, n_models : int
            As in `Estimator.cost`.
        n_similar, n_unlabeled : int
            Pairs and rows.
        """
        p, double = self._width(n_inputs), 2
        passes = 1 if n_models == 1 else 2
        per_row = self._feature_flops(n_inputs) + p**2
        solving = p**3 / 3 if n_models == 1 else EIGH_FLOPS * p**3 + n_models * p**2
        block = 8 * min(max(n_unlabeled, 2 * n_similar), BLOCK_ROWS) * (p + n_inputs)
        gram = (8 + 4) * p**2 if n_models == 1 else 2 * 8 * p**2 + eigh_memory(p)
        return Cost(
            flops=passes * n_unlabeled * per_row + double * solving,
            memory=gram + block + 8 * p * n_models,
            flops_per_row=self._feature_flops(n_inputs) + 2 * double * p,
        )

"""Base of the similar-unlabelled estimators whose models the engine trains together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.engine import DSGModel
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Cost
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective
from dsgkit.solvers.base import Points
from dsgkit.solvers.block_functions import TogetherModels, finite_models
from dsgkit.solvers.common import Delta, KernelName, Leak, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.base import PairFolds, points_of
from dsgkit.solvers.similar.explicit_features import PenalisedSUEstimator
from dsgkit.solvers.similar.pools import Pools, held_out_values, training_pools

Array = NDArray[np.float64]
Values = dict[int, NDArray[np.float32]]

DeltaName = Literal["abs", "relu", "leaky_relu", "none"]
"""The corrections of a negative part of the risk, those of `SimilarUnlabeledObjective`."""


class TogetherSUEstimator(WithSigma, DoublyStochasticEstimator, PenalisedSUEstimator):
    """Base of the estimators of a corrected risk whose models share a pass over the features.

    A subclass implements `_train_models`, `_train_values` and `_cost`.
    """

    sigma: Sigma
    kernel: KernelName
    delta: Delta
    leak: Leak

    corrected_: float = fitted(
        "Share of the batches in which r1 or r2 was below 0: where a correction acts."
    )

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: PairFolds | None = None, X_similar: Any, X_unlabeled: Any
    ) -> Any:
        """Train a model for each of many settings, in one pass over the features.

        As in the base class. Of the points, those with folds that agree in all parameters but those
        that are declared per model are trained in one pass; without folds all must. A model that
        diverged or has no solution has values of NaN.
        """
        if folds is not None:
            return super().fit_points(
                points, folds=folds, X_similar=X_similar, X_unlabeled=X_unlabeled
            )
        checked = clone(self)
        pairs, X_unlabeled = checked._inputs(X_similar, X_unlabeled)
        settings = self._settings(self._with_sigma(points, points_of(pairs), X_unlabeled))
        self._set_priors(settings, pairs, X_unlabeled)
        S = points_of(pairs)
        first = settings[0]
        cost = first._cost(len(S), len(X_unlabeled), S.shape[1], len(settings), "models")
        first._check_memory(cost)
        check_projections(S, first._sigma, first.kernel)
        models = self._train_models(settings, S, X_unlabeled)
        if not any(finite_models(model).any() for model in models):
            check_projections(X_unlabeled, first._sigma, first.kernel)
        return TogetherModels(checked, models)

    def _objective(self) -> SimilarUnlabeledObjective:
        prior, leak = np.array([[self.prior_], [self.leak]])
        return SimilarUnlabeledObjective(prior, [self.delta], leak)

    def _fold_values(
        self, models: Sequence[Self], pairs: Array, X_unlabeled: Any, folds: PairFolds
    ) -> Iterator[tuple[Array, Array]]:
        """Yield held-out values of all models, all folds trained in one pass over the features."""
        first, S = models[0], points_of(pairs)
        counts = {"n_similar": len(pairs), "n_unlabeled": len(X_unlabeled)}
        n_models = len(models) * len(folds)
        first._check_memory(first.cost(S.shape[1], n_models=n_models, **counts))
        check_projections(S, first._sigma, first.kernel)
        pools = training_pools(folds, len(pairs), len(X_unlabeled))
        found = held_out_values(self._train_values(models, S, X_unlabeled, pools), folds)
        if all(np.isnan(part).all() for both in found for part in both):
            check_projections(X_unlabeled, first._sigma, first.kernel)
        yield from found

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what the engine takes for a fit, or for the values of a grid on folds.

        Parameters
        ----------
        n_inputs, n_models : int
            As in `Estimator.cost`.
        n_similar, n_unlabeled : int
            Pairs and rows.
        """
        result: Literal["model", "values"] = "model" if n_models == 1 else "values"
        return self._cost(2 * n_similar, n_unlabeled, n_inputs, n_models, result)

    def _train_models(self, models: Sequence[Self], S: Array, X_unlabeled: Any) -> list[DSGModel]:
        """Return the functions of models with a prior that agree in what is not per model."""
        raise NotImplementedError

    def _train_values(
        self, models: Sequence[Self], S: Array, X_unlabeled: Any, pools: Sequence[Pools]
    ) -> Values:
        """Return the values, as `held_out_values` takes them, of all models trained on pools."""
        raise NotImplementedError

    def _cost(
        self,
        n_points: int,
        n_unlabeled: int,
        n_inputs: int,
        n_models: int,
        result: Literal["model", "models", "values"],
    ) -> Cost:
        """Return what the engine takes; values are those of a grid, whose folds draw in pools."""
        raise NotImplementedError

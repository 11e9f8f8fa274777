"""Base of the estimators that minimise a similar-unlabelled risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from dsgkit.costs import Cost
from dsgkit.linalg import Array
from dsgkit.objectives.similar_risks import SimilarUnlabeled
from dsgkit.solvers.base import Points
from dsgkit.solvers.common import Lam, Sigma
from dsgkit.solvers.minimise import RiskMinimiser, held_out_values
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.base import HeldOut, SimilarUnlabeledEstimator, points_of
from dsgkit.trainers.training import Fold, Function, Given, Sizes, Training


class SimilarRiskEstimator(RiskMinimiser, WithSigma, SimilarUnlabeledEstimator):
    """Base of the minimisers of a similar-unlabelled risk plus ``lam/2 ||f||^2``.

    A subclass defines the trainer (``_trainer``), and the risk (`_risk`) if it is not that of the
    squared loss without correction.
    """

    version: ClassVar[int] = 1

    lam: Lam = 0.1
    sigma: Sigma = "scale"

    def _risk(self) -> SimilarUnlabeled:
        return SimilarUnlabeled(self.prior_)

    def _given(self, S: Array, X_unlabeled: Any) -> Given:
        return Given(S, np.zeros(len(S), np.int64), X_unlabeled, n_sources=1)

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        self._train(self._given(S, X_unlabeled))

    def _fit_by(self, X_similar: Any, X_unlabeled: Any, by: Callable[[Training], Function]) -> None:
        """Fit as `fit` does, with ``by`` in place of the trainer's ``fit``."""
        S, X_unlabeled = self._training(X_similar, X_unlabeled)
        with self._sigma_for(S, X_unlabeled):
            self._train(self._given(S, X_unlabeled), by)

    def _fold_values(
        self, models: Sequence[Any], S: Array, X_unlabeled: Any, folds: Sequence[HeldOut]
    ) -> tuple[Array, Array]:
        held_out = [Fold(points, rows) for points, rows in folds]
        return held_out_values(models, self._given(S, X_unlabeled), held_out)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self,
        points: Points,
        *,
        folds: Sequence[HeldOut] | None = None,
        X_similar: Any,
        X_unlabeled: Any,
    ) -> Any:
        """Train a model for each of many settings; see the base class.

        Settings that differ only in `PER_MODEL` parameters are trained together: in one pass over
        random features, or from one factorisation. Without folds, functions over blocks of features
        are trained in one pass, and all settings must have the same other parameters. A model
        without a solution has values of NaN.
        """
        return super().fit_points(points, folds=folds, X_similar=X_similar, X_unlabeled=X_unlabeled)

    def _cost_of(self, given: Given, n_models: int) -> Cost:
        """Return the cost of training models on these rows."""
        cost: Cost = self._trainer().cost(_sizes(given), n_models)
        return cost

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of a fit, or of a grid on folds; see `Estimator.cost`."""
        sizes = Sizes(n_inputs, 2 * n_similar, n_unlabeled, unlabeled_held_out=True)
        cost: Cost = self._trainer().cost(sizes, n_models)
        return cost

    def diagnostics(self, X_similar: Any, X_unlabeled: Any) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X_similar, X_unlabeled
            The training pairs and rows.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``.
        """
        pairs, X_unlabeled = clone(self)._inputs(X_similar, X_unlabeled)
        return self._objective_parts(self._given(points_of(pairs), X_unlabeled))


def _sizes(given: Given) -> Sizes:
    n_labeled, n_unlabeled = len(given.X), len(given.X_unlabeled)
    return Sizes(given.X.shape[1], n_labeled, n_unlabeled, unlabeled_held_out=True)

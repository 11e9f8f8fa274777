"""Base of the estimators that minimise a pairwise risk block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost
from dsgkit.engine import (
    BlockProblem,
    DSGModel,
    RowGroup,
    block_training_cost,
    train_blocks,
    train_blocks_values,
)
from dsgkit.errors import DataError, FitError
from dsgkit.objectives.pairwise_auc import PairwiseAUCObjective
from dsgkit.solvers.auc.base import KernelEstimator
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.block_sweeps import SINGULAR, BlockSweepsEstimator
from dsgkit.solvers.diagnostics import PairwiseDiagnostics
from dsgkit.solvers.inputs import check_projections

Pools = Sequence[NDArray[np.int64]]


class PreconditionedRanker(BlockSweepsEstimator, PairwiseDiagnostics, KernelEstimator):
    """Base of the estimators, of any family, of a function with a pairwise risk.

    A subclass implements `_risk`, and `_codes` where its family's labels are no codes of classes.
    It names this base before the one of its family.
    """

    def _penalty(self) -> float:
        return self.lam / 2

    def _fit(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> None:
        self.model_ = self._trained(X, self._codes(labels), X_unlabeled, [np.arange(len(labels))])

    def _trained(
        self, X: Any, codes: NDArray[np.integer], X_unlabeled: Any, pools: Pools
    ) -> DSGModel:
        """Return the functions trained on some pools of labelled rows.

        Raises
        ------
        FitError
            If a block is singular to rounding.
        """
        check_projections(X, self._sigma, self.kernel)
        model = train_blocks(self._problem([self], X, codes, X_unlabeled, pools))
        if not np.isfinite(model.coefficients).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise FitError(SINGULAR)
        return model

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a function for each of many settings; for folds, in one pass over the features.

        As in the base class. In one pass, ``points`` may differ in lam and gamma, and must agree in
        everything else. Errors are those of `fit`, except that a model without a solution is a row
        of NaN.
        """
        if folds is None or X_unlabeled is None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        models = self._settings(self._with_sigma(points, X, X_unlabeled))
        first = clone(models[0])
        X, labels, X_unlabeled = first._inputs(X, y, X_unlabeled)
        codes = first._codes(labels)
        check_projections(X, first._sigma, first.kernel)
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        problem = first._problem(models, X, codes, X_unlabeled, pools)
        final = train_blocks_values(problem)[0].reshape(len(codes), len(folds), len(points))
        values = np.full((len(points), len(codes)), np.nan)
        for fold, held_out in enumerate(folds):
            values[:, held_out] = final[held_out, fold].T
        failed = ~np.isfinite(values[:, np.concatenate(folds)]).all(axis=1)
        if failed.all():
            check_projections(X_unlabeled, first._sigma, first.kernel)
        values[failed] = np.nan
        return values

    def _problem(
        self,
        models: Sequence[Any],
        X: Any,
        codes: NDArray[np.integer],
        X_unlabeled: Any,
        pools: Pools,
    ) -> BlockProblem:
        """Return the problem of training every model on every pool of labelled rows."""
        n_classes = len(self.classes_)
        counts = [np.bincount(codes[pool], minlength=n_classes) for pool in pools]
        if any(np.count_nonzero(of_pool) < 2 for of_pool in counts):
            both = "both classes" if n_classes == 2 else "two classes or more"
            raise DataError(f"every fold must leave labelled rows of {both} to train on")
        return BlockProblem(
            X=X,
            X_unlabeled=X_unlabeled,
            groups=[
                RowGroup([pool[codes[pool] == label] for label in range(n_classes)])
                for pool in pools
            ],
            group=np.repeat(np.arange(len(pools)), len(models)),
            objective=PairwiseAUCObjective(
                [model._risk(of_pool) for of_pool in counts for model in models]
            ),
            lam=np.tile([float(model.lam) for model in models], len(pools)),
            features=self._features(),
            n_blocks=int(self.n_blocks),
            n_sweeps=int(self.n_sweeps),
            batch_size=int(self.batch_size),
        )

    def _cost(
        self, n_inputs: int, n_models: int, n_labeled: int, n_unlabeled: int, n_classes: int
    ) -> Cost:
        return block_training_cost(
            self._features(),
            n_inputs,
            n_labeled,
            n_unlabeled,
            n_sources=n_classes,
            batch_size=int(self.batch_size),
            n_blocks=int(self.n_blocks),
            n_sweeps=int(self.n_sweeps),
            n_models=n_models,
            result="model" if n_models == 1 else "values",
        )

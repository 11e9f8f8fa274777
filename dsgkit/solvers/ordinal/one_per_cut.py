"""Ordinal estimators with a binary model of its own for every cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost
from dsgkit.solvers.auc.closed_form import ClosedFormEstimator
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.ordinal.base import Codes, OrdinalEstimator
from dsgkit.solvers.ordinal.thresholds import above_cuts
from dsgkit.solvers.parameters import PER_MODEL, POSITIVE, Smoother

Array = NDArray[np.float64]


class OnePerCutEstimator(OrdinalEstimator):
    """Base of the estimators that rank the two sides of every cut by a binary model.

    A subclass says which binary estimators these are. Where training rows leave one side of a cut
    empty, the model of the nearest cut stands in for it.

    Attributes
    ----------
    models_ : list of estimators
        The binary model of every cut.
    """

    per_cut: ClassVar[bool] = True
    _solution: ClassVar[str] = "models_"

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]

    models_: list[ClosedFormEstimator]

    def _binary_models(self, shares_above: Array) -> list[ClosedFormEstimator]:
        """Return the binary estimator of every cut, not fitted.

        Parameters
        ----------
        shares_above : ndarray of shape (n_cuts,)
            Of the labelled rows.
        """
        raise NotImplementedError

    def _fit(self, X: Any, codes: NDArray[Any], X_unlabeled: Any) -> None:
        above = above_cuts(codes, len(self.classes_))
        nearest = _nearest_open(above)
        models = self._binary_models(above.mean(axis=0))
        for cut in np.unique(nearest):
            models[cut].fit(X, above[:, cut].astype(int), X_unlabeled)
        self.models_ = [models[cut] for cut in nearest]

    def _values(self, X: Any) -> Array:
        return np.column_stack([model._values(X) for model in self.models_])

    def _fold_values(
        self,
        points: Points,
        folds: Folds,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        classes: NDArray[Any],
    ) -> Array:
        """Return out-of-fold values from the binary estimators' own grids.

        The shares above the cuts are those of all rows, so that all folds share a setting.
        """
        above = above_cuts(codes, len(classes))
        shares = above.mean(axis=0)
        models = [clone(self).set_params(**point)._binary_models(shares) for point in points]
        nearest = [_nearest_open(above[training_rows(fold, len(codes))]) for fold in folds]
        values = np.full((len(points), len(codes), above.shape[1]), np.nan)
        for cut, of_cut in enumerate(zip(*models, strict=True)):
            open_folds = [f for f, near in zip(folds, nearest, strict=True) if near[cut] == cut]
            training = {"X": X, "y": above[:, cut].astype(int), "X_unlabeled": X_unlabeled}
            values[:, :, cut] = _grid_values(of_cut, open_folds, training)
        for fold, near in zip(folds, nearest, strict=True):
            of_fold = values[:, fold][:, :, near]
            of_fold[np.isnan(of_fold).any(axis=(1, 2))] = np.nan  # a solution has all its cuts
            values[:, fold] = of_fold
        return values

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int
    ) -> Cost:
        """Return what a fit of the functions takes, or a grid; see `Estimator.cost`.

        The cuts follow one another: their times add up, and the memory is that of one, beside the
        centres of all.
        """
        counts = {"n_models": n_models, "n_labeled": n_labeled, "n_unlabeled": n_unlabeled}
        costs = [
            model.cost(n_inputs, **counts) for model in self._binary_models(np.full(n_cuts, 0.5))
        ]
        centers = 8 * (n_labeled + n_unlabeled) * n_inputs
        return Cost(
            flops=sum(cost.flops for cost in costs),
            memory=max(cost.memory for cost in costs) + (n_cuts - 1) * centers,
            flops_per_row=sum(cost.flops_per_row for cost in costs),
        )


def _nearest_open(above: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for every cut the nearest one with rows on both sides: itself, if it has them."""
    open_cuts = np.flatnonzero(above.any(axis=0) & ~above.all(axis=0))
    distance = abs(np.arange(above.shape[1])[:, None] - open_cuts)
    return open_cuts[distance.argmin(axis=1)]


def _grid_values(
    models: Sequence[ClosedFormEstimator], folds: Folds, training: dict[str, Any]
) -> Array:
    """Return out-of-fold values of binary estimators, of which equal ones are computed once."""
    if not folds:
        return np.full((len(models), len(training["y"])), np.nan)
    settings = [model.get_params() for model in models]
    keys = [tuple(setting.items()) for setting in settings]
    distinct = dict(zip(keys, settings, strict=True))
    values = models[0].fit_points(list(distinct.values()), folds=folds, **training)
    position = {key: number for number, key in enumerate(distinct)}
    return values[[position[key] for key in keys]]

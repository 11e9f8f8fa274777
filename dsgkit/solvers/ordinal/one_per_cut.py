"""Base of the ordinal estimators with one binary model per cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, kernel_named
from dsgkit.linalg import training_rows
from dsgkit.objectives import pairwise_risk
from dsgkit.objectives.ordinal_risk import above_cuts, for_cuts
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.common import GramKernelName, Lam, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.minimise import training_of
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.closed_form import ClosedForm
from dsgkit.trainers.responses import centered_values
from dsgkit.trainers.training import Fold, Given

Array = NDArray[np.float64]


class OnePerCutEstimator(WithSigma):
    """Base of the estimators that rank the two sides of every cut by a binary model.

    A subclass sets the class of the binary models, ``_binary``, and has its parameters, with one
    value for all cuts or one per cut. The models are kernel expansions; those with fewer centres
    use the first centres of the others. A cut without training rows on one side uses the model of
    the nearest cut. A subclass names this base before `OrdinalEstimator`.
    """

    _binary: ClassVar[type[QuadraticRiskEstimator]]

    pace: ClassVar[Pace] = Pace(training=1.2, per_model=5)
    per_cut: ClassVar[bool] = True

    lam: Lam
    sigma: Sigma
    kernel: GramKernelName

    centers_: Array = fitted("Rows of the kernel expansions.", "(n_centers, n_inputs)")
    coef_: Array = fitted("Coefficients of the rows.", "(n_centers, n_cuts)")

    def _binary_models(self, shares_above: Array) -> list[QuadraticRiskEstimator]:
        """Return one unfitted binary estimator per cut.

        Parameters
        ----------
        shares_above : ndarray of shape (n_cuts,)
            Shares of the labelled rows above the cuts: the priors if the parameter is None.
        """
        own = {**self.get_params(), "sigma": self._sigma}
        if own.get("prior", 0) is None:
            own["prior"] = shares_above.tolist()
        known = self._binary().get_params().keys() & own.keys() - {"unlabeled_label"}
        values_by_name = {
            name: for_cuts(name, own[name], len(shares_above)) for name in sorted(known)
        }
        by_cut = zip(*values_by_name.values(), strict=True)
        return [self._binary(**dict(zip(values_by_name, values, strict=True))) for values in by_cut]

    def _fit(self: Any, X: Any, codes: NDArray[Any], X_unlabeled: Any) -> None:
        above = above_cuts(codes, len(self.classes_))
        nearest = _nearest_open(above)
        models: list[Any] = self._binary_models(above.mean(axis=0))
        centers, coef = np.empty((0, X.shape[1])), {}
        for cut in np.unique(nearest):
            models[cut]._warns = False  # this fit has already warned
            model = models[cut].fit(X, above[:, cut].astype(int), X_unlabeled)
            coef[cut] = model.coef_
            centers = max(centers, model.centers_, key=len)
            models[cut] = None  # frees its centres, which the other models have too
        # one matrix: kernel values are computed once for all cuts
        self.coef_ = np.zeros((len(centers), len(nearest)))
        for column, cut in enumerate(nearest):
            self.coef_[: len(coef[cut]), column] = coef[cut]
        self.centers_ = centers

    def _values(self, X: Any) -> Array:
        return kernel_named(self.kernel).expansion(X, self.centers_, self.coef_, self._sigma)

    def _fold_values(self: Any, points: Points, folds: Folds, given: Given) -> Array:
        """Return out-of-fold values from grids of the binary estimators.

        Priors are shares of all labelled rows, so that the folds have the same settings.
        """
        above = above_cuts(given.codes, given.n_sources)
        shares = above.mean(axis=0)
        models = [clone(self).set_params(**point)._binary_models(shares) for point in points]
        nearest = [_nearest_open(above[training_rows(fold, len(given.codes))]) for fold in folds]
        values = np.full((len(points), len(given.codes), above.shape[1]), np.nan)
        for cut, cut_models in enumerate(zip(*models, strict=True)):
            open_folds = [f for f, near in zip(folds, nearest, strict=True) if near[cut] == cut]
            training = {
                "X": given.X,
                "y": above[:, cut].astype(int),
                "X_unlabeled": given.X_unlabeled,
            }
            values[:, :, cut] = _grid_values(cut_models, open_folds, training)
        for fold, near in zip(folds, nearest, strict=True):
            fold_values = values[:, fold][:, :, near]
            fold_values[np.isnan(fold_values).any(axis=(1, 2))] = (
                np.nan
            )  # a solution needs all cuts
            values[:, fold] = fold_values
        return values

    def _out_of_fold(self: Any, given: Given, folds: Folds, reference: Any) -> Array:
        """Return out-of-fold values minus their mean at all unlabelled rows.

        Cuts and folds differ only in the weights of labelled rows, so that they share a
        factorisation.
        """
        above = above_cuts(given.codes, given.n_sources)
        models = self._binary_models(above.mean(axis=0))
        if not all(_closed_form(model).all_folds for model in models):
            family: Any = super()
            values: Array = family._out_of_fold(given, folds, reference)
            return values
        nearest = [_nearest_open(above[training_rows(fold, len(given.codes))]) for fold in folds]
        values = np.full(above.shape, np.nan)
        responses: dict[tuple[float, float], Array] = {}
        for cut, model in enumerate(models):
            open_folds = [f for f, near in zip(folds, nearest, strict=True) if near[cut] == cut]
            if not open_folds:
                continue
            sides = np.where(above[:, cut], pairwise_risk.POSITIVE, pairwise_risk.NEGATIVE)
            cut_given = given._replace(codes=sides, n_sources=2)
            training = training_of([model], cut_given, [Fold(rows) for rows in open_folds])
            forms, penalty = training.forms[0], training.penalties[0]
            weight = float(forms[0].diagonal[-1]) / len(given.X_unlabeled)
            if (penalty, weight) not in responses:
                response = _closed_form(model).response_at(
                    given.X, given.X_unlabeled, penalty, weight
                )
                responses = {(penalty, weight): response}
            values[:, cut] = centered_values(responses[penalty, weight], sides, open_folds, forms)
        for fold, near in zip(folds, nearest, strict=True):
            values[fold] = values[fold][:, near]
        if np.isnan(values).any():
            raise FitError("no solution when a fold of the labelled rows is held out")
        return values

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int
    ) -> Cost:
        """Return the cost of fitting the functions, or a grid; see `Estimator.cost`.

        Cuts are fitted one after the other: times add up; memory is that of one cut, and of the
        centres of those before.
        """
        counts = {"n_labeled": n_labeled, "n_unlabeled": n_unlabeled}
        models = self._binary_models(np.full(n_cuts, 0.5))
        costs = [model.cost(n_inputs, n_models=n_models, **counts) for model in models]
        n_centers = max(_closed_form(model).size(**counts) for model in models)
        return Cost(
            flops=sum(cost.flops for cost in costs),
            memory=max(cost.memory for cost in costs) + 8 * n_centers * (n_inputs + n_cuts),
            flops_per_row=expansion_flops(n_centers, n_inputs) + 4 * n_centers * (n_cuts - 1),
        )


def _closed_form(model: Any) -> ClosedForm:
    trainer: ClosedForm = model._trainer()
    return trainer


def _nearest_open(above: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for every cut the nearest one with rows on both sides, which may be itself."""
    open_cuts = np.flatnonzero(above.any(axis=0) & ~above.all(axis=0))
    distance = abs(np.arange(above.shape[1])[:, None] - open_cuts)
    return open_cuts[distance.argmin(axis=1)]


def _grid_values(
    models: Sequence[QuadraticRiskEstimator], folds: Folds, training: dict[str, Any]
) -> Array:
    """Return out-of-fold values of binary estimators, computed once for equal ones."""
    if not folds:
        return np.full((len(models), len(training["y"])), np.nan)
    settings = [model.get_params() for model in models]
    keys = [tuple(setting.items()) for setting in settings]
    distinct = dict(zip(keys, settings, strict=True))
    values = models[0].fit_points(list(distinct.values()), folds=folds, **training)
    position = {key: number for number, key in enumerate(distinct)}
    return values[[position[key] for key in keys]]

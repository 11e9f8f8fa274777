"""QSG-S2AUC: quadruply stochastic gradients for semi-supervised AUC (Shi et al., IJCAI 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.engine import (
    DecreasingStep,
    DSGModel,
    Problem,
    Source,
    TableSize,
    train,
    train_values,
    training_cost,
)
from dsgkit.errors import DataError, DivergedError
from dsgkit.objectives.pairwise_risk import NEGATIVE, POSITIVE, PairwiseRisk, samult_risk
from dsgkit.objectives.pnu_auc import PNUAUCObjective
from dsgkit.solvers.auc.base import KernelAUCEstimator
from dsgkit.solvers.auc.curvature import offsets
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.auc.stochastic import StochasticAUCEstimator
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.common import (
    T0,
    FeaturesPerIteration,
    Gamma,
    KernelName,
    Lam,
    PassIterations,
    RandomState,
    Sigma,
    ThetaLam,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import check_projections
from dsgkit.solvers.parameters import COUNT


class QSGS2AUC(StochasticAUCEstimator, KernelAUCEstimator):
    """Semi-supervised AUC maximisation by quadruply stochastic functional gradients.

    Minimises ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) + lam/2 ||f||^2`` with the squared
    pairwise loss over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Each
    iteration draws a batch of positive, negative and unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). Memory is O(T m), whatever the number of rows.

    References
    ----------
    .. [1] Shi, Gu, Li, Geng & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised AUC optimization", IJCAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import QSGS2AUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = QSGS2AUC().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 2
    _exact: ClassVar[type[SAMULT]] = SAMULT
    pace: ClassVar[Pace] = Pace(training=1.6, per_model=2)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Annotated[int, COUNT, Doc("Triplets per iteration.")] = 256
    n_features: FeaturesPerIteration = 256
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    n_iter_: int = fitted("Iterations made.")

    def _codes(self, positive: NDArray[np.bool_]) -> NDArray[np.integer]:
        return np.where(positive, POSITIVE, NEGATIVE)

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return samult_risk(self.gamma)

    def _fit(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        X_unlabeled: Any,
        trained: Callable[[Problem], DSGModel] = train,
    ) -> None:
        check_projections(X, self._sigma, self.kernel)
        pools = [np.arange(len(positive))]
        model = trained(_problem([self], X, positive, X_unlabeled, pools))
        if not np.isfinite(model.coefficients).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise DivergedError(
                f"diverged with lam={self.lam:g}: the first steps are too long; set t0='stable'"
            )
        self.model_ = model
        self.n_iter_ = self._iterations(len(X_unlabeled))

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a model for each of many settings; for folds, in one pass over the features.

        As in the base class. In one pass, ``points`` may differ in lam, gamma, theta_lam and t0,
        and must agree in everything else. Errors are those of `fit`, except that a model that
        diverged is a row of NaN.
        """
        if folds is None or X_unlabeled is None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        models = self._settings(self._with_sigma(points, X, X_unlabeled))
        X, positive, X_unlabeled = clone(models[0])._inputs(X, y, X_unlabeled)
        check_projections(X, models[0]._sigma, models[0].kernel)
        pools = [training_rows(held_out, len(positive)) for held_out in folds]
        trained = train_values(_problem(models, X, positive, X_unlabeled, pools))[0]
        final = trained.reshape(len(positive), len(folds), len(points))
        values = np.full((len(points), len(positive)), np.nan)
        for fold, held_out in enumerate(folds):
            values[:, held_out] = final[held_out, fold].T
        diverged = ~np.isfinite(values[:, np.concatenate(folds)]).all(axis=1)
        if diverged.all():
            check_projections(X_unlabeled, models[0]._sigma, models[0].kernel)
        values[diverged] = np.nan
        return values

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the engine takes for a fit, or for the values of a grid; see the base."""
        return training_cost(
            self._features(),
            n_inputs,
            [TableSize(n_labeled, in_pools=True, n_sources=2), TableSize(n_unlabeled)],
            batch_size=int(self.batch_size),
            n_iterations=self._iterations(n_unlabeled),
            n_models=n_models,
            result="model" if n_models == 1 else "values",
        )


def _problem(
    models: Sequence[QSGS2AUC],
    X: Any,
    positive: NDArray[np.bool_],
    X_unlabeled: Any,
    pools: Sequence[NDArray[np.int64]],
) -> Problem:
    """Return the problem of training every model on every pool of labelled rows, pool by pool."""
    positives = [pool[positive[pool]] for pool in pools]
    negatives = [pool[~positive[pool]] for pool in pools]
    if any(len(pool) == 0 for pool in (*positives, *negatives)):
        raise DataError("every fold must leave labelled rows of both classes to train on")
    codes = models[0]._codes(positive)
    t0 = offsets(models, lambda model, pool: samult_risk(model.gamma), X, codes, X_unlabeled, pools)
    columns = [(m.gamma, m.theta_lam, m.lam) for m in models]
    gamma, theta_lam, lam = np.tile(np.array(columns, np.float64).T, len(pools))
    return Problem(
        tables=[X, X_unlabeled],
        sources=[Source(0, positives), Source(0, negatives), Source(1, in_passes=True)],
        objective=PNUAUCObjective(gamma),
        step=DecreasingStep(theta_lam, lam, np.array(t0)),
        features=models[0]._features(),
        n_iterations=models[0]._iterations(len(X_unlabeled)),
        batch_size=int(models[0].batch_size),
        group=np.repeat(np.arange(len(pools)), len(models)),
    )

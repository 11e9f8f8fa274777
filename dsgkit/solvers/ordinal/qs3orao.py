"""QS3ORAO: quadruply stochastic gradients for ordinal regression AUC (Shi et al., AAAI 2020)."""

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
from dsgkit.objectives.ordinal_auc import OrdinalAUCObjective, open_cuts
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.curvature import offsets
from dsgkit.solvers.auc.stochastic import StochasticAUCEstimator
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.common import (
    T0,
    FeaturesPerIteration,
    GammaPerCut,
    KernelName,
    Lam,
    PassIterations,
    RandomState,
    Sigma,
    ThetaLam,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import check_projections
from dsgkit.solvers.ordinal.base import Array, Codes, OrdinalEstimator, centred_out_of_fold
from dsgkit.solvers.ordinal.cuts import for_cuts
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.ordinal.quadratic_risk import ordinal_risk
from dsgkit.solvers.parameters import COUNT


class QS3ORAO(StochasticAUCEstimator, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by quadruply stochastic functional gradients.

    Minimises the mean over the cuts between the classes of the semi-supervised AUC risk of
    `QSGS2AUC`, plus ``lam/2 ||f||^2``, over the functions of the Gaussian kernel
    ``exp(-sigma ||x - x'||^2)``; then places thresholds on the values of the function. Each
    iteration draws a batch of every class, one of unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). With two classes it is QSG-S2AUC. Memory is O(T m),
    whatever the number of rows.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.qs3orao import QS3ORAO
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.digitize(target, [90, 140, 200])
    >>> model = QS3ORAO().fit(X[:150], y[:150], X[150:])
    >>> model.score(X[150:], y[150:]) > 0.75
    True
    """

    version: ClassVar[int] = 2
    _exact: ClassVar[type[ExactS2OR]] = ExactS2OR
    pace: ClassVar[Pace] = Pace(training=3, per_model=4)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Annotated[
        int, COUNT, Doc("Rows of each class, and unlabelled rows, per iteration.")
    ] = 256
    n_features: FeaturesPerIteration = 256
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"
    unlabeled_label: UnlabeledLabel = -1

    n_iter_: int = fitted("Iterations made.")
    n_cuts_: int = fitted(
        "Cuts that the objective is the mean over: those with training rows on both sides."
    )

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return ordinal_risk(self.gamma, counts)

    def _fit(
        self,
        X: Any,
        codes: NDArray[Any],
        X_unlabeled: Any,
        trained: Callable[[Problem], DSGModel] = train,
    ) -> None:
        self.model_ = self._trained(X, codes, X_unlabeled, [np.arange(len(codes))], trained)
        self.n_iter_ = self._iterations(len(X_unlabeled))
        self.n_cuts_ = int(open_cuts(np.bincount(codes, minlength=len(self.classes_))).sum())

    def _trained(
        self,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        pools: Sequence[NDArray[np.int64]],
        trained: Callable[[Problem], DSGModel] = train,
    ) -> DSGModel:
        """Return the functions trained on some pools of labelled rows.

        Raises
        ------
        DivergedError
            If one of them has no finite coefficients.
        """
        check_projections(X, self._sigma, self.kernel)
        model = trained(_problem([self], X, codes, X_unlabeled, pools, len(self.classes_)))
        if not np.isfinite(model.coefficients).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise DivergedError(
                f"diverged with lam={self.lam:g}: the first steps are too long; set t0='stable'"
            )
        return model

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> Array:
        """Return what the base does, all folds trained in one pass over the features."""
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        model = self._trained(X, codes, X_unlabeled, pools)
        return centred_out_of_fold(model, X, folds, reference)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit the functions of many settings; for folds, in one pass over the features.

        As in the base class. In one pass, ``points`` may differ in lam, gamma, theta_lam and t0,
        and must agree in everything else. A fold may hold all rows of a class. Errors are those of
        `fit`, except that a model that diverged is a row of NaN.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y, X_unlabeled=X_unlabeled)
        models = self._settings(self._with_sigma(points, X, X_unlabeled))
        first = clone(models[0])
        X, codes, X_unlabeled = first._inputs(X, y, X_unlabeled)
        check_projections(X, first._sigma, first.kernel)
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        problem = _problem(models, X, codes, X_unlabeled, pools, len(first.classes_))
        final = train_values(problem)[0].reshape(len(codes), len(folds), len(points))
        values = np.full((len(points), len(codes)), np.nan)
        for fold, held_out in enumerate(folds):
            values[:, held_out] = final[held_out, fold].T
        diverged = ~np.isfinite(values[:, np.concatenate(folds)]).all(axis=1)
        if diverged.all():
            check_projections(X_unlabeled, first._sigma, first.kernel)
        values[diverged] = np.nan
        return values

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int
    ) -> Cost:
        """Return what the engine takes for a function, or for the values of a grid; see the base.

        The folds that thresholds are placed on are not in it.
        """
        return training_cost(
            self._features(),
            n_inputs,
            [TableSize(n_labeled, in_pools=True, n_sources=n_cuts + 1), TableSize(n_unlabeled)],
            batch_size=int(self.batch_size),
            n_iterations=self._iterations(n_unlabeled),
            n_models=n_models,
            result="model" if n_models == 1 else "values",
        )


def _problem(
    models: Sequence[QS3ORAO],
    X: Any,
    codes: Codes,
    X_unlabeled: Any,
    pools: Sequence[NDArray[np.int64]],
    n_classes: int,
) -> Problem:
    """Return the problem of training every model on every pool of labelled rows, pool by pool."""
    counts = np.array([np.bincount(codes[pool], minlength=n_classes) for pool in pools])
    used = open_cuts(counts)
    if not used.any(axis=1).all():
        raise DataError("every fold must leave labelled rows of two classes or more to train on")
    gamma = np.array([for_cuts("gamma", model.gamma, n_classes - 1) for model in models])

    def risk_of(model: QS3ORAO, pool: int) -> PairwiseRisk:
        return model._risk(counts[pool])

    t0 = offsets(models, risk_of, X, codes, X_unlabeled, pools)
    theta_lam, lam = np.tile([(m.theta_lam, m.lam) for m in models], (len(pools), 1)).T
    classes = [
        Source(0, [_rows_of(c, codes, pool) for pool in pools]) for c in range(n_classes)[::-1]
    ]
    return Problem(
        tables=[X, X_unlabeled],
        sources=[*classes, Source(1, in_passes=True)],
        objective=OrdinalAUCObjective(
            np.tile(gamma, (len(pools), 1)), np.repeat(counts, len(models), axis=0)
        ),
        step=DecreasingStep(theta_lam, lam, np.array(t0)),
        features=models[0]._features(),
        n_iterations=models[0]._iterations(len(X_unlabeled)),
        batch_size=int(models[0].batch_size),
        group=np.repeat(np.arange(len(pools)), len(models)),
    )


def _rows_of(label: int, codes: Codes, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of a class in a pool; if there are none, one that stands in.

    Something has to be drawn; the objective gives a class without rows no weight.
    """
    rows = pool[codes[pool] == label]
    return rows if len(rows) else pool[:1]

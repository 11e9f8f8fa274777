"""Supervised reference: kernel least squares classification, with the loss of SU-SL."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import NEGATIVE, POSITIVE
from dsgkit.objectives.risks import SquaredLoss
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.common import Lam, LinearOrKernel, MaxMemory, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ALL_LABELED, with_example
from dsgkit.solvers.labeled import LabeledEstimator
from dsgkit.solvers.minimise import RiskMinimiser, held_out_values
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.least_squares import LeastSquares
from dsgkit.trainers.training import Fold, Given, Sizes


@with_example(ALL_LABELED)
class SupervisedSL(RiskMinimiser, WithSigma, LabeledEstimator):
    """Minimiser of the squared loss of labelled rows: an upper bound for learning from pairs.

    Minimises ``mean (y f - 1)^2/4 + lam/2 ||f||^2`` over the functions of a kernel, or over linear
    functions with a bias, which is penalised too. `SUSL` minimises an unbiased estimate of this
    objective from similar pairs and unlabelled rows. It is kernel ridge regression on the labels -1
    and 1, `sklearn.kernel_ridge.KernelRidge` with alpha = ``2 n lam``. O(n^3) time, 8 n^2 bytes.
    """

    tasks = ("similar_unlabeled",)
    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=3, per_model=5)

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    max_memory: MaxMemory = None

    coef_: Array = fitted(
        "Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n,)",
    )
    centers_: Array = fitted("The training rows; only with a kernel.", "(n, n_inputs)")

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any
    ) -> Any:
        """Fit a model for each of many settings; those that differ in lam share a decomposition.

        Parameters, returns and errors are those of `Estimator.fit_points` and of `fit`. A fold
        must leave rows of both classes to train on.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y)
        points = self._with_sigma(points, X)
        models = self._unfitted(points)
        X, t = clone(self)._inputs(X, y)
        return held_out_values(models, self._given(X, t), [Fold(rows) for rows in folds])[0]

    def _risk(self) -> SquaredLoss:
        return SquaredLoss()

    def _trainer(self) -> LeastSquares:
        return LeastSquares(self.kernel, self._sigma)

    def _given(self, X: Any, t: Array) -> Given:
        codes = np.where(t > 0, POSITIVE, NEGATIVE)
        return Given(X, codes, np.empty((0, X.shape[1])), n_sources=2)

    def _fit(self, X: Any, t: Array) -> None:
        self._train(self._given(X, t))

    def _cost_of(self, given: Given, n_models: int) -> Cost:
        return self._trainer().cost(Sizes(given.X.shape[1], len(given.X), 0), n_models)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of a fit or of a grid on folds; see `Estimator.cost`.

        Parameters
        ----------
        n_inputs, n_models : int
            As in `Estimator.cost`.
        n_similar, n_unlabeled : int
            Pairs and rows of the methods that it is compared with; it is trained on
            ``min(2 n_similar, n_unlabeled)`` labelled rows.
        """
        sizes = Sizes(n_inputs, min(2 * n_similar, n_unlabeled), 0)
        return self._trainer().cost(sizes, n_models)

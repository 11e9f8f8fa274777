"""Base of the AUC estimators, of any family, that the engine trains with decreasing steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, cast

from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.engine import DSGModel, Problem, train
from dsgkit.features import FeatureBlocks, random_features
from dsgkit.solvers.auc.base import KernelEstimator
from dsgkit.solvers.auc.exact_kernel import ExactKernelEstimator
from dsgkit.solvers.common import T0, FeaturesPerIteration, PassIterations, RandomState, ThetaLam
from dsgkit.solvers.diagnostics import PairwiseDiagnostics
from dsgkit.solvers.doubly_stochastic import (
    DoublyStochasticEstimator,
    Observer,
    observed_training,
)
from dsgkit.stopwatch import Stopwatch

LEAST_ITERATIONS, MOST_ITERATIONS = 200, 2000
"""What one pass is extended to, and cut at: with lam >= 2^-3, 400 are within 0.1% of the minimiser,
and one pass over millions of rows would be hours for nothing."""


class StochasticAUCEstimator(DoublyStochasticEstimator, PairwiseDiagnostics, KernelEstimator):
    """Base of the quadruply stochastic estimators: iterations, features and steps.

    A subclass names this base before the one of its family.
    """

    batch_size: int
    n_features: FeaturesPerIteration
    n_iterations: PassIterations
    theta_lam: ThetaLam
    t0: T0
    random_state: RandomState

    _exact: ClassVar[type[ExactKernelEstimator]]
    """The class of the exact minimiser."""

    def exact_minimiser(self, X: Any, y: Any, X_unlabeled: Any = None) -> ExactKernelEstimator:
        """Return the minimiser of the objective that was fitted, in O(n^3) for n rows.

        Parameters
        ----------
        X, y, X_unlabeled
            What was fitted.
        """
        known = self._exact().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in known}
        exact = self._exact(**{**shared, "sigma": self._sigma})
        exact._warns = False  # of what the fit has warned of
        fit = getattr(exact, "fit_function", exact.fit)  # an ordinal model needs no thresholds
        return cast("ExactKernelEstimator", fit(X, y, X_unlabeled))

    def fit_observed(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        at: Sequence[int],
        observe: Observer,
    ) -> Self:
        """Fit the function as `fit` does, and show it on the way.

        Parameters
        ----------
        X, y, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within those that are made.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of them, with what the fit has
            taken so far, without what observing takes, and a function of its own that has
            ``decision_function``.

        Raises
        ------
        ValueError
            If ``at`` does not ascend within the iterations.
        """
        stopwatch = Stopwatch()
        self._check_params()
        X, labels, X_unlabeled = self._inputs(X, y, X_unlabeled)
        trained = observed_training(self, stopwatch, at, observe)
        with self._settled(X, X_unlabeled):
            self._fit(X, labels, X_unlabeled, trained)
        return self

    def settled(  # type: ignore[override]  # of its counts by name
        self, *, n_unlabeled: int, **others: int
    ) -> Self:
        """Return a clone with the iterations of so many rows; see the base class."""
        copy: Self = clone(self)
        return copy.set_params(n_iterations=self._iterations(n_unlabeled))

    def _fit(
        self,
        X: Any,
        labels: NDArray[Any],
        X_unlabeled: Any,
        trained: Callable[[Problem], DSGModel] = train,
    ) -> None:
        raise NotImplementedError

    def _iterations(self, n_unlabeled: int) -> int:
        if self.n_iterations is not None:
            return int(self.n_iterations)
        one_pass = -(-n_unlabeled // int(self.batch_size))
        return min(max(one_pass, LEAST_ITERATIONS), MOST_ITERATIONS)

    def _penalty(self) -> float:
        return self.lam / 2

    def _features(self) -> FeatureBlocks:
        return random_features(
            self.kernel, float(self._sigma), int(self.n_features), int(self.random_state)
        )

"""Base of the AUC estimators, of any family, that the engine trains with decreasing steps."""

from __future__ import annotations

from typing import Annotated, Literal

from dsgkit.features import FeatureBlocks, random_features
from dsgkit.solvers.auc.base import KernelEstimator
from dsgkit.solvers.diagnostics import PairwiseDiagnostics
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.parameters import COUNT, NOT_NEGATIVE, PER_MODEL, POSITIVE, SEED

LEAST_ITERATIONS, MOST_ITERATIONS = 200, 2000
"""What one pass is extended to, and cut at: with lam >= 2^-3, 400 are within 0.1% of the minimiser,
and one pass over millions of rows would be hours for nothing."""


class StochasticAUCEstimator(DoublyStochasticEstimator, PairwiseDiagnostics, KernelEstimator):
    """Base of the quadruply stochastic estimators: iterations, features and steps.

    A subclass names this base before the one of its family.
    """

    batch_size: Annotated[int, COUNT]
    n_features: Annotated[int, COUNT]
    n_iterations: Annotated[int | None, COUNT]
    theta_lam: Annotated[float, POSITIVE, PER_MODEL]
    t0: Annotated[float | Literal["stable"], NOT_NEGATIVE, PER_MODEL]
    random_state: Annotated[int, SEED]

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

"""Cost of the thresholds of ordinal estimators whose fit solves one linear system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dsgkit.costs import Cost
from dsgkit.solvers.base import Estimator


class ThresholdsByFolds(Estimator):
    """Mixin: a second system is solved for the values that thresholds are fitted on.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    def cost(self: Any, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return the cost of a fit, or of a grid on folds; see the base class."""
        cost: Cost = super().cost(n_inputs, n_models=n_models, **counts)
        if n_models > 1 or self.thresholds not in ("logistic", "absolute"):
            return cost
        return replace(cost, flops=2 * cost.flops)

"""Base of the ordinal estimators whose fit is one linear system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost, Pace
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.closed_form import ClosedFormEstimator
from dsgkit.solvers.auc.pairwise_quadratic import Codes, centered_values
from dsgkit.solvers.base import Folds
from dsgkit.solvers.common import GammaPerCut
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.quadratic_risk import ordinal_risk


class ClosedFormOrdinal(ClosedFormEstimator, OrdinalEstimator):
    """Base of the minimisers of the semi-supervised ordinal risk with a squared norm."""

    pace: ClassVar[Pace] = Pace(training=1.1, per_model=2)
    gamma: GammaPerCut

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return ordinal_risk(self.gamma, counts)

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> NDArray[np.float64]:
        """Return held-out values from one factorisation, their mean on all unlabelled rows."""
        risks = self._risks([self], X, codes, X_unlabeled, folds)[0]
        weights = [risk.diagonal[-1] for risk in risks]
        if not np.allclose(weights, weights[0], rtol=1e-12, atol=0):
            # a fold lacks an outer class, and the cut that it drops had a gamma of its own
            return super()._out_of_fold(X, codes, X_unlabeled, folds, reference)
        P = self._response_at(X, X_unlabeled, weights[0] / len(X_unlabeled))
        return centered_values(P, codes, folds, risks)

    def cost(  # type: ignore[override]  # of its counts by name
        self,
        n_inputs: int,
        *,
        n_models: int = 1,
        n_labeled: int,
        n_unlabeled: int,
        n_cuts: int = 1,
    ) -> Cost:
        """Return what a fit takes, or a grid of models on folds; see the base class."""
        cost = super().cost(
            n_inputs, n_models=n_models, n_labeled=n_labeled, n_unlabeled=n_unlabeled
        )
        if n_models > 1 or self.thresholds not in ("logistic", "absolute"):
            return cost
        return replace(cost, flops=2 * cost.flops)  # the values that thresholds are fitted on

"""Base of the minimisers of the semi-supervised AUC risk."""

from __future__ import annotations

from typing import ClassVar

from dsgkit.numerics.costs import Pace
from dsgkit.objectives.risks import SemiSupervisedAUC
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.common import Gamma
from dsgkit.solvers.quadratic import QuadraticRiskEstimator


class SemiSupervisedAUCEstimator(QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Base of the estimators that minimise the semi-supervised AUC risk (`SemiSupervisedAUC`)."""

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)

    gamma: Gamma = 0.5

    def _risk(self) -> SemiSupervisedAUC:
        return SemiSupervisedAUC(self.gamma)

"""Mixin of the estimators that minimise the semi-supervised AUC risk."""

from __future__ import annotations

from typing import ClassVar

from dsgkit.costs import Pace
from dsgkit.objectives.risks import SemiSupervisedAUC


class SemiSupervisedAUCMinimiser:
    """Risk (`SemiSupervisedAUC`), version and pace of these estimators.

    A subclass names this class before its other bases, and has the parameter ``gamma``.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)

    gamma: float

    def _risk(self) -> SemiSupervisedAUC:
        return SemiSupervisedAUC(self.gamma)

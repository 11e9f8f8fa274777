"""Semi-supervised AUC risks for any number of classes, over all pairs of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsgkit.linalg import Single
from dsgkit.objectives.pairwise_risk import PairwiseRisk


class PairwiseAUCObjective:
    """Pairwise quadratic risks over all pairs of rows of a batch.

    Sources: the classes of the risks in order, then unlabelled rows. Batches may differ in size; a
    class without rows must have no weight in the risks.

    Parameters
    ----------
    risks : sequence of PairwiseRisk, length G
        One per model, all with the same number of classes.
    """

    def __init__(self, risks: Sequence[PairwiseRisk]) -> None:
        self._risks = risks
        self.diagonal = np.array([risk.diagonal for risk in risks])
        self.cross = np.array([risk.cross for risk in risks])
        self._linear = np.array([risk.linear for risk in risks])

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the risk with respect to each row's value, ``2 (M z - v)``."""
        counts = [max(1, len(f)) for f in values]
        means = [f.sum(axis=0, dtype=np.float64) / n for f, n in zip(values, counts, strict=True)]
        constants = np.einsum("gkl,lg->kg", self.cross, np.array(means)) - self._linear.T
        return [
            (2 / n * (d * f + constant)).astype(np.float32)
            for f, n, d, constant in zip(values, counts, self.diagonal.T, constants, strict=True)
        ]

    def take(self, models: slice) -> PairwiseAUCObjective:
        """Return the objective of some of the models."""
        return PairwiseAUCObjective(self._risks[models])

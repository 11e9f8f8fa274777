"""Risks of similar pairs and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.objectives.risks import Counts, Risk
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective, similar_share


@dataclass(frozen=True)
class SimilarUnlabeled(Risk):
    """``delta(r1) + delta(r2)``, see `dsgkit.objectives.similar_unlabeled`.

    The points of pairs are the only source of labelled rows.

    Attributes
    ----------
    delta : str
        Name of the correction function.
    leak : float
        Slope of the leaky ReLU below 0.
    loss : str
        A name in `LOSSES`, or "double_hinge", which has no form.
    """

    prior: float
    delta: str = "none"
    leak: float = 0.0
    loss: str = "squared"

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form of the risk with the squared loss and without correction.

        ``mean_U f^2/4 + c_u mean_U f - c_s mean_S f + 1/4`` with ``c_u = 1/(2 (2 pi - 1))`` and
        ``c_s = pi_S/(2 pi - 1)``: its matrix does not depend on the prior.
        """
        scale = 2 * self.prior - 1
        return PairwiseRisk(
            diagonal=np.array([0, 1 / 4]),
            cross=np.zeros((2, 2)),
            linear=np.array([similar_share(self.prior) / scale, -0.5 / scale]) / 2,
            constant=1 / 4,
        )

    def value(self, values: Sequence[Array], counts: Counts) -> float:
        """Return the risk of a function."""
        (risk,) = self.objective([self]).batch_loss([f[:, None] for f in values])
        return float(risk)

    @classmethod
    def on_batches(
        cls, risks: Sequence[Self], forms: Sequence[PairwiseRisk]
    ) -> SimilarUnlabeledObjective:
        """Return the objective of models that are trained on batches of rows."""
        return cls.objective(risks)

    @classmethod
    def objective(cls, risks: Sequence[Self]) -> SimilarUnlabeledObjective:
        """Return the objective of models with the same loss."""
        prior, leak = np.array([(risk.prior, risk.leak) for risk in risks], np.float64).T
        delta = [risk.delta for risk in risks]
        return SimilarUnlabeledObjective(prior, delta, leak, risks[0].loss)

"""Risks of the semi-supervised support vector machines.

Sources are the positive and the negative rows, and the unlabelled ones. The losses are those of
`dsgkit.objectives.s3vm` and, rounded, of `dsgkit.objectives.majorised_s3vm`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from dsgkit.objectives.risks import Counts, Risk
from dsgkit.objectives.s3vm import S3VMObjective, Values


@dataclass(frozen=True)
class MarginRisk(Risk):
    """``C mean_labelled hinge(y f) + C* mean_unlabelled u(f)``.

    Attributes
    ----------
    full_from : float
        Iteration or step from which the weight is C*; before, it grows to it. 0 disables this.
    loss : str
        Name of u in `dsgkit.objectives.s3vm.UNLABELED_LOSSES`.
    ramp_s : float
        Parameter s of the ramp.
    balance : bool
        Whether the mean value over the unlabelled rows is constrained to the mean label.
    """

    C: float
    C_star: float
    full_from: float = 0.0
    loss: str = field(default="shg", kw_only=True)
    ramp_s: float = field(default=0.0, kw_only=True)
    balance: bool = field(default=False, kw_only=True)

    def value(self, values: Sequence[Values], counts: Counts) -> float:
        """Return the risk of a function from its values at the rows of each source."""
        objective = self.on_tuples([self], counts[None])
        objective.balance = np.zeros(1, bool)  # the values include the offset
        return float(objective.batch_loss([f[:, None] for f in values])[0])

    @classmethod
    def on_tuples(cls, risks: Sequence[Self], counts: Counts) -> S3VMObjective:
        """Return the objective of batches of a row of each class and an unlabelled one."""
        columns = [(risk.C, risk.C_star, risk.ramp_s, risk.full_from) for risk in risks]
        C, C_star, ramp_s, full_from = np.array(columns, np.float64).T
        return S3VMObjective(
            C,
            C_star,
            counts[:, 0] / counts.sum(axis=1),
            [risk.loss for risk in risks],
            ramp_s,
            full_from=full_from,
            balance=np.array([risk.balance for risk in risks]),
        )

    def held_mean(self, counts: Counts) -> float:
        """Return the mean of the labels if balanced, else NaN."""
        return 2 * float(counts[0] / counts.sum()) - 1 if self.balance else math.nan

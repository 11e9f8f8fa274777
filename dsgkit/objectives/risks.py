"""Base class of risks, and risks that are quadratic forms in the values of some sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array
from dsgkit.objectives.ordinal_risk import ordinal_risk
from dsgkit.objectives.pairwise_risk import PairwiseRisk, pnu_risk, samult_risk

Counts = NDArray[np.integer]


class Risk:
    """A risk of values at labelled rows of some sources, such as classes, and at unlabelled rows.

    It has a quadratic form, or objectives of the engine: `on_tuples` for stochastic steps,
    `majorised` for sweeps. Equal risks have equal forms. By default, training uses the form, over
    all pairs of rows of a batch.

    Attributes
    ----------
    descending : bool
        If true, batches are drawn from the last source to the first, then from unlabelled rows.
    """

    descending: ClassVar[bool] = False

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form, given the number of labelled rows of each source.

        Raises
        ------
        TypeError
            If there is none.
        """
        kind = type(self).__name__
        raise TypeError(f"{kind} has no quadratic form, which this trainer needs")

    def value(self, values: Sequence[Array], counts: Counts) -> float:
        """Return the risk of a function.

        Parameters
        ----------
        values : sequence of ndarray of float64
            Its values at the rows of each source and at the unlabelled rows; empty is allowed for
            rows without a weight in the form.
        counts : ndarray of int, shape (n_sources,)
        """
        return self.form(counts).value(values)


@dataclass(frozen=True)
class SemiSupervisedAUC(Risk):
    """``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``; sources are positive and negative rows."""

    gamma: float

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form."""
        return samult_risk(self.gamma)


@dataclass(frozen=True)
class PriorAUC(Risk):
    """The risk of PNU-AUC, which needs the class prior; sources are positive and negative rows."""

    eta: float
    prior: float

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form."""
        return pnu_risk(self.eta, self.prior)


@dataclass(frozen=True)
class SquaredLoss(Risk):
    """``mean (t f - 1)^2/4``, t being 1 and -1; sources are positive and negative rows."""

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form."""
        positive, negative = counts / np.sum(counts)
        return PairwiseRisk(
            diagonal=np.array([positive, negative, 0]) / 4,
            cross=np.zeros((3, 3)),
            linear=np.array([positive, -negative, 0]) / 4,
            constant=1 / 4,
        )


@dataclass(frozen=True)
class OrdinalAUC(Risk):
    """The mean over the cuts of ``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``.

    Attributes
    ----------
    gamma : float or tuple of float
        One gamma for all cuts, or one for each cut between the ascending classes, which are the
        sources.
    """

    gamma: float | tuple[float, ...]

    descending: ClassVar[bool] = True

    @classmethod
    def of(cls, gamma: Any) -> Self:
        """Return the risk with this gamma, or with a sequence of them."""
        return cls(tuple(gamma) if isinstance(gamma, Sequence | np.ndarray) else gamma)

    def form(self, counts: Counts) -> PairwiseRisk:
        """Return the quadratic form."""
        return ordinal_risk(self.gamma, counts)

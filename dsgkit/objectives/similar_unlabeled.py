"""Similar-unlabelled risk: two parts that are corrected if a batch estimates them below 0.

With ``pi`` the prior of the class +1 and ``pi_S = pi^2 + (1 - pi)^2``,

- ``r1 = [pi_S mean_S l(f, +1) - (1 - pi) mean_U l(f, +1)] / (2 pi - 1)``,
- ``r2 = [pi mean_U l(f, -1) - pi_S mean_S l(f, -1)] / (2 pi - 1)``

estimate ``pi E_+ l(f, +1)`` and ``(1 - pi) E_- l(f, -1)``, which are never negative. Training
minimises ``delta(r1) + delta(r2)`` with a *correction function* delta (Shi et al., Machine Learning
2021, Eq. 8; Lu et al., AISTATS 2020). S are the points of all similar pairs, U the unlabelled rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array, Single

Values = NDArray[np.floating]


MIN_PRIOR_GAP = 1e-6
"""Smallest distance of a prior from 1/2. At 1/2, similar pairs and unlabelled rows have the same
distribution, and every term of the risk is divided by ``2 prior - 1 = 0``."""


@dataclass(frozen=True)
class MarginLoss:
    """A loss ``l(z, t)`` of the value z at a row of the class t, +1 or -1.

    Attributes
    ----------
    value, slope : callable
        Functions of z and t; the slope is the derivative with respect to z.
    """

    name: str
    formula: str
    value: Callable[[Any, int], Any]
    slope: Callable[[Any, int], Any]


def _logistic_slope(z: Any, t: int) -> Any:
    return -t / (1 + np.exp(t * z))


LOSSES = {
    loss.name: loss
    for loss in (
        MarginLoss(
            "squared", "(t z - 1)^2/4", lambda z, t: (t * z - 1) ** 2 / 4, lambda z, t: (z - t) / 2
        ),
        MarginLoss(
            "logistic", "log(1 + exp(-t z))", lambda z, t: np.logaddexp(0, -t * z), _logistic_slope
        ),
    )
}
"""Losses by name."""


@dataclass(frozen=True)
class Correction:
    """A correction function: ``delta(r) = r`` for ``r >= 0``.

    At ``r = 0`` its slope is 1, as that of the uncorrected risk.

    Attributes
    ----------
    below : callable
        Maps ``leak`` to the slope of delta below 0; ``leak`` is the parameter of the leaky ReLU,
        which the others ignore.
    """

    name: str
    formula: str
    below: Callable[[Any], Any]

    def value(self, r: Any, leak: Any) -> Any:
        """Return ``delta(r)``."""
        return r * self.slope(r, leak)

    def slope(self, r: Any, leak: Any) -> Any:
        """Return ``delta'(r)``."""
        return corrected_slope(r, self.below(leak))


def corrected_slope(r: Any, below: Any) -> Any:
    """Return ``delta'(r)`` of a correction with slope ``below`` for r < 0."""
    return np.where(np.less(r, 0), below, 1.0)


CORRECTIONS = {
    correction.name: correction
    for correction in (
        Correction("abs", "|r|", lambda leak: -1.0),
        Correction("relu", "max(0, r)", lambda leak: 0.0),
        Correction("leaky_relu", "r where r >= 0, else leak * r", lambda leak: leak),
        Correction("none", "r", lambda leak: 1.0),
    )
}
"""Correction functions by name; "none" leaves the risk unchanged, and unbiased."""


def slopes_below(delta: Sequence[str], leak: Sequence[float] | Values) -> Array:
    """Return the slopes below 0 of correction functions; ``leak`` is that of the leaky ReLU."""
    return np.array(
        [CORRECTIONS[name].below(slope) for name, slope in zip(delta, leak, strict=True)]
    )


def similar_share(prior: Any) -> Any:
    """Return the probability that two random unlabelled rows have the same class."""
    return prior**2 + (1 - prior) ** 2


def weights(prior: Any) -> tuple[Any, Any, Any]:
    """Return the weights in r1 and r2 of the means over S, over U as +1, and over U as -1.

    ``(pi_S, 1 - pi, pi) / (2 pi - 1)``, for one prior or an array of them.
    """
    scale = 2 * prior - 1
    return similar_share(prior) / scale, (1 - prior) / scale, prior / scale


def parts(
    mean_S_pos: Any, mean_U_pos: Any, mean_U_neg: Any, mean_S_neg: Any, prior: Any
) -> tuple[Any, Any]:
    """Return r1 and r2 from mean losses.

    Parameters
    ----------
    mean_S_pos, mean_U_pos, mean_U_neg, mean_S_neg : float or ndarray of shape (G,)
        Mean loss of the points of pairs (S) or of the unlabelled rows (U), as class +1 or -1.
    prior : float or ndarray of shape (G,)
    """
    w_s, w_pos, w_neg = weights(prior)
    return w_s * mean_S_pos - w_pos * mean_U_pos, w_neg * mean_U_neg - w_s * mean_S_neg


class SimilarUnlabeledObjective:
    """The corrected risk for models that differ in prior and correction.

    Sources: points of similar pairs, and unlabelled rows, in this order. delta' is taken at r1 and
    r2 of the batch.

    Parameters
    ----------
    prior : array-like of shape (G,)
        Share of the class +1, not 1/2.
    delta : sequence of str, length G
        Names in `CORRECTIONS`.
    leak : array-like of shape (G,)
        Slope of the leaky ReLU below 0.
    loss : str
        A name in `LOSSES`.
    negative : ndarray of int, shape (G,), optional
        Counters to use; see Attributes.

    Attributes
    ----------
    negative : ndarray of int, shape (G,)
        Number of calls of `coefficients` with r1 or r2 below 0. The result of `take` counts in the
        same memory.
    """

    def __init__(
        self,
        prior: Values,
        delta: Sequence[str],
        leak: Values,
        loss: str = "squared",
        negative: NDArray[np.int64] | None = None,
    ) -> None:
        self.prior = np.asarray(prior, np.float64)
        self.delta = list(delta)
        self.leak = np.asarray(leak, np.float64)
        self.loss = loss
        self.negative = np.zeros(len(self.prior), np.int64) if negative is None else negative
        self._loss = LOSSES[loss]
        self._below = slopes_below(self.delta, self.leak)

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the batch's corrected risk with respect to each row's value."""
        at_similar, at_unlabeled = (v.astype(np.float64) for v in values)
        r1, r2 = self._parts(at_similar, at_unlabeled)
        self.negative += (r1 < 0) | (r2 < 0)
        d1, d2 = (corrected_slope(r, self._below) for r in (r1, r2))
        w_s, w_pos, w_neg = weights(self.prior)
        slope = self._loss.slope
        return [
            self._slopes(f, d1 * pos / len(f), d2 * neg / len(f), slope)
            for f, pos, neg in ((at_similar, w_s, -w_s), (at_unlabeled, -w_pos, w_neg))
        ]

    @property
    def diagonal(self) -> Array:
        """Weights of the squares of values in the uncorrected squared risk, shape (G, 2).

        For any prior, it is ``mean_U f^2/4`` plus terms that are linear in f. Corrections, which
        reverse or stop the gradient and this curvature, are ignored.
        """
        return np.tile([0.0, 0.25], (len(self.prior), 1))

    @property
    def cross(self) -> Array:
        """Weights of products of means in that risk: 0, shape (G, 2, 2)."""
        return np.zeros((len(self.prior), 2, 2))

    def batch_loss(self, values: list[Values]) -> Array:
        """Return the corrected risk of a batch, shape (G,); `coefficients` are its derivatives."""
        r1, r2 = self._parts(*values)
        corrected: Array = r1 * corrected_slope(r1, self._below) + r2 * corrected_slope(
            r2, self._below
        )
        return corrected

    def take(self, models: slice) -> SimilarUnlabeledObjective:
        """Return the objective of some of the models."""
        return SimilarUnlabeledObjective(
            self.prior[models],
            self.delta[models],
            self.leak[models],
            self.loss,
            self.negative[models],
        )

    def _parts(self, at_similar: Values, at_unlabeled: Values) -> tuple[Array, Array]:
        loss = self._loss.value
        terms = ((at_similar, 1), (at_unlabeled, 1), (at_unlabeled, -1), (at_similar, -1))
        S_pos, U_pos, U_neg, S_neg = (loss(f, t).mean(axis=0) for f, t in terms)
        return parts(S_pos, U_pos, U_neg, S_neg, self.prior)

    @staticmethod
    def _slopes(
        f: Array, positive: Array, negative: Array, slope: Callable[[Any, int], Any]
    ) -> Single:
        """Return the derivatives of weighted losses for the classes +1 and -1."""
        derivatives: Array = positive * slope(f, 1) + negative * slope(f, -1)
        return derivatives.astype(np.float32)

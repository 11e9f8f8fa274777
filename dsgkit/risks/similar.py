"""The similar-unlabelled loss: two parts that are corrected if a batch estimates them below 0.

With ``pi`` the prior of the class +1 and ``pi_S = pi^2 + (1 - pi)^2``,

- ``r1 = [pi_S mean_S l(f, +1) - (1 - pi) mean_U l(f, +1)] / (2 pi - 1)``,
- ``r2 = [pi mean_U l(f, -1) - pi_S mean_S l(f, -1)] / (2 pi - 1)``

estimate ``pi E_+ l(f, +1)`` and ``(1 - pi) E_- l(f, -1)``, which are never negative. The loss is
``delta(r1) + delta(r2)`` with a correction ``delta(r) = r`` for ``r >= 0`` (Shi et al., Machine
Learning 2021, Eq. 8). Sources are the points S of all similar pairs, and the unlabelled rows U.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dsgkit.linalg import Array, Single
from dsgkit.risks.pairwise import Form, Loss, Values


class PointLoss(NamedTuple):
    """A loss ``l(z, t)`` of a value z at a row of the class t, +1 or -1.

    ``steepest`` is its largest second derivative. As ``l(z, +1) - l(z, -1)`` is linear in z, the
    Hessian of the uncorrected risk is at most that times ``Phi_U'Phi_U/n_U``.
    """

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any]
    steepest: float


LOSSES = {
    "squared": PointLoss(lambda z, t: (t * z - 1) ** 2 / 4, lambda z, t: (z - t) / 2, 0.5),
    "logistic": PointLoss(
        lambda z, t: np.logaddexp(0, -t * z), lambda z, t: -t / (1 + np.exp(t * z)), 0.25
    ),
}

SLOPE_BELOW = {"abs": -1.0, "relu": 0.0, "leaky_relu": None, "none": 1.0}
"""Slope of delta below 0; None is the parameter ``leak``. At 0 it is 1."""


MIN_PRIOR_GAP = 1e-6
"""Smallest distance of a prior from 1/2. At 1/2, similar pairs and unlabelled rows have the same
distribution, and every term of the risk is divided by ``2 prior - 1 = 0``."""


def similar_share(prior: Any) -> Any:
    """Return the probability that two random unlabelled rows have the same class."""
    return prior**2 + (1 - prior) ** 2


def weights(prior: Any) -> tuple[Any, Any, Any]:
    """Return the weights in r1 and r2 of the means over S, over U as +1, and over U as -1."""
    scale = 2 * prior - 1
    return similar_share(prior) / scale, (1 - prior) / scale, prior / scale


@dataclass(frozen=True, eq=False)
class SimilarUnlabeled(Loss):
    """``delta(r1) + delta(r2)``.

    Attributes
    ----------
    prior : float
    delta : str
        A name in `SLOPE_BELOW`.
    leak : float
        Slope of the leaky ReLU below 0.
    loss : str
        A name in `LOSSES`, the same for all models.
    window : float
        Batches over which the risks that select the slopes of delta are averaged; 1 takes them at
        the batch itself, as estimates by the same rows as its gradient.
    negative : int
        Batches so far in which such an average of r1 or r2 was below 0.
    averages : tuple of float
        The averages. Losses that are cut by `take` count and average in the same memory.
    """

    prior: Any
    delta: Any = "none"
    leak: Any = 0.0
    loss: Any = "squared"
    window: Any = 1.0
    negative: Any = 0
    averages: Any = (0.0, 0.0)

    @cached_property
    def form(self) -> Form:
        """The forms of the squared loss without correction.

        ``mean_U f^2/4 + c_u mean_U f - c_s mean_S f + 1/4`` with ``c_u = 1/(2 (2 pi - 1))`` and
        ``c_s = pi_S/(2 pi - 1)``: the curvature does not depend on the prior.
        """
        G, scale = len(self.prior), 2 * self.prior - 1
        linear = np.stack([similar_share(self.prior) / scale, -0.5 / scale], axis=1) / 2
        return Form(np.tile([0.0, 0.25], (G, 1)), np.zeros((G, 2, 2)), linear, np.full(G, 1 / 4))

    def slopes(self, values: Values, t: int) -> list[Single]:
        S, U = (f.astype(np.float64) for f in values)
        below = self._averaged(np.column_stack(self._parts(S, U)), t) < 0
        np.add(self.negative, below.any(axis=1), out=self.negative)
        d1, d2 = np.where(below.T, self._below, 1.0)
        w_s, w_pos, w_neg = self._weights
        slope = LOSSES[self.loss[0]].slope
        return [
            (d1 * pos / len(f) * slope(f, 1) + d2 * neg / len(f) * slope(f, -1)).astype(np.float32)
            for f, pos, neg in ((S, w_s, -w_s), (U, -w_pos, w_neg))
        ]

    def value(self, values: Values) -> Array:
        """Return the corrected loss of every model."""
        S, U = (f.astype(np.float64) for f in values)
        r1, r2 = self._parts(S, U)
        r1, r2 = (np.where(np.less(r, 0), self._below, 1.0) * r for r in (r1, r2))
        return r1 + r2

    def _averaged(self, risks: Array, t: int) -> Array:
        """Return the running means of r1 and r2, shape (G, 2), after the batch of iteration t."""
        share = 1 / np.clip(self.window, 1, t)[:, None]
        with np.errstate(invalid="ignore"):  # of models that have diverged
            mean = (1 - share) * self.averages + share * risks
        self.averages[:] = np.where(share < 1, mean, risks)
        return self.averages

    @cached_property
    def _below(self) -> Array:
        below = [SLOPE_BELOW[name] for name in self.delta]
        return np.array(
            [leak if b is None else b for b, leak in zip(below, self.leak, strict=True)]
        )

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array]:
        return weights(self.prior)

    def _parts(self, S: Array, U: Array) -> tuple[Array, Array]:
        value = LOSSES[self.loss[0]].value
        w_s, w_pos, w_neg = self._weights
        at = [(value(f, t)).mean(axis=0) for f, t in ((S, 1), (U, 1), (U, -1), (S, -1))]
        return w_s * at[0] - w_pos * at[1], w_neg * at[2] - w_s * at[3]

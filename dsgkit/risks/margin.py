"""Losses of the semi-supervised SVMs: hinge of labelled rows, and a loss of unlabelled rows near 0.

Sources are the positive, the negative and the unlabelled rows. At kinks, the derivative of ``max(0,
a - r)`` is 0 at ``r = a``, and ``sign(0) = 0``, the mean of drawing -1 or +1: every unlabelled row
starts at ``f = 0``, and with ``sign(0) = +1`` all of them would go to the positive side before the
labelled rows take effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dsgkit.linalg import Array, Single
from dsgkit.risks.pairwise import Loss, Values

KINK_ROUNDING = 0.25
"""Distance from its kink within which the rounded hinge is a parabola."""


def hinge(z: Any) -> Any:
    """Return ``max(0, 1 - z)`` of margins ``z = y f(x)``."""
    return np.maximum(0, 1 - z)


class UnlabeledLoss(NamedTuple):
    """A loss ``u(r)``, and its derivative, of a value r; s is the parameter of the ramp."""

    formula: str
    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any]


def _ramp(r: Any, s: Any) -> Any:
    return hinge(r) - np.maximum(0, s - r)


def _ramp_slope(r: Any, s: Any) -> Any:
    return np.where((r >= s) & (r < 1), -1, 0)


UNLABELED_LOSSES = {
    "shg": UnlabeledLoss(
        "max(0, 1 - |r|)",
        lambda r, s: hinge(np.abs(r)),
        lambda r, s: np.where(np.abs(r) < 1, -np.sign(r), 0),
    ),
    "sshg": UnlabeledLoss(
        "1/2 max(0, 1 - |r|)^2",
        lambda r, s: hinge(np.abs(r)) ** 2 / 2,
        lambda r, s: -np.sign(r) * hinge(np.abs(r)),
    ),
    "ramp": UnlabeledLoss(
        "R(r) + R(-r), R(z) = max(0, 1 - z) - max(0, s - z)",
        lambda r, s: _ramp(r, s) + _ramp(-r, s),
        lambda r, s: _ramp_slope(r, s) - _ramp_slope(-r, s),
    ),
    "da": UnlabeledLoss(
        "exp(-5 r^2)", lambda r, s: np.exp(-5 * r**2), lambda r, s: -10 * r * np.exp(-5 * r**2)
    ),
}
"""Losses of unlabelled rows, by name (Table 2 of Geng et al., for both signs of r)."""


@dataclass(frozen=True, eq=False)
class _Margin(Loss):
    """``C mean_labelled + C* mean_unlabelled``.

    Attributes
    ----------
    C, C_star : float
        Weights of the two means.
    full_from : float
        Iteration from which the weight is C*; in an earlier one t it is ``C* (t/full_from)^3``.
    """

    C: Any
    C_star: Any
    full_from: Any = 0.0

    @cached_property
    def _single(self) -> tuple[Single, Single]:
        with np.errstate(over="ignore"):  # a weight that overflows makes its model diverge
            return np.asarray(self.C, np.float32), np.asarray(self.C_star, np.float32)

    def _weights(self, t: float) -> tuple[Single, Single]:
        """Return C, and the weights of the unlabelled rows in iteration t."""
        (C, C_star), growing = self._single, t < self.full_from
        if not growing.any():
            return C, C_star
        share = np.divide(t, self.full_from, out=np.ones(len(growing)), where=growing)
        return C, C_star * (share**3).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Margin(_Margin):
    """``C mean_labelled hinge(y f) + C* mean_unlabelled u(f)``, for stochastic steps.

    Batches are drawn by class, and weighted by the share of their class. With ``balance``, all
    losses are taken at ``f + b``, where the offset b gives the unlabelled rows the mean of the
    labels; in a batch the mean is over its own unlabelled rows.
    """

    loss: Any = "shg"
    ramp_s: Any = 0.0
    balance: Any = False

    @cached_property
    def _share(self) -> Array:
        return self.counts[:, 0] / self.counts.sum(axis=1)

    def slopes(self, values: Values, t: int) -> list[Single]:
        """Return the slopes; NaN at values that are not finite: a diverged model stays invalid."""
        f_p, f_n, f_u = self._balanced(values)
        share, (C, C_star) = self._share.astype(np.float32), self._weights(t)
        c_p = np.where(f_p < 1, -C * (share / len(f_p)), 0)
        c_n = np.where(f_n > -1, C * ((1 - share) / len(f_n)), 0)
        c_u = self._unlabeled("slope", f_u) * (C_star / len(f_u))
        if self.balance.any():  # every unlabelled value changes the offset, and so all losses
            total = sum(c.sum(axis=0) for c in (c_p, c_n, c_u))
            c_u = c_u - np.where(self.balance, total / len(f_u), 0)
        return [
            np.where(np.isfinite(f), c, np.nan).astype(np.float32, copy=False)
            for f, c in zip(values, (c_p, c_n, c_u), strict=True)
        ]

    def value(self, values: Values) -> Array:
        """Return the loss of every model; fitted values include the offset."""
        (f_p, f_n, f_u), (C, C_star) = values, self._weights(np.inf)
        labeled = self._share * hinge(f_p).mean(axis=0)
        labeled = labeled + (1 - self._share) * hinge(-f_n).mean(axis=0)
        return C * labeled + C_star * self._unlabeled("value", f_u).mean(axis=0)

    @property
    def held_mean(self) -> Array:
        """The mean of the labels for a balanced model."""
        return np.where(self.balance, 2 * self._share - 1, np.nan)

    def _balanced(self, values: Values) -> Values:
        if not self.balance.any():
            return values
        f_u = values[2]
        offset = (2 * self._share - 1).astype(f_u.dtype) - f_u.mean(axis=0)
        offset = np.where(self.balance, offset, 0).astype(f_u.dtype)
        return [f + offset for f in values]

    def _unlabeled(self, part: str, f_u: Any) -> Any:
        out = np.empty_like(f_u)
        s = np.asarray(self.ramp_s, np.float32)
        for name in set(self.loss.tolist()):
            models = np.flatnonzero(self.loss == name)
            out[:, models] = getattr(UNLABELED_LOSSES[name], part)(f_u[:, models], s[models])
        return out


@dataclass(frozen=True, eq=False)
class RoundedMargin(_Margin):
    """``C mean_labelled h(y f) + C* mean_unlabelled h(|f|)``, bounded by quadratics, for sweeps.

    h is the hinge with a parabola within `KINK_ROUNDING` of its kink; it is above the hinge by at
    most ``KINK_ROUNDING/4``. ``h(|f|) <= h(s f)`` for s = -1 or 1, with equality where s is the
    sign of f: an unlabelled row counts as labelled by its current sign. At f = 0 the bound is ``1 +
    f^2/4``.
    """

    def slopes(self, values: Values, t: int) -> list[Single]:
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values, t)
        return [C * _slope(f_p), -C * _slope(-f_n), C_star * np.sign(f_u) * _slope(np.abs(f_u))]

    def curvatures(self, values: Values, t: int) -> list[Single]:
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values, t)
        return [C * _curvature(f_p), C * _curvature(-f_n), C_star * _curvature(np.abs(f_u))]

    def value(self, values: Values) -> Array:
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values, np.inf)
        labeled = _rounded(f_p).sum(axis=0) + _rounded(-f_n).sum(axis=0)
        return C * labeled + C_star * _rounded(np.abs(f_u)).sum(axis=0)

    def _per_row(self, values: Values, t: float) -> tuple[Single, Single]:
        (f_p, f_n, f_u), (C, C_star) = values, self._weights(t)
        return C / np.float32(len(f_p) + len(f_n)), C_star / np.float32(len(f_u))


def _rounded(z: Any) -> Any:
    u = 1 - z
    parabola = (u + KINK_ROUNDING) ** 2 / (4 * KINK_ROUNDING)
    return np.where(np.abs(u) < KINK_ROUNDING, parabola, hinge(z))


def _slope(z: Any) -> Any:
    """Return the derivative of `_rounded`, exactly 0 beyond the margin."""
    u = 1 - z
    a = np.maximum(np.abs(u), KINK_ROUNDING)
    return -(u + a) / (2 * a)


def _curvature(z: Any) -> Any:
    """Return the second derivative of the quadratic that bounds `_rounded` and touches it at z."""
    return 1 / (2 * np.maximum(np.abs(1 - z), KINK_ROUNDING))

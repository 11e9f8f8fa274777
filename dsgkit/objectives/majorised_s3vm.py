"""The S3VM's losses, bounded from above by quadratics at the current values.

The objective is that of `dsgkit.objectives.s3vm` with the symmetric hinge ``u(f) = hinge(|f|)``.

- *The hinge.* With ``u = 1 - z`` and any ``a > 0``, ``|u| <= u^2/(2a) + a/2``, so that

      hinge(z) = (u + |u|)/2 <= u/2 + u^2/(4a) + a/4,

  with equality at ``|u| = a`` (Groenen, Nalbantov & Bioch, 2008). ``a`` is ``|u|`` at the current
  value, but at least `KINK_ROUNDING`: else the weights of values at their margin would grow without
  bound and hold them there. This minimises `rounded`, the hinge with its kink rounded off, which is
  above the hinge by at most ``KINK_ROUNDING/4``.
- *Unlabelled rows.* ``hinge(|f|) <= hinge(s f)`` for s = -1 or 1, with equality where s is the sign
  of f: a row is treated as labelled by its current sign (the tangent of the concave part). At
  f = 0, which has no sign, the bound is ``1 + f^2/4``, with derivative 0.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from dsgkit.linalg import Single
from dsgkit.objectives.s3vm import Values, annealed, hinge

KINK_ROUNDING = 0.25
"""Distance from its kink within which the hinge is rounded."""


def rounded(z: Any) -> Any:
    """Return the hinge of margins z, with a parabola where ``|1 - z| < KINK_ROUNDING``."""
    u = 1 - z
    return np.where(
        np.abs(u) < KINK_ROUNDING, (u + KINK_ROUNDING) ** 2 / (4 * KINK_ROUNDING), hinge(z)
    )


def _slope(z: Any) -> Any:
    """Return the derivative of `rounded`, exactly 0 beyond the margin."""
    u = 1 - z
    a = np.maximum(np.abs(u), KINK_ROUNDING)
    return -(u + a) / (2 * a)


def _curvature(z: Any) -> Any:
    """Return the second derivative of the quadratic that bounds `rounded` and touches it at z."""
    return 1 / (2 * np.maximum(np.abs(1 - z), KINK_ROUNDING))


class MajorisedS3VMObjective:
    """The loss part of the objective for models that differ in C and C*.

    Sources: positive, negative and unlabelled rows, in this order. A batch holds all labelled rows.

    Parameters
    ----------
    C, C_star : array-like of shape (G,)
        Weights of the mean labelled and of the mean unlabelled loss.
    full_from : array-like of shape (G,)
        Step from which the weight is C*; in an earlier step t it is ``C* (t / full_from)^3``. 0
        disables annealing.
    """

    def __init__(self, C: Values, C_star: Values, full_from: Values) -> None:
        with np.errstate(over="ignore"):  # a weight that overflows makes its model diverge
            self.C = np.asarray(C, np.float32)
            self.C_star = np.asarray(C_star, np.float32)
        self.full_from = np.asarray(full_from)

    def at(self, t: int) -> MajorisedS3VMObjective:
        """Return the objective of the 1-based step t, without annealing."""
        objective = copy(self)
        objective.C_star = annealed(self.C_star, self.full_from, t)
        objective.full_from = np.zeros(len(self.C))
        return objective

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the batch's loss with respect to each row's value."""
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values)
        return [C * _slope(f_p), -C * _slope(-f_n), C_star * np.sign(f_u) * _slope(np.abs(f_u))]

    def weights(self, values: list[Single]) -> list[Single]:
        """Return the second derivative of the batch's bound with respect to each row's value."""
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values)
        return [C * _curvature(f_p), C * _curvature(-f_n), C_star * _curvature(np.abs(f_u))]

    def batch_loss(self, values: list[Values]) -> Values:
        """Return the mean loss of a batch, shape (G,); `coefficients` are its derivatives."""
        f_p, f_n, f_u = values
        C, C_star = self._per_row(values)
        labeled = rounded(f_p).sum(axis=0) + rounded(-f_n).sum(axis=0)
        loss: Values = C * labeled + C_star * rounded(np.abs(f_u)).sum(axis=0)
        return loss

    def take(self, models: slice) -> MajorisedS3VMObjective:
        """Return the objective of some of the models."""
        return MajorisedS3VMObjective(self.C[models], self.C_star[models], self.full_from[models])

    def _per_row(self, values: list[Any]) -> tuple[Any, Any]:
        """Return the weight of a labelled and of an unlabelled row."""
        f_p, f_n, f_u = values
        return self.C / np.float32(len(f_p) + len(f_n)), self.C_star / np.float32(len(f_u))

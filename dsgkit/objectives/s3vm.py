"""Semi-supervised SVM: hinge loss of labelled rows, and a loss of unlabelled rows near 0.

``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled u(f(x))`` with
``hinge(z) = max(0, 1 - z)`` (Geng et al., IJCAI 2019, Eq. 1). The loss ``u`` is even, and large
where ``f`` is near 0: decision boundaries that pass between the unlabelled rows cost least.

Two measures can keep unlabelled rows from all ending on one side. *Annealing* lets C* grow from 0,
so that labelled rows dominate at first (as in Joachims, ICML 1999). The *balance* takes all losses
at ``f + b`` with the offset ``b = mean y - mean_u f``: the mean value over the unlabelled rows is
that of the labels (Collobert et al., JMLR 2006). In a batch, the mean is over its own unlabelled
rows, so that each of their coefficients depends on all their values.

At kinks, the derivative of ``H_a(r) = max(0, a - r)`` is 0 at ``r = a``, and ``sign(0) = 0``: the
mean of drawing -1 or +1. Every unlabelled row starts at ``f = 0``. With ``sign(0) = +1``, all of
them are pushed to the positive side before the labelled rows take effect, and iterations can end in
a far worse minimum: on the moons of the tests 33, where the concave-convex procedure and
``sign(0) = 0`` find 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Single

Values = NDArray[np.floating]


@dataclass(frozen=True)
class UnlabeledLoss:
    """A loss ``u(r)`` of an unlabelled row's value r.

    Attributes
    ----------
    value, derivative : callable
        Functions of r and the parameter s of the ramp, which the other losses ignore.
    """

    name: str
    formula: str
    value: Callable[[Any, Any], Any]
    derivative: Callable[[Any, Any], Any]


def hinge(z: Any) -> Any:
    """Return ``max(0, 1 - z)`` of margins ``z = y f(x)``."""
    return np.maximum(0, 1 - z)


def _shg_derivative(r: Any, s: Any) -> Any:
    return np.where(np.abs(r) < 1, -np.sign(r), 0)


def _sshg_derivative(r: Any, s: Any) -> Any:
    return -np.sign(r) * hinge(np.abs(r))


def _ramp(r: Any, s: Any) -> Any:
    return hinge(r) - np.maximum(0, s - r)


def _ramp_slope(r: Any, s: Any) -> Any:
    """Return the derivative of the ramp, -1 in s..1: ``H_a'(r)`` is -1 where ``r < a``, else 0."""
    return np.where((r >= s) & (r < 1), -1, 0)


UNLABELED_LOSSES = {
    loss.name: loss
    for loss in (
        UnlabeledLoss("shg", "max(0, 1 - |r|)", lambda r, s: hinge(np.abs(r)), _shg_derivative),
        UnlabeledLoss(
            "sshg",
            "1/2 max(0, 1 - |r|)^2",
            lambda r, s: hinge(np.abs(r)) ** 2 / 2,
            _sshg_derivative,
        ),
        UnlabeledLoss(
            "ramp",
            "R(r) + R(-r), R(z) = max(0, 1 - z) - max(0, s - z)",
            lambda r, s: _ramp(r, s) + _ramp(-r, s),
            lambda r, s: _ramp_slope(r, s) - _ramp_slope(-r, s),
        ),
        UnlabeledLoss(
            "da",
            "exp(-5 r^2)",
            lambda r, s: np.exp(-5 * r**2),
            lambda r, s: -10 * r * np.exp(-5 * r**2),
        ),
    )
}
"""Losses of unlabelled rows, by name (Table 2 of the paper, for both signs of r)."""


def annealed(C_star: Single, full_from: Values, t: int) -> Single:
    """Return each model's weight of the unlabelled rows in the 1-based iteration t.

    It is ``C* (t / full_from)^3`` before iteration ``full_from``, then C*.
    """
    growing = t < full_from
    if not growing.any():
        return C_star
    share = np.divide(t, full_from, out=np.ones(len(growing)), where=growing)
    return C_star * (share**3).astype(np.float32)


class S3VMObjective:
    """The loss part of ``R`` for models that differ in C, C* and the loss of unlabelled rows.

    Sources: positive, negative and unlabelled rows, in this order. Labelled rows are drawn by
    class, and weighted by the share of their class: the expectation is the mean over all of them.

    Parameters
    ----------
    C, C_star : array-like of shape (G,)
        Weights of the mean labelled and of the mean unlabelled loss.
    positive_share : float or array-like of shape (G,)
        Positive rows over labelled rows.
    loss : sequence of str, length G
        Names in `UNLABELED_LOSSES`.
    ramp_s : array-like of shape (G,)
        Parameter s of the ramp.
    full_from : array-like of shape (G,), optional
        Iteration from which the weight is C*, see `annealed`. 0, the default, disables annealing.
    balance : array-like of bool, shape (G,), optional
        Whether the losses are taken at ``f + b``; by default false.
    """

    def __init__(
        self,
        C: Values,
        C_star: Values,
        positive_share: float | Values,
        loss: Sequence[str],
        ramp_s: Values,
        full_from: Values | None = None,
        balance: NDArray[np.bool_] | None = None,
    ) -> None:
        with np.errstate(over="ignore"):  # a weight that overflows makes its model diverge
            self.C = np.asarray(C, np.float32)
            self.C_star = np.asarray(C_star, np.float32)
        self.positive_share = np.broadcast_to(positive_share, self.C.shape).astype(np.float64)
        self.loss = list(loss)
        self.ramp_s = np.asarray(ramp_s, np.float32)
        n_models = len(self.C)
        self.full_from = np.zeros(n_models) if full_from is None else np.asarray(full_from)
        self.balance = np.zeros(n_models, bool) if balance is None else np.asarray(balance)
        names = np.array(self.loss)
        self._columns = {name: np.flatnonzero(names == name) for name in set(self.loss)}

    def at(self, t: int) -> S3VMObjective:
        """Return the objective of the 1-based iteration t."""
        objective = copy(self)
        objective.C_star = annealed(self.C_star, self.full_from, t)
        return objective

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the batch's mean loss with respect to each drawn row's value.

        It is NaN where a value is not finite, not the 0 of a row beyond its margin: a model that
        overflowed must stay invalid, even after the block in which it did has been dropped.
        """
        f_p, f_n, f_u = self._balanced(values)
        share = self.positive_share.astype(np.float32)
        c_p = np.where(f_p < 1, -self.C * (share / len(f_p)), 0)
        c_n = np.where(f_n > -1, self.C * ((1 - share) / len(f_n)), 0)
        c_u = self._unlabeled("derivative", f_u) * (self.C_star / len(f_u))
        if self.balance.any():  # every unlabelled value changes the offset, and so all losses
            total = sum(c.sum(axis=0) for c in (c_p, c_n, c_u))
            c_u = c_u - np.where(self.balance, total / len(f_u), 0)
        return [
            np.where(np.isfinite(f), c, np.nan).astype(np.float32, copy=False)
            for f, c in zip(values, (c_p, c_n, c_u), strict=True)
        ]

    def batch_loss(self, values: list[Values]) -> Values:
        """Return the mean loss of a batch, shape (G,); `coefficients` are its derivatives."""
        f_p, f_n, f_u = self._balanced(values)
        share = self.positive_share
        labeled = share * hinge(f_p).mean(axis=0) + (1 - share) * hinge(-f_n).mean(axis=0)
        return self.C * labeled + self.C_star * self._unlabeled("value", f_u).mean(axis=0)

    def take(self, models: slice) -> S3VMObjective:
        """Return the objective of some of the models."""
        return S3VMObjective(
            self.C[models],
            self.C_star[models],
            self.positive_share[models],
            self.loss[models],
            self.ramp_s[models],
            self.full_from[models],
            self.balance[models],
        )

    def _balanced(self, values: list[Any]) -> list[Any]:
        """Add the offset b to the values of balanced models."""
        if not self.balance.any():
            return values
        mean = (2 * self.positive_share - 1).astype(values[2].dtype)
        offset = mean - values[2].mean(axis=0)
        offset = np.where(self.balance, offset, 0).astype(values[2].dtype)
        return [f + offset for f in values]

    def _unlabeled(self, method: str, f_u: Values) -> Any:
        """Return each model's loss of unlabelled rows, or its derivative, by column."""
        out = np.empty_like(f_u)
        for name, columns in self._columns.items():
            function = getattr(UNLABELED_LOSSES[name], method)
            out[:, columns] = function(f_u[:, columns], self.ramp_s[columns])
        return out

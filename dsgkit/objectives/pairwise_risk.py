"""Pairwise squared AUC risks as quadratic forms.

Let z be the values of f at the labelled rows of k classes and at the unlabelled rows (u). The mean
of ``(1 - f(a) + f(b))^2`` over all pairs of a class a and a class b is ``z'M z - 2 v'z + 1`` with
``M = diag(w_a) + diag(w_b) - w_a w_b' - w_b w_a'`` and ``v = w_a - w_b``, where w_a is 1/n_a at the
rows of class a and 0 elsewhere. Every risk here is a linear combination of such means:

    M = diag(W d) + W S W',   v = W q,   W = [w_0, .., w_{k-1}, w_u].

Of two classes, the positive one comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dsgkit.linalg import Array

POSITIVE, NEGATIVE = range(2)
"""Codes of two classes."""


@dataclass(frozen=True, eq=False)
class PairwiseRisk:
    """The quadratic form of a combination of pairwise risks, in class coordinates.

    Attributes
    ----------
    diagonal : ndarray of shape (n_classes + 1,)
        d of ``diag(W d)``; the unlabelled rows come last.
    cross : ndarray of shape (n_classes + 1, n_classes + 1)
        S of ``W S W'``, symmetric.
    linear : ndarray of shape (n_classes + 1,)
        q of ``v = W q``.
    constant : float
        The risk of f = 0.
    """

    diagonal: Array
    cross: Array
    linear: Array
    constant: float = 0.0

    def __add__(self, other: PairwiseRisk) -> PairwiseRisk:
        return PairwiseRisk(
            self.diagonal + other.diagonal,
            self.cross + other.cross,
            self.linear + other.linear,
            self.constant + other.constant,
        )

    def __rmul__(self, factor: float) -> PairwiseRisk:
        return PairwiseRisk(
            factor * self.diagonal,
            factor * self.cross,
            factor * self.linear,
            factor * self.constant,
        )

    def value(self, values: Sequence[Array]) -> float:
        """Return the risk of a function.

        Parameters
        ----------
        values : sequence of ndarray of float64
            Its values at the rows of each class and at the unlabelled rows; empty is allowed for
            rows without a weight in the risk.
        """
        n = [max(1, len(z)) for z in values]
        means = np.array([z.sum() for z in values]) / n
        squares = np.array([z @ z for z in values]) / n
        quadratic = self.diagonal @ squares + means @ self.cross @ means
        return float(quadratic - 2 * self.linear @ means + self.constant)

    @property
    def n_classes(self) -> int:
        """The number of classes, whether or not they all have rows."""
        return len(self.linear) - 1

    @property
    def convex(self) -> bool:
        """Whether M is positive semi-definite for any rows.

        ``z'M z`` is the variances within the classes weighted by d, plus squared differences of
        class means; so d >= 0 is sufficient.
        """
        return bool((self.diagonal >= 0).all())


def pair_risk(a: Array, b: Array) -> PairwiseRisk:
    """Return the risk of ranking one set of rows above another.

    Parameters
    ----------
    a, b : ndarray of shape (n_classes + 1,)
        Shares of the classes in each set; a row of the identity for a single class.
    """
    return PairwiseRisk(a + b, -np.outer(a, b) - np.outer(b, a), a - b, 1.0)


def samult_risk(gamma: float) -> PairwiseRisk:
    """Return ``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``."""
    p, n, u = np.eye(3)
    risk = gamma * pair_risk(p, n) + (1 - gamma) * (pair_risk(p, u) + pair_risk(u, n))
    return replace(risk, constant=risk.constant - (1 - gamma) / 2)


def pnu_risk(eta: float, prior: float) -> PairwiseRisk:
    """Return ``(1 - eta) R_PN + eta R_PU``, or ``(1 + eta) R_PN - eta R_NU`` for ``eta < 0``.

    R_PU and R_NU are unbiased for the supervised risk if ``prior`` is the share of positives among
    the unlabelled rows. This subtracts the risk of positives against positives (or negatives
    against negatives), which can make the form indefinite.
    """
    p, n, u = np.eye(3)
    if eta >= 0:
        within = -prior * pair_risk(p, p)
        corrected = 1 / (1 - prior) * (pair_risk(p, u) + within)
    else:
        within = -(1 - prior) * pair_risk(n, n)
        corrected = 1 / prior * (pair_risk(u, n) + within)
    return (1 - abs(eta)) * pair_risk(p, n) + abs(eta) * corrected

"""Losses of G models, and those that are quadratic forms in the values of some sources.

A *source* is a set of rows: those of a class, or the unlabelled ones, which come last. Let z be the
values at all rows, w_k the vector of 1/n_k at the n_k rows of source k and 0 elsewhere, and ``W =
[w_0, .., w_u]``. The mean of ``(1 - f(a) + f(b))^2`` over all pairs of rows of sources a and b is
``z'M z - 2 v'z + 1`` with ``M = diag(w_a) + diag(w_b) - w_a w_b' - w_b w_a'`` and ``v = w_a -
w_b``. A `Form` is a linear combination of such means: ``M = diag(W d) + W S W'``, ``v = W q``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.linalg import Array, Single
from dsgkit.system.jit import exact

Values = Sequence[NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Form:
    """The quadratic forms of G models, in the coordinates of k sources.

    Attributes
    ----------
    diagonal, linear : ndarray of shape (G, k)
        d and q.
    cross : ndarray of shape (G, k, k)
        S, symmetric.
    constant : ndarray of shape (G,)
        The risk of f = 0.
    """

    diagonal: Array
    cross: Array
    linear: Array
    constant: Any = 0.0
    __array_ufunc__: ClassVar[None] = None  # arrays of factors leave ``*`` to `__rmul__`

    def __add__(self, other: Form) -> Form:
        return Form(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    def __rmul__(self, factor: Any) -> Form:
        return Form(*(np.multiply.outer(factor, part) for part in vars(self).values()))

    def slopes(self, values: Values) -> list[Single]:
        """Return ``2 (M z - v)``, the derivative with respect to each value; see `Loss.slopes`."""
        counts = [max(1, len(f)) for f in values]
        means = [f.sum(axis=0, dtype=np.float64) / n for f, n in zip(values, counts, strict=True)]
        constants = np.einsum("gkl,lg->kg", self.cross, np.array(means)) - self.linear.T
        return [
            (2 / n * (d * f + constant)).astype(np.float32)
            for f, n, d, constant in zip(values, counts, self.diagonal.T, constants, strict=True)
        ]

    def value(self, values: Values) -> Array:
        """Return the risks; a source without a weight may be empty."""
        counts = np.array([[max(1, len(z))] for z in values])
        means = np.array([z.sum(axis=0, dtype=np.float64) for z in values]) / counts
        squares = np.array([(z * z).sum(axis=0, dtype=np.float64) for z in values]) / counts
        quadratic = np.einsum("gk,kg->g", self.diagonal, squares)
        quadratic += np.einsum("kg,gkl,lg->g", means, self.cross, means)
        return quadratic - 2 * np.einsum("gk,kg->g", self.linear, means) + self.constant


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss of the values of G models at batches of rows.

    An estimator states the loss of its own model with numbers as fields; a `Problem` stacks these
    to arrays over models. A subclass defines `form`, or `slopes` and, for sweeps, `curvatures`.

    Attributes
    ----------
    counts : ndarray of int, shape (G, n_sources)
        Labelled training rows of each source.
    descending : bool
        Whether stochastic batches are drawn from the last labelled source to the first.
    """

    counts: Any = field(default=None, kw_only=True)
    descending: ClassVar[bool] = False

    @property
    def form(self) -> Form | None:
        """The quadratic forms; None if the loss is not quadratic."""
        return None

    def slopes(self, values: Values, t: int) -> list[Single]:
        """Return the derivative of the batch's loss with respect to each value.

        Parameters
        ----------
        values : sequence of ndarray of float32, shape (n_k, G)
            Values at the batch of each source.
        t : int
            Iteration, from 1.
        """
        assert self.form is not None
        return self.form.slopes(values)

    def tuple_slopes(self, values: Values, t: int) -> list[Single]:
        """Return the slopes if the i-th rows of all batches form a tuple; by default `slopes`."""
        return self.slopes(values, t)

    def curvatures(self, values: Values, t: int) -> list[Single] | None:
        """Return second derivatives, >= 0, of a quadratic that bounds and touches the loss."""
        return None

    def value(self, values: Values) -> Array:
        """Return the loss of every model at values of all training rows."""
        assert self.form is not None
        return self.form.value(values)

    @property
    def held_mean(self) -> Array:
        """The mean value over unlabelled rows that each model must have; NaN for none."""
        return np.full(len(self.counts), np.nan)


def source_weights(codes: NDArray[np.integer], n_sources: int) -> Array:
    """Return the columns of W for the source of each row; that of a source without rows is 0."""
    member = np.eye(n_sources)[codes]
    weights: Array = member / np.maximum(member.sum(axis=0), 1)
    return weights


def pair(a: Array, b: Array) -> Form:
    """Return the form of ranking the rows of shares ``a`` of the sources above those of ``b``."""
    return Form(a + b, -np.outer(a, b) - np.outer(b, a), a - b, 1.0)


@dataclass(frozen=True, eq=False)
class SemiSupervisedAUC(Loss):
    """``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``; sources are positive and negative rows."""

    gamma: Any

    @cached_property
    def form(self) -> Form:
        p, n, u = np.eye(3)
        form = self.gamma * pair(p, n) + (1 - self.gamma) * (pair(p, u) + pair(u, n))
        return replace(form, constant=form.constant - (1 - self.gamma) / 2)

    def tuple_slopes(self, values: Values, t: int) -> list[Single]:
        """Return the slopes of triplets: the ordinal loss with one cut."""
        return _of_tuples(values, *self._tuples)

    @cached_property
    def _tuples(self) -> tuple[Single, Single, Single]:
        gamma = np.asarray(self.gamma, np.float32)[None]
        return np.ones((1, 2, gamma.shape[1]), np.float32), np.ones_like(gamma), gamma


@dataclass(frozen=True, eq=False)
class PriorAUC(Loss):
    """``(1 - eta) R_PN + eta R_PU``, or ``(1 + eta) R_PN - eta R_NU`` for ``eta < 0``.

    R_PU and R_NU are unbiased for the supervised risk if ``prior`` is the share of positives among
    the unlabelled rows. This subtracts the risk of positives against positives (or negatives
    against negatives), which can make the form indefinite.
    """

    eta: Any
    prior: Any

    @cached_property
    def form(self) -> Form:
        p, n, u = np.eye(3)
        eta, prior = np.asarray(self.eta), np.asarray(self.prior)
        share_p, share_n = np.maximum(eta, 0) / (1 - prior), np.maximum(-eta, 0) / prior
        positive = share_p * pair(p, u) + -share_p * prior * pair(p, p)
        negative = share_n * pair(u, n) + -share_n * (1 - prior) * pair(n, n)
        return (1 - abs(eta)) * pair(p, n) + positive + negative


@dataclass(frozen=True, eq=False)
class SquaredLoss(Loss):
    """``mean (t f - 1)^2/4``, t being 1 and -1, if all labelled rows are the unlabelled ones too.

    The squares are those of the unlabelled rows, so that the classes enter by their means.
    """

    @cached_property
    def form(self) -> Form:
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        G = len(shares)
        linear = np.column_stack([shares * [1, -1], np.zeros(G)]) / 4
        return Form(np.tile([0, 0, 0.25], (G, 1)), np.zeros((G, 3, 3)), linear, np.full(G, 0.25))


@dataclass(frozen=True, eq=False)
class OnCuts(Loss):
    """A loss of two classes for each of the cuts between k classes.

    Its forms are those of G (k - 1) functions. A cut without rows on one side has the loss of the
    nearest cut that has both, of two the lower one.

    Attributes
    ----------
    binary : sequence of Loss
        The losses of the cuts.
    """

    binary: Any

    @cached_property
    def form(self) -> Form:
        return _stacked(
            _at_cut(losses, counts, cut)
            for losses, counts in zip(self.binary, self.counts, strict=True)
            for cut in range(len(losses))
        )

    def value(self, values: Values) -> Array:
        """Return the mean of the losses of each model's functions."""
        columns = [f.reshape(len(f), -1) for f in values]
        return self.form.value(columns).reshape(len(self.counts), -1).mean(axis=1)


def _stacked(forms: Iterable[Form]) -> Form:
    return Form(*map(np.array, zip(*(vars(form).values() for form in forms), strict=True)))


def _at_cut(losses: Sequence[Any], counts: NDArray[np.integer], cut: int) -> Form:
    """Return the form of a cut: shares T carry a form of two classes to k."""
    k = len(counts)
    kept = np.flatnonzero(open_cuts(counts))
    used = int(kept[np.argmin(abs(kept - cut))])
    above = np.arange(k) > used
    T = np.zeros((k + 1, 3))
    T[:k, 0], T[:k, 1], T[k, 2] = counts * above, counts * ~above, 1
    T /= T.sum(axis=0)
    form = losses[used].form
    return Form(T @ form.diagonal, T @ form.cross @ T.T, T @ form.linear, form.constant)


@dataclass(frozen=True, eq=False)
class OrdinalAUC(Loss):
    """The mean over the cuts of ``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``.

    Sources are the k classes in ascending order. Those on either side of a cut are pooled in
    proportion to their rows; a cut with an empty side is left out of the mean.

    Attributes
    ----------
    gamma : ndarray of shape (k - 1,), stacked (G, k - 1)
    """

    gamma: Any
    descending: ClassVar[bool] = True

    @cached_property
    def form(self) -> Form:
        forms = []
        for gamma, counts in zip(self.gamma, self.counts, strict=True):
            losses = list(map(SemiSupervisedAUC, gamma))
            cuts = np.flatnonzero(open_cuts(counts)).tolist()
            if not cuts:
                raise DataError("labels must hold two classes outside of every fold")
            of_cuts = (_at_cut(losses, counts, cut) for cut in cuts)
            forms.append(1 / len(cuts) * functools.reduce(operator.add, of_cuts))
        return _stacked(forms)

    def tuple_slopes(self, values: Values, t: int) -> list[Single]:
        """Return the slopes of tuples of a row of each class, the highest first, and of U.

        In every cut, each row is paired with those of the other side and with the unlabelled one,
        weighted by the share of its class in its side.
        """
        return _of_tuples(values, *self._tuples)

    @cached_property
    def _tuples(self) -> tuple[Single, Single, Single]:
        """Share of each source in its side of each cut, and weight and gamma of each cut."""
        k = self.counts.shape[1]
        used = open_cuts(self.counts)
        n = self.counts[:, ::-1].T.astype(np.float64)
        share = np.zeros((k - 1, k, len(self.counts)))
        for j in range(k - 1):
            for side in (slice(0, k - 1 - j), slice(k - 1 - j, k)):
                share[j, side] = n[side] / np.maximum(n[side].sum(axis=0), 1)
        weight = used / used.sum(axis=1, keepdims=True)
        weight, gamma = (
            np.ascontiguousarray(table.T, np.float32) for table in (weight, self.gamma)
        )
        return share.astype(np.float32), weight, gamma


def open_cuts(counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which cuts have rows on both sides, for rows of each class in ascending order."""
    below = counts.cumsum(axis=-1)[..., :-1]
    return (below > 0) & (below < counts.sum(axis=-1, keepdims=True))


def _of_tuples(values: Values, share: Single, weight: Single, gamma: Single) -> list[Single]:
    stacked = np.stack(values)
    _tuple_slopes(stacked, share, weight, gamma)
    return list(stacked)


@exact  # without contraction: with two classes, the bits of the binary objective
def _tuple_slopes(f: Single, share: Single, weight: Single, gamma: Single) -> None:
    """Replace the stacked values of each source, the highest class first, by their slopes."""
    k, n_models = f.shape[0] - 1, f.shape[2]
    one, two, b = np.float32(1.0), np.float32(2.0), np.float32(f.shape[1])
    labeled, rest = two * gamma, two * (one - gamma) / b
    P, N = np.empty(n_models, np.float32), np.empty(n_models, np.float32)
    c = np.empty((k + 1, n_models), np.float32)
    for i in range(f.shape[1]):
        u = f[k, i]
        c[:] = 0
        for j in range(k - 1):
            n_above = k - 1 - j
            P[:] = 0
            N[:] = 0
            for s in range(k):
                mean = P if s < n_above else N
                for g in range(n_models):
                    mean[g] += share[j, s, g] * f[s, i, g]
            for s in range(k):
                own, side = f[s, i], -one if s < n_above else one
                high, low, high_u, low_u = (own, N, own, u) if s < n_above else (P, own, u, own)
                for g in range(n_models):
                    pn = labeled[j, g] * (one - high[g] + low[g]) / b
                    with_u = rest[j, g] * (one - high_u[g] + low_u[g])
                    c[s, g] += side * weight[j, g] * share[j, s, g] * (pn + with_u)
            for g in range(n_models):
                pu, un = rest[j, g] * (one - P[g] + u[g]), rest[j, g] * (one - u[g] + N[g])
                c[k, g] += weight[j, g] * (pu - un)
        for s in range(k + 1):  # as a slice, it takes 2 s to compile
            for g in range(n_models):
                f[s, i, g] = c[s, g]


def above_cuts(codes: NDArray[np.integer], n_classes: int) -> NDArray[np.bool_]:
    """Return which rows are above each cut, shape (n, n_classes - 1)."""
    return codes[:, None] > np.arange(n_classes - 1)


def for_cuts(name: str, value: Any, n_cuts: int) -> tuple[Any, ...]:
    """Return the value of a parameter for every cut; a single number is used for all."""
    if not isinstance(value, list | tuple | np.ndarray):
        return (value,) * n_cuts
    if len(value) != n_cuts:
        raise DataError(
            f"{name} must be one number, or one for each of the {n_cuts} cuts between the "
            f"{n_cuts + 1} classes, got {len(value)}"
        )
    return tuple(value)

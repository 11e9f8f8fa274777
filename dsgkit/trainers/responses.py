"""Minimisers of pairwise quadratic risks for all points of a grid.

The risks are those of `dsgkit.objectives.pairwise_risk`: quadratic forms M, v of the values z. With
features Phi (f = Phi w) and a penalty ``l ||w||^2`` the minimiser solves
``(l I + Phi'M Phi) w = Phi'v``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dsgkit.errors import DataError, FitError, IndefiniteError
from dsgkit.linalg import EIGH_FLOPS, Array, eigh, solve_penalised, training_rows
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.system.machine import single_blas_thread

Codes = NDArray[np.integer]

SINGULAR_SYSTEM = "the system is singular to rounding; take a larger lam"

CANCELLING_PENALTY = 2.0**-15
"""Penalty below which cancellation costs a kernel's response six digits."""


def cholesky(matrix: Array, risk: PairwiseRisk) -> tuple[Array, bool]:
    """Return the Cholesky factor of a risk's matrix for `scipy.linalg.cho_solve`, in place.

    Parameters
    ----------
    matrix : ndarray
        Lower triangle, Fortran-contiguous; overwritten.
    risk : PairwiseRisk

    Raises
    ------
    IndefiniteError
        If the risk has no minimum.
    FitError
        If the matrix is singular to rounding.
    """
    try:
        return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        if risk.convex:
            raise FitError(SINGULAR_SYSTEM) from None
        raise IndefiniteError(
            "the quadratic risk has no minimum: eta > 0 suits a prior of at most 1/2, eta < 0 one"
            " of at least 1/2; take eta nearer to 0 or a larger lam"
        ) from None


def label_weights(codes: Codes, n_classes: int) -> Array:
    """Return the columns of W of the labelled classes, shape (n_labeled, n_classes).

    Parameters
    ----------
    codes : ndarray of int, shape (n_labeled,)
        Classes, in 0..n_classes-1; the column of a class without rows is 0.
    n_classes : int

    Raises
    ------
    DataError
        If there are several classes, but rows of one only, which form no pairs.
    """
    member = np.eye(n_classes)[codes]
    counts = member.sum(axis=0)
    if np.count_nonzero(counts) < min(2, n_classes):
        both = "both" if n_classes == 2 else "two"
        raise DataError(f"labels must hold {both} classes outside of every fold")
    return member / np.maximum(counts, 1)


class Response(Protocol):
    """``P(l, c) = E (l I + c Phi_u'Phi_u)^-1 E'`` for any l and c.

    E holds the features of all labelled rows and, last, the mean feature of the unlabelled ones.
    """

    def at(self, penalty: float, weight: float) -> Array:
        """Return P for one penalty l and one weight c of an unlabelled row."""


class DualResponse:
    """`Response` of a kernel, from one eigendecomposition of the unlabelled rows' Gram matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_labeled + 1, n_labeled + 1)
        ``E E'``.
    cross : ndarray of shape (n_labeled + 1, n_unlabeled)
        ``E Phi_u'``.
    gram_unlabeled : ndarray of shape (n_unlabeled, n_unlabeled)
        ``Phi_u Phi_u'``, symmetric and C-contiguous; overwritten.
    """

    def __init__(self, gram: Array, cross: Array, gram_unlabeled: Array) -> None:
        self._gram = gram
        self._spectrum, vectors = eigh(gram_unlabeled.T)
        self._cross = cross @ vectors
        self._mean = vectors.mean(axis=0)

    def at(self, penalty: float, weight: float) -> Array:
        """Return P for one penalty and one weight."""
        shrink = weight / (penalty + weight * self._spectrum)
        P = (self._gram - (self._cross * shrink) @ self._cross.T) / penalty
        if penalty < CANCELLING_PENALTY:
            # the mean is in the span of the unlabelled features: its response needs no difference
            P[-1] = P[:, -1] = self._cross @ (self._mean / (penalty + weight * self._spectrum))
        return P


class PrimalResponse:
    """`Response` of explicit features, from one eigendecomposition of ``Phi_u'Phi_u``.

    Parameters
    ----------
    features : ndarray of shape (n_labeled + 1, n_features)
        E.
    gram_unlabeled : ndarray of shape (n_features, n_features)
        Lower triangle of ``Phi_u'Phi_u``, Fortran-contiguous; overwritten.
    """

    def __init__(self, features: Array, gram_unlabeled: Array) -> None:
        self._spectrum, vectors = eigh(gram_unlabeled)
        self._features = features @ vectors

    def at(self, penalty: float, weight: float) -> Array:
        """Return P for one penalty and one weight."""
        return (self._features / (penalty + weight * self._spectrum)) @ self._features.T


def dual_response(
    gram: Array, cross: Array, gram_unlabeled: Array, penalty: float, weight: float
) -> Array:
    """Return `DualResponse.at` from one Cholesky factorisation.

    Raises
    ------
    FitError
        If the system is singular to rounding.
    """
    system = gram_unlabeled
    system *= weight
    solved = solve_penalised(system.T, penalty, cross.T, singular=SINGULAR_SYSTEM)
    P = (gram - weight * (cross @ solved)) / penalty
    P[-1] = P[:, -1] = solved.mean(axis=0)  # as in `DualResponse`
    return P


def primal_response(features: Array, gram_unlabeled: Array, penalty: float, weight: float) -> Array:
    """Return `PrimalResponse.at` from one Cholesky factorisation; see `dual_response`."""
    system = gram_unlabeled
    system *= weight
    return features @ solve_penalised(system, penalty, features.T, singular=SINGULAR_SYSTEM)


def grid_flops(n: int, n_labeled: int, n_models: int) -> float:
    """Return the approximate operations of a grid of models, without building the matrix.

    After an eigendecomposition, each model solves a system of the size of the labelled rows; folds
    share P.
    """
    return EIGH_FLOPS * n**3 + 2 * n_labeled * n**2 + n_models * n_labeled**2 * (n_labeled + n / 2)


def cv_values(
    response: Response,
    codes: Codes,
    n_unlabeled: int,
    folds: Sequence[NDArray[np.integer]],
    risks: Sequence[Sequence[PairwiseRisk]],
    penalties: Sequence[float],
) -> Array:
    """Return out-of-fold values of the labelled rows for every grid point.

    The features act only through P, so each model costs one system of the size of the labelled
    rows.

    Parameters
    ----------
    response : Response
    codes : ndarray of int, shape (n_labeled,)
        Classes of the labelled rows.
    n_unlabeled : int
    folds : sequence of int arrays
    risks : sequence over points of sequences over folds of PairwiseRisk
    penalties : sequence of float
        l of every point.

    Returns
    -------
    ndarray of shape (n_points, n_labeled)
        NaN where the quadratic form is indefinite.
    """
    response_at = functools.lru_cache(maxsize=1)(response.at)
    values = np.full((len(penalties), len(codes)), np.nan)
    # the systems are small: a second BLAS thread gains little
    with single_blas_thread():
        for row, fold_risks, penalty in zip(values, risks, penalties, strict=True):
            for held_out, risk in zip(folds, fold_risks, strict=True):
                P = response_at(penalty, risk.diagonal[-1] / n_unlabeled)
                row[held_out] = _held_out_values(P, codes, held_out, risk)
    return values


def centered_values(
    P: Array, codes: Codes, folds: Sequence[NDArray[np.integer]], risks: Sequence[PairwiseRisk]
) -> Array:
    """Return out-of-fold values of one model, minus each fold's mean on the unlabelled rows.

    Parameters
    ----------
    P : ndarray of shape (n_labeled + 1, n_labeled + 1)
        The response at the penalty and the weight of the risks.
    codes : ndarray of int, shape (n_labeled,)
    folds : sequence of int arrays
    risks : sequence of PairwiseRisk
        Risk of each fold; all have the same weight of the unlabelled rows.

    Returns
    -------
    ndarray of shape (n_labeled,)
    """
    centered = P - P[-1]
    values = np.full(len(codes), np.nan)
    for held_out, risk in zip(folds, risks, strict=True):
        rows, z = _fold_solution(P, codes, held_out, risk)
        if z is not None:
            values[held_out] = centered[np.ix_(held_out, rows)] @ z
    return values


def _held_out_values(
    P: Array, codes: Codes, held_out: NDArray[np.integer], risk: PairwiseRisk
) -> Array:
    """Return f at the held-out rows, f trained on the other labelled rows."""
    rows, z = _fold_solution(P, codes, held_out, risk)
    return np.full(len(held_out), np.nan) if z is None else P[np.ix_(held_out, rows)] @ z


def _fold_solution(
    P: Array, codes: Codes, held_out: NDArray[np.integer], risk: PairwiseRisk
) -> tuple[NDArray[np.integer], Array | None]:
    """Return the rows of P that a model is trained on if a fold is held out, and its solution.

    With ``N = l I + c Phi_u'Phi_u`` and T the features of the training rows and of the unlabelled
    mean, the matrix of the problem is ``N + T'J T``; then f = P z with ``(I + J P) z = W q``.
    """
    train = training_rows(held_out, len(codes))
    weights = linalg.block_diag(label_weights(codes[train], risk.n_classes), np.ones((1, 1)))
    rows = np.append(train, len(codes))
    P_train = P[np.ix_(rows, rows)]
    # two classes always take the general way, with which stored results were computed
    weighted = bool((risk.diagonal[:-1] > 0).all())
    solve = _solve_convex if weighted and risk.convex and risk.n_classes > 2 else _solve_any
    return rows, solve(P_train, weights, risk)


def _solve_any(P: Array, weights: Array, risk: PairwiseRisk) -> Array | None:
    """Return z, or None if the risk has no minimum."""
    J = np.diag(weights[:, :-1] @ risk.diagonal[:-1]) + weights @ risk.cross @ weights.T
    if not risk.convex and not _is_definite(P, J):
        return None
    return np.asarray(np.linalg.solve(np.eye(len(P)) + J @ P, weights @ risk.linear), np.float64)


def _solve_convex(P: Array, weights: Array, risk: PairwiseRisk) -> Array:
    """Return z by one Cholesky factorisation, an eighth of the operations of `_solve_any`.

    Every class that has rows must have a positive weight in ``risk.diagonal``.
    ``B = I + diag(d) P`` without its last row and column, where d is 0, is similar to a symmetric
    matrix; the rest of J P has the rank of W, and enters through ``s = W'P z``.
    """
    root = np.sqrt(weights[:-1, :-1] @ risk.diagonal[:-1])
    A = P[:-1, :-1] * root[:, None]
    A *= root
    np.einsum("ii->i", A)[:] += 1
    # the last row of Y is that of W, so it moves to the right-hand side
    right = weights[:-1].copy()
    right[:, -1] = -(root**2) * P[:-1, -1]
    factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    solved = linalg.cho_solve(factor, right / root[:, None], check_finite=False)
    Y = np.vstack([root[:, None] * solved, weights[-1]])
    G = weights.T @ (P @ Y)
    s = np.linalg.solve(np.eye(len(G)) + G @ risk.cross, G @ risk.linear)
    return Y @ (risk.linear - risk.cross @ s)


def _is_definite(P: Array, J: Array) -> bool:
    """Return whether ``N + T'J T`` is positive definite: whether ``I + P^1/2 J P^1/2`` is."""
    spectrum, vectors = np.linalg.eigh(P)
    root = vectors * np.sqrt(np.maximum(spectrum, 0))
    return bool(np.linalg.eigvalsh(root.T @ J @ root)[0] > -1)

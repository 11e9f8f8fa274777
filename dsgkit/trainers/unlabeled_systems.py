"""Linear systems of quadratic risks in which labelled rows enter only by their mean values.

Such a risk is ``d mean_U f^2 - 2 q_u mean_U f - 2 sum_k q_k mean_k f`` plus a constant, U being the
unlabelled rows and k the sources of labelled ones: a `PairwiseRisk` without other squares and
without products of means. Its matrix depends on the unlabelled rows alone, and not on q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dsgkit.linalg import Array, eigh, solve_penalised
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.trainers.moments import Moments
from dsgkit.trainers.responses import SINGULAR_SYSTEM


def check_means(risk: PairwiseRisk) -> None:
    """Raise `ValueError` unless labelled rows enter the risk only by their means."""
    if risk.diagonal[:-1].any() or risk.cross.any() or risk.diagonal[-1] <= 0:
        raise ValueError("the risk has squares or products of the values at labelled rows")


def solve_primal(
    unlabeled: Moments, means: Sequence[Array], risk: PairwiseRisk, penalty: float
) -> Array:
    """Return the w that minimises the risk of ``f = Phi w`` plus ``penalty ||w||^2``.

    Parameters
    ----------
    unlabeled : Moments
        Moments of the unlabelled rows; ``unlabeled.gram`` is overwritten.
    means : sequence of ndarray of shape (n_features,)
        Mean features of each source of labelled rows.
    risk : PairwiseRisk
    penalty : float

    Raises
    ------
    FitError
        If the system is singular to rounding.
    """
    matrix = unlabeled.gram
    matrix *= 2 * risk.diagonal[-1] / unlabeled.n_rows
    right = _primal_right(unlabeled, means, risk)
    return solve_penalised(matrix, 2 * penalty, right, singular=SINGULAR_SYSTEM)


def solve_primal_grid(
    unlabeled: Moments,
    means: Sequence[Array],
    risks: Sequence[PairwiseRisk],
    penalties: Sequence[float],
) -> Array:
    """Return the minimisers of many settings from one eigendecomposition, a column each.

    Overwrites ``unlabeled.gram``.
    """
    spectrum, vectors = eigh(unlabeled.gram)
    right = np.column_stack([_primal_right(unlabeled, means, risk) for risk in risks])
    right = vectors.T @ right
    twice = np.array([2 * risk.diagonal[-1] for risk in risks])
    right /= spectrum[:, None] / (unlabeled.n_rows / twice) + 2 * np.asarray(penalties)
    return vectors @ right


def _primal_right(unlabeled: Moments, means: Sequence[Array], risk: PairwiseRisk) -> Array:
    *q_labeled, q_unlabeled = (2 * risk.linear).tolist()
    right: Any = sum(q * mean for q, mean in zip(q_labeled, means, strict=True))
    return np.asarray(right + q_unlabeled * unlabeled.total / unlabeled.n_rows)


def solve_dual(
    gram: Array, means: Sequence[Array], risk: PairwiseRisk, penalty: float
) -> tuple[Array, Array]:
    """Return the minimiser f of the risk plus ``penalty ||f||^2`` in the space of a kernel.

    ``f(x) = sum_i a_i k(u_i, x) + sum_k b_k mean_k k(s, x)``: all rows s of a source have the same
    coefficient.

    Parameters
    ----------
    gram : ndarray of shape (n_unlabeled, n_unlabeled)
        Kernel of the unlabelled rows; overwritten.
    means : sequence of ndarray of shape (n_unlabeled,)
        ``mean_k k(s, u)`` at the unlabelled rows u, for each source of labelled rows.
    risk : PairwiseRisk
    penalty : float

    Returns
    -------
    a : ndarray of shape (n_unlabeled,)
    b : ndarray of shape (n_sources,)

    Raises
    ------
    FitError
        If the system is singular to rounding.
    """
    d, b = risk.diagonal[-1], risk.linear[:-1] / penalty
    known: Any = sum(-weight * mean for weight, mean in zip(b, means, strict=True))
    right = known + risk.linear[-1] / d
    a = solve_penalised(gram.T, penalty * len(gram) / d, right, singular=SINGULAR_SYSTEM)
    return a, b


def solve_dual_grid(
    gram: Array, means: Sequence[Array], risks: Sequence[PairwiseRisk], penalties: Sequence[float]
) -> tuple[Array, Array]:
    """Return `solve_dual` of many settings, from one eigendecomposition.

    Returns
    -------
    a : ndarray of shape (n_unlabeled, n_settings)
    b : ndarray of shape (n_sources, n_settings)
    """
    d = np.array([risk.diagonal[-1] for risk in risks])
    linear = np.array([risk.linear for risk in risks]).T
    b = linear[:-1] / np.asarray(penalties)
    spectrum, vectors = eigh(gram.T)
    known: Any = sum(
        -np.outer(vectors.T @ mean, weights) for weights, mean in zip(b, means, strict=True)
    )
    right = known + np.outer(vectors.sum(axis=0), linear[-1] / d)
    right /= spectrum[:, None] + len(spectrum) * np.asarray(penalties) / d
    return vectors @ right, b

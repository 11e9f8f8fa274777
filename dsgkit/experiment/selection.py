"""Choosing hyper-parameters from the scores of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.tasks.metrics import auc


def fold_scores(
    values: NDArray[np.float64], y: NDArray[np.integer], folds: Sequence[NDArray[np.integer]]
) -> list[list[float | None]]:
    """Score out-of-fold values by AUC.

    Parameters
    ----------
    values : ndarray of shape (n_points, n_labeled)
        NaN where a point has no solution.
    y : ndarray of shape (n_labeled,)
    folds : sequence of int arrays

    Returns
    -------
    list of list of float or None
        Per point and fold; None where the fold holds one class only, or the point has no solution.
    """
    return [[_score(row[fold], y[fold]) for fold in folds] for row in values]


def _score(values: NDArray[np.float64], y: NDArray[np.integer]) -> float | None:
    if not np.isfinite(values).all() or len(np.unique(y)) < 2:
        return None
    return auc(y, values)


def best_point(
    points: Sequence[dict[str, Any]],
    scores: Sequence[Sequence[float | None]],
    *,
    smallest: bool = False,
) -> tuple[dict[str, Any], float] | None:
    """Return the point with the best mean score over the folds, and that score.

    The largest is the best, or the ``smallest`` (an error).

    A fold that has no score for any point holds one class only, and does not count. A point
    without a score on any other fold has no solution there, and cannot be chosen. Of equals the
    smoothest function wins: the largest lam, or smallest C, then the smallest sigma; then the
    first point.

    Returns
    -------
    (point, score) or None
        None if no point has a score on every fold that counts.
    """
    counting = [k for k, fold in enumerate(zip(*scores, strict=True)) if _any_scored(fold)]
    best = None
    for point, folds in zip(points, scores, strict=True):
        counted = [folds[k] for k in counting]
        if not counted or None in counted:
            continue
        score = float(np.mean([value for value in counted if value is not None]))
        # differences below what folds of a few rows can resolve are rounding
        rank = round(-score if smallest else score, 9), *_smoothness(point)
        if best is None or rank > best[0]:
            best = rank, point, score
    return best and best[1:]


def _smoothness(point: dict[str, Any]) -> tuple[float, ...]:
    return point.get("lam", 0.0), -point.get("C", 0.0), -point.get("sigma", 0.0)


def _any_scored(fold: Sequence[float | None]) -> bool:
    return any(score is not None for score in fold)

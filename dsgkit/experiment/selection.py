"""Choosing hyper-parameters from the scores of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.metrics import auc


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
    points: Sequence[dict[str, Any]], scores: Sequence[Sequence[float | None]]
) -> tuple[dict[str, Any], float] | None:
    """Return the point with the best mean score over its defined folds; the first of equals.

    Returns
    -------
    (point, score) or None
        None if no point has any score.
    """
    best = None
    for point, folds in zip(points, scores, strict=True):
        defined = [score for score in folds if score is not None]
        mean = float(np.mean(defined)) if defined else -np.inf
        if defined and (best is None or mean > best[1]):
            best = point, mean
    return best

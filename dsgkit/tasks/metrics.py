"""Metrics, thin over scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def auc(y: Any, values: Any) -> float:
    """Return the area under the ROC curve: the share of (positive, negative) pairs in order.

    Parameters
    ----------
    y : array-like of shape (n,)
        Two classes; the larger label is the positive one.
    values : array-like of shape (n,)
        Ties count one half.
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, values))


def error_rate(y: Any, values: Any) -> float:
    """Return the share of rows on the wrong side: a value of at least 0 is taken for positive.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, -1 or +1.
    values : array-like of shape (n,)
    """
    return float(np.mean((np.asarray(values) >= 0) != (np.asarray(y) > 0)))


def cut_aucs(codes: Any, values: Any, n_classes: int) -> list[float | None]:
    """Return the area under the ROC curve of every cut between ordered classes.

    Parameters
    ----------
    codes : array-like of int, shape (n,)
        Classes, counted from 0.
    values : array-like of shape (n,) or (n, n_classes - 1)
        Of one function, or of one for every cut. Those that differ by rounding alone, by some 1e-6
        of their spread, are ties; ties count one half.
    n_classes : int

    Returns
    -------
    list of float or None
        None for a cut with no row on one side.
    """
    codes, values = np.asarray(codes), np.asarray(values)
    one = values.ndim == 1
    columns = [_ranks(values)] * (n_classes - 1) if one else map(_ranks, values.T)
    return [_rank_auc(codes > cut, ranks) for cut, ranks in enumerate(columns)]


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return ranks from 1, the mean one of rows that are equal but for rounding."""
    from scipy.stats import rankdata

    spread = np.std(values, dtype=np.float64)
    return rankdata(np.round((values - np.mean(values)) / spread, 6) if spread > 0 else values)


def _rank_auc(positive: NDArray[np.bool_], ranks: NDArray[np.float64]) -> float | None:
    """Return the AUC by the sum of the positives' ranks (Mann & Whitney)."""
    n_positive = int(positive.sum())
    n_pairs = n_positive * (len(positive) - n_positive)
    if not n_pairs:
        return None
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_pairs)

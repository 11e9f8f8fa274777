"""Metrics, thin over scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np


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

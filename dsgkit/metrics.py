"""Metrics, thin over scikit-learn."""

from __future__ import annotations

from typing import Any


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

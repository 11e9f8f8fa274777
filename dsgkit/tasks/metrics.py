"""Metrics; most are thin wrappers of scikit-learn's."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.arrays import Array
from dsgkit.objectives.similar_unlabeled import weights


def auc(y: Any, values: Any) -> float:
    """Return the area under the ROC curve: the share of correctly ordered pairs.

    Parameters
    ----------
    y : array-like of shape (n,)
        Two classes; the larger label is the positive one.
    values : array-like of shape (n,)
        Ties count one half.
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, values))


def average_precision(y: Any, values: Any) -> float:
    """Return the mean precision over the thresholds, weighted by the increase of the recall.

    Parameters
    ----------
    y, values : array-like of shape (n,)
        As in `auc`.
    """
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(np.asarray(y) > 0, values))


def error_rate(y: Any, values: Any) -> float:
    """Return the share of misclassified rows; values of at least 0 are predicted positive.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, -1 or +1.
    values : array-like of shape (n,)
    """
    return float(np.mean((np.asarray(values) >= 0) != (np.asarray(y) > 0)))


def balanced_accuracy(y: Any, values: Any) -> float:
    """Return the mean over the classes of the share of correctly classified rows.

    Parameters
    ----------
    y, values : array-like of shape (n,)
        As in `error_rate`.
    """
    y = np.asarray(y)
    correct = (np.asarray(values) >= 0) == (y > 0)
    return float(np.mean([correct[y == label].mean() for label in np.unique(y)]))


def cut_aucs(codes: Any, values: Any, n_classes: int) -> list[float | None]:
    """Return the area under the ROC curve of every cut between ordered classes.

    Parameters
    ----------
    codes : array-like of int, shape (n,)
        Classes, counted from 0.
    values : array-like of shape (n,) or (n, n_classes - 1)
        Values of one function, or of one for every cut. Values that differ only by rounding, some
        1e-6 of their spread, are ties; ties count one half.
    n_classes : int

    Returns
    -------
    list of float or None
        None for a cut without rows on one side.
    """
    codes, values = np.asarray(codes), np.asarray(values)
    if values.ndim == 1:
        columns = [_ranks(values)] * (n_classes - 1)
    else:
        columns = [_ranks(column) for column in values.T]
    return [_rank_auc(codes > cut, ranks) for cut, ranks in enumerate(columns)]


def _ranks(values: NDArray[Any]) -> Array:
    """Return ranks from 1; rows that are equal up to rounding get their mean rank."""
    from scipy.stats import rankdata

    spread = np.std(values, dtype=np.float64)
    return rankdata(np.round((values - np.mean(values)) / spread, 6) if spread > 0 else values)


def _rank_auc(positive: NDArray[np.bool_], ranks: Array) -> float | None:
    """Return the AUC from the sum of the positives' ranks (Mann & Whitney)."""
    n_positive = int(positive.sum())
    n_pairs = n_positive * (len(positive) - n_positive)
    if not n_pairs:
        return None
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_pairs)


SULoss = Literal["zero_one", "squared"]


def su_risk(
    values_similar: Any, values_unlabeled: Any, prior: float, loss: SULoss = "zero_one"
) -> float:
    """Return the classification risk estimated from similar pairs and unlabelled rows [1]_.

    ``pi_S/(2 pi - 1) mean_S [l(f, +1) - l(f, -1)]
    + 1/(2 pi - 1) mean_U [pi l(f, -1) - (1 - pi) l(f, +1)]``, where ``pi_S = pi^2 + (1 - pi)^2``.
    It is unbiased and not clipped, so it may be negative.

    Parameters
    ----------
    values_similar : array-like of shape (n_similar, 2)
        Values at the pairs.
    values_unlabeled : array-like of shape (n_unlabeled,)
    prior : float
        The share pi of the positive class, not 1/2.
    loss : {"zero_one", "squared"}
        Values of at least 0 are predicted positive; the squared loss is ``(t z - 1)^2 / 4``.

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """
    losses = {"zero_one": _zero_one, "squared": _squared}[loss]
    (s_plus, s_minus), (u_plus, u_minus) = (
        losses(np.asarray(values, np.float64)) for values in (values_similar, values_unlabeled)
    )
    w_pairs, w_plus, w_minus = weights(prior)
    pairs = w_pairs * (s_plus - s_minus).mean(axis=1)
    rows = w_minus * u_minus - w_plus * u_plus
    return float(pairs.mean() + rows.mean())


def _zero_one(values: Array) -> tuple[Array, Array]:
    wrong = (values < 0).astype(np.float64)
    return wrong, 1 - wrong


def _squared(values: Array) -> tuple[Array, Array]:
    return (values - 1) ** 2 / 4, (values + 1) ** 2 / 4

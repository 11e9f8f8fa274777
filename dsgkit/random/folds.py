"""Stratified folds of cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.random.seeds import permutation


def stratified_folds(y: NDArray[Any], n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    """Cut positions into folds of nearly equal size and nearly equal shares of each class.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels of any number of classes.
    n_folds : int
        Number of folds.
    seed : int
        Seed of the random order.

    Returns
    -------
    list of int arrays
        Sorted positions of each fold.
    """
    order = permutation(len(y), seed)
    # rows are dealt to folds in turn, class by class: sizes and class counts differ by at most one
    dealt = np.concatenate([order[y[order] == label] for label in np.unique(y)[::-1]])
    return [np.sort(dealt[fold::n_folds]) for fold in range(n_folds)]

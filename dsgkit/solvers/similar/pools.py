"""Folds of pairs and of unlabelled rows, as the engine trains on them in one pass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.rows import training_rows
from dsgkit.solvers.similar.base import PairFolds

Array = NDArray[np.float64]

Pools = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Positions of points of pairs, and of unlabelled rows, that are trained on."""


def point_positions(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the positions of the points of pairs, those of a pair one after the other."""
    first = 2 * np.asarray(pairs, np.int64)
    return np.column_stack([first, first + 1]).ravel()


def training_pools(folds: PairFolds, n_pairs: int, n_unlabeled: int) -> list[Pools]:
    """Return what is trained on without each fold."""
    return [
        (
            point_positions(training_rows(held_pairs, n_pairs)),
            training_rows(held_rows, n_unlabeled),
        )
        for held_pairs, held_rows in folds
    ]


def held_out_values(
    values: Mapping[int, NDArray[np.float32]], folds: PairFolds
) -> list[tuple[Array, Array]]:
    """Return the held-out values of each fold's models; NaN for a model that diverged.

    Parameters
    ----------
    values : mapping
        Values at the points of all pairs (0) and at all unlabelled rows (1), of the models of all
        folds, fold by fold.
    folds : sequence of (int array, int array)

    Returns
    -------
    list of (ndarray of shape (n_models, 2 h), ndarray of shape (n_models, u))
        Of a fold with h pairs and u rows.
    """
    at_points, at_rows = (values[k].reshape(len(values[k]), len(folds), -1) for k in (0, 1))
    found = []
    for fold, (held_pairs, held_rows) in enumerate(folds):
        similar = at_points[point_positions(held_pairs), fold].T.astype(np.float64)
        unlabeled = at_rows[held_rows, fold].T.astype(np.float64)
        diverged = ~(np.isfinite(similar).all(axis=1) & np.isfinite(unlabeled).all(axis=1))
        similar[diverged] = unlabeled[diverged] = np.nan
        found.append((similar, unlabeled))
    return found

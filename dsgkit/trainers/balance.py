"""Class balance: intercepts that give the unlabelled rows a prescribed mean value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.engine import DSGModel, sizes
from dsgkit.linalg import Array
from dsgkit.random import draw_in_passes
from dsgkit.system.progress import part

MAX_MEAN_ROWS = 2**15
"""Rows that a mean is taken over; of more rows, a random sample. The mean is then exact to 1/181 of
the standard deviation of the values, and costs less than training."""

_SOURCE = 2
"""Number of the source of unlabelled rows: the sample is the beginning of its first pass."""


def with_intercepts_cost(cost: Cost, n_models: int, n_coefficients: int, n_unlabeled: int) -> Cost:
    """Return the cost of training models, plus that of their intercepts."""
    row = cost.flops_per_row + 2.0 * n_coefficients * (n_models - 1)
    return replace(cost, flops=cost.flops + min(n_unlabeled, MAX_MEAN_ROWS) * row)


def with_intercepts(
    models: Sequence[DSGModel], X_unlabeled: Any, means: Array, seed: int
) -> list[DSGModel]:
    """Return models whose values at the unlabelled rows have given means.

    Parameters
    ----------
    models : sequence of DSGModel
        Together one function for each of G settings.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
        At most `MAX_MEAN_ROWS` of them are evaluated.
    means : ndarray of shape (G,)
        NaN for a function whose intercept stays 0.
    seed : int
        Seed of the sample of rows.
    """
    n = len(X_unlabeled)
    rows = np.arange(n)
    if n > MAX_MEAN_ROWS:
        rows = np.sort(draw_in_passes(seed, _SOURCE, 0, 1, MAX_MEAN_ROWS, n)[0])
    balanced, first = [], 0
    for number, model in enumerate(models):
        own = means[first : first + model.coefficients.shape[2]]
        first += len(own)
        chosen = ~np.isnan(own)
        if chosen.any():
            share = part(number / len(models), (number + 1) / len(models))
            with share, np.errstate(all="ignore"):  # models may have diverged
                offset = own - _mean_values(model, X_unlabeled, rows)
            model = replace(model, intercept=np.where(chosen, offset, 0).astype(np.float32))
        balanced.append(model)
    return balanced


def _mean_values(model: DSGModel, X: Any, rows: NDArray[np.int64]) -> Array:
    """Return each function's mean at some rows, shape (G,), a block of rows at a time."""
    length = sizes.rows_at_once(model.n_inputs, model.coefficients.shape[2])
    total = np.zeros(model.coefficients.shape[2])
    for start in range(0, len(rows), length):
        block = model.features.read(X, rows[start : start + length])
        with part(start / len(rows), min(1.0, (start + length) / len(rows))):
            total += model.decision_function(block).sum(axis=0, dtype=np.float64)
    return total / len(rows)

"""A point in the middle of most rows: distances by products are accurate when seen from there."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.numerics.arrays import Array
from dsgkit.numerics.rows import spaced

_MAX_ROWS = 1001
"""Most rows that the middle is computed from."""


def middle(rows: Any) -> Array:
    """Return the medians of the columns, shape (n_inputs,), which few far rows do not move.

    Of many rows, those of some evenly spaced ones.

    Parameters
    ----------
    rows : rows of shape (n, n_inputs)
        At least one.
    """
    return np.asarray(np.median(np.asarray(spaced(rows, _MAX_ROWS), np.float64), axis=0))

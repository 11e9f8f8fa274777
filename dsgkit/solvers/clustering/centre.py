"""Centre of the rows: distances from matrix products are accurate for rows relative to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.linalg import Array, spaced

_MAX_ROWS = 1001
"""Most rows that the medians are computed from."""


def middle(rows: Any) -> Array:
    """Return the medians of the columns, shape (n_inputs,), which are robust to a few far rows.

    For many rows, the medians of an evenly spaced sample.

    Parameters
    ----------
    rows : rows of shape (n, n_inputs)
        At least one.
    """
    return np.asarray(np.median(np.asarray(spaced(rows, _MAX_ROWS), np.float64), axis=0))

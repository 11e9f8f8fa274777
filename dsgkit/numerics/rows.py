"""Rows of a table: in blocks, evenly spaced, and those outside of a fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that cover ``n_rows`` rows in order."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def spaced(X: Any, count: int) -> Any:
    """Return at most ``count`` rows, evenly spaced, as the rows may be sorted."""
    n = len(X)
    return X[np.arange(n)] if n <= count else X[np.arange(count) * n // count]


def training_rows(held_out: NDArray[np.integer], n_rows: int) -> NDArray[np.int64]:
    """Return the rows outside a fold, in order.

    Raises
    ------
    DataError
        If the fold is not an array of positions.
    """
    try:
        positions = np.asarray(held_out)
        valid = positions.ndim == 1 and positions.dtype.kind in "iu"
        valid = valid and (not len(positions) or 0 <= positions.min() <= positions.max() < n_rows)
    except ValueError:  # arrays of several lengths
        valid = False
    if not valid:
        raise DataError(
            f"a fold must be an array of held-out positions in 0..{n_rows - 1}, such as "
            "[test for _, test in StratifiedKFold(5).split(X, y)]"
        )
    return np.setdiff1d(np.arange(n_rows), positions)

"""Checks that the norms of rows are small enough for accurate random features of a kernel."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.kernels.catalogue import kernel_named
from dsgkit.numerics.arrays import Single
from dsgkit.numerics.rows import read_rows, row_blocks

BLOCK_ROWS = 8192
"""Rows that are checked at a time."""


def read_within(
    table: Any, index: slice | NDArray[np.integer], kernel: str, sigma: float
) -> Single:
    """Copy rows as `read_rows` does, and check them for a kernel's random features.

    Raises
    ------
    DataError
        If a feature is NaN or infinite, or the norm of a row exceeds `Kernel.farthest`.
    """
    known = kernel_named(kernel)
    with np.errstate(over="ignore"):  # a number beyond single precision becomes infinite
        rows = read_rows(table, index)
    place = first_longer(rows, known.farthest(sigma), known.norm)
    if place is not None:
        raise too_long(table, int(np.arange(len(table))[index][place]), sigma)
    return rows


def first_longer(rows: NDArray[Any], longest: float, norm: Literal[1, 2]) -> int | None:
    """Return the position of the first row with a norm above ``longest``, or NaN; None if none."""
    with np.errstate(over="ignore", invalid="ignore"):
        if norm == 1:
            suspects = ~(np.abs(rows).sum(axis=1) <= longest / 2)
        else:
            suspects = ~(np.einsum("ij,ij->i", rows, rows) <= np.square(longest) / 4)
        candidates = np.flatnonzero(suspects)
        # the sums above are fast, but may round or overflow in the precision of the rows
        lengths = np.linalg.norm(rows[candidates].astype(np.float64), norm, axis=1)
        beyond = candidates[~(lengths <= longest)]
    return int(beyond[0]) if len(beyond) else None


def too_long(table: Any, row: int, sigma: float) -> DataError:
    """Return the error for a row of a table whose random features would be wrong."""
    place = f"row {row} of {len(table)}, counted from 0"
    if not np.isfinite(np.asarray(table[row : row + 1])).all():
        return DataError(
            f"features hold NaN or infinite values; remove or replace those rows ({place})"
        )
    return DataError(
        f"features too large for sigma={sigma:g}: scale them, e.g. to [0, 1], or lower sigma "
        f"({place})"
    )


def check_projections(rows: Any, sigma: float, kernel: str = "gaussian") -> None:
    """Raise `DataError` for rows whose random features would be inaccurate.

    Parameters
    ----------
    rows : rows of shape (n, n_inputs)
        Read block by block.
    sigma : float
    kernel : str

    Raises
    ------
    DataError
        If a feature is NaN or infinite, or the norm of a row exceeds `Kernel.longest`.
    """
    known = kernel_named(kernel)
    longest = known.longest(sigma)
    for block in row_blocks(len(rows), BLOCK_ROWS):
        place = first_longer(np.asarray(rows[block], np.float64), longest, known.norm)
        if place is not None:
            raise too_long(rows, block.start + place, sigma)

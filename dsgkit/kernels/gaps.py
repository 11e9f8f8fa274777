"""Closes gaps between rows where their Gaussian kernel is 0, for programs that expand distances.

LIBSVM computes a squared distance as ``||x||^2 + ||x'||^2 - 2 <x, x'>``, whose terms cancel: if two
groups of rows are 10^7 widths of the kernel apart, all distances within them are wrong.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dsgkit.kernels.gaussian import ZERO_EXPONENT
from dsgkit.numerics.arrays import Array

MAX_ACCURATE_NORM = 2.0**26
"""Squared norm times sigma up to which rounding an exponent matters no more than LIBSVM's rounding
of kernel values to float32."""


def without_gaps(rows: Any, sigma: float, centre: Array | float = 0.0) -> Array:
    """Return rows with the same Gaussian kernel matrix, but no far groups.

    If neighbours in a column are so far apart that the kernel is 0, the rows beyond are moved
    closer, as far as it remains 0; all other distances are preserved.

    Parameters
    ----------
    rows : array of shape (n, n_inputs)
    sigma : float
    centre : float or ndarray of shape (n_inputs,)
        Subtracted from the rows; if distances are then accurate, nothing else is done.

    Returns
    -------
    ndarray of float64, shape (n, n_inputs)
    """
    rows = np.asarray(rows, np.float64)
    with np.errstate(over="ignore"):
        centred = rows - centre
        if np.einsum("ij,ij->i", centred, centred).max(initial=0) <= MAX_ACCURATE_NORM / sigma:
            return np.asarray(centred)
        widest = 1.01 * math.sqrt(-ZERO_EXPONENT / sigma)
        return np.column_stack([_closed_up(column, widest) for column in rows.T])


def _closed_up(column: Array, widest: float) -> Array:
    """Shift numbers to start at 0 and have gaps between neighbours of at most ``widest``."""
    order = np.argsort(column)
    ordered = column[order]
    ends = np.append(np.flatnonzero(np.diff(ordered) > widest), len(column) - 1)
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts + 1
    shifts = np.append(0, np.cumsum(ordered[ends] - ordered[starts] + widest)[:-1])
    closed = np.empty_like(column)
    closed[order] = ordered - np.repeat(ordered[starts], lengths) + np.repeat(shifts, lengths)
    return closed

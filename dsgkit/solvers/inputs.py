"""Checks of what users hand to the estimators, each with a text of one line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from dsgkit.errors import DataError
from dsgkit.kernels.gaussian import row_blocks

BLOCK_ROWS = 8192
"""Rows that are checked at a time."""

LARGEST_PROJECTION = 5000.0
"""Beyond, rounding a projection to float32 moves its cosine by more than 2^-12."""

PROJECTION_SPREAD = 6.0
"""Standard deviations that a random projection is taken to stay within: of 10^9 two do not."""


def check_above_zero(**values: Any) -> None:
    """Raise `DataError` unless every value is a finite number above 0."""
    for name, value in values.items():
        if not (isinstance(value, Real) and 0 < float(value) < math.inf):
            raise DataError(f"{name} must be a number above 0, got {value!r}")


def check_between(low: float, high: float, **values: Any) -> None:
    """Raise `DataError` unless every value is a number in ``low..high``."""
    for name, value in values.items():
        if not (isinstance(value, Real) and low <= float(value) <= high):
            raise DataError(f"{name} must be a number in {low:g}..{high:g}, got {value!r}")


def check_count(low: int, **values: Any) -> None:
    """Raise `DataError` unless every value is an integer of at least ``low``."""
    for name, value in values.items():
        if not (isinstance(value, Integral) and int(value) >= low):
            raise DataError(f"{name} must be an integer of at least {low}, got {value!r}")


def check_switch(**values: Any) -> None:
    """Raise `DataError` unless every value is True or False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise DataError(f"{name} must be True or False, got {value!r}")


def check_one_of(names: Iterable[str], **values: Any) -> None:
    """Raise `DataError` unless every value is one of some names."""
    known = list(names)
    for name, value in values.items():
        if value not in known:
            raise DataError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def check_seed(random_state: Any) -> None:
    """Raise `DataError` unless the seed is an integer of 64 bits."""
    if not (isinstance(random_state, Integral) and 0 <= int(random_state) < 2**64):
        raise DataError(f"random_state must be an integer in 0..2^64-1, got {random_state!r}")


def check_columns(X: Any, n_inputs: int | None = None, name: str = "X") -> None:
    """Raise `DataError` unless ``X`` is an array of two dimensions with ``n_inputs`` columns."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) != 2 or n_inputs not in (None, shape[1]):
        columns = "n_inputs" if n_inputs is None else n_inputs
        got = shape if hasattr(X, "shape") else type(X).__name__
        raise DataError(f"{name} must have shape (n, {columns}), got {got}")


def check_training_rows(X: Any, y: Any, X_unlabeled: Any) -> None:
    """Raise `DataError` unless labelled rows, labels and unlabelled rows fit together."""
    check_columns(X)
    check_columns(X_unlabeled, X.shape[1], "X_unlabeled")
    if len(y) != len(X):
        raise DataError(f"y must hold one label per row of X: {len(y)} labels, {len(X)} rows")
    if not len(X_unlabeled):
        raise DataError("X_unlabeled must hold at least one row")


def check_projections(rows: Any, sigma: float) -> None:
    """Raise `DataError` for rows that Fourier features of the Gaussian kernel are not made of.

    The projection of a row x on a frequency is normal with variance ``2 sigma ||x||^2``, and has
    to stay within `LARGEST_PROJECTION`: so ``6 sqrt(2 sigma) ||x||`` must.

    Parameters
    ----------
    rows : rows of shape (n, n_inputs)
        Read block by block.
    sigma : float

    Raises
    ------
    DataError
        If a feature is NaN or infinite, or a row too long.
    """
    longest = LARGEST_PROJECTION / (PROJECTION_SPREAD * math.sqrt(2 * sigma))
    for block in row_blocks(len(rows), BLOCK_ROWS):
        part = np.asarray(rows[block])
        if not np.isfinite(part).all():
            raise DataError("features hold NaN or infinite values; remove or replace those rows")
        with np.errstate(over="ignore"):
            squared = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        if squared.max() > longest**2:
            raise DataError(f"features too large for sigma={sigma:g}: scale them, e.g. to [0, 1]")

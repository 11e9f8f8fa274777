"""Checks of what users hand to the closed-form estimators, each with a text of one line."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from dsgkit.errors import DataError


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


def check_columns(X: Any, n_inputs: int, name: str = "X") -> None:
    """Raise `DataError` unless ``X`` has two dimensions and ``n_inputs`` columns."""
    if len(X.shape) != 2 or X.shape[1] != n_inputs:
        raise DataError(f"{name} must have shape (n, {n_inputs}), got {tuple(X.shape)}")


def check_training_rows(X: Any, y: Any, X_unlabeled: Any) -> None:
    """Raise `DataError` unless labelled rows, labels and unlabelled rows fit together."""
    check_columns(X, X.shape[-1])
    check_columns(X_unlabeled, X.shape[1], "X_unlabeled")
    if len(y) != len(X):
        raise DataError(f"y must hold one label per row of X: {len(y)} labels, {len(X)} rows")
    if not len(X_unlabeled):
        raise DataError("X_unlabeled must hold at least one row")

"""Functions ``phi(x)'w`` of features that map each row separately, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels import finite_rows
from dsgkit.linalg import Array, row_blocks

FeatureMap = Callable[[Any], NDArray[np.floating]]

BLOCK_ROWS = 8192
"""Rows whose features are held at a time."""


class Features(Protocol):
    """Parameters of features; equal parameters give equal features."""

    smallest_lam: ClassVar[float]
    """Smallest lam of a penalty ``lam/2 ||w||^2``: below, the system is singular to rounding."""

    def map(self) -> FeatureMap:
        """Return the map from rows to their features, shape (n, n_features)."""
        ...

    def check(self, *tables: Any) -> None:
        """Raise `DataError` for rows whose features would be inaccurate."""
        ...

    def width(self, n_inputs: int) -> int:
        """Return the number of features."""
        ...

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of the features of one row."""
        ...


@dataclass(frozen=True)
class Inputs:
    """The inputs and a constant 1: the features of linear functions with a bias."""

    smallest_lam: ClassVar[float] = 0.0

    def map(self) -> FeatureMap:
        """Return the map from rows to their features."""
        return with_constant

    def check(self, *tables: Any) -> None:
        """Accept all rows: the map itself rejects values that are not finite."""

    def width(self, n_inputs: int) -> int:
        """Return the number of features."""
        return n_inputs + 1

    def row_flops(self, n_inputs: int) -> float:
        """Return 0: nothing is computed."""
        return 0.0


def with_constant(rows: Any) -> Array:
    """Return the inputs and a column of 1, shape (n, n_inputs + 1)."""
    return np.column_stack([finite_rows(rows), np.ones(len(rows))])


@dataclass(frozen=True)
class LinearFunction:
    """A function ``phi(x)'w``.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        w.
    """

    features: Features
    coef: Array

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator."""
        return {"coef_": self.coef}

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``."""
        self.features.check(X)
        return evaluate(self.features.map(), X, self.coef)

    def squared_norm(self) -> float:
        """Return the squared norm of the coefficients."""
        return float(self.coef @ self.coef)


def evaluate(
    features: FeatureMap, X: Any, coefficients: Array, rows: NDArray[np.integer] | None = None
) -> Array:
    """Return ``Phi w`` at rows, for one w or for the columns of a matrix."""
    n_rows = len(X) if rows is None else len(rows)
    values = np.empty((n_rows, *coefficients.shape[1:]))
    for block in row_blocks(n_rows, BLOCK_ROWS):
        Phi = features(X[block] if rows is None else X[rows[block]])
        values[block] = Phi.astype(np.float64, copy=False) @ coefficients
    return values

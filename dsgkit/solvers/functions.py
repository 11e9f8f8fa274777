"""Trained functions as estimators store them, and as grids evaluate them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dsgkit.linalg import Array
from dsgkit.solvers.inputs import as_rows, check_finite
from dsgkit.trainers.training import Function, Functions


class FunctionKeeper:
    """Mixin of the estimators that store a trained function; named first among the bases."""

    _solution: ClassVar[str] = "_function"

    _function: Function

    def _keep_function(self, function: Function) -> None:
        """Set the attributes of a fitted function."""
        self._function = function
        for name, value in function.attributes.items():
            setattr(self, name, value)

    def _values(self, X: Any) -> Array:
        return self._function.values(X)


class PointFunctions:
    """Functions of several parameter settings.

    Parameters
    ----------
    estimator : estimator
        Holds the columns of the training rows.
    parts : sequence of (sequence of int, Functions)
        Positions of settings, and their functions.
    """

    def __init__(self, estimator: Any, parts: Sequence[tuple[Sequence[int], Functions]]) -> None:
        self._estimator = estimator
        self.parts = parts

    def decision_function(self, X: Any) -> Array:
        """Return all values at the rows of ``X``, shape (n, n_points); NaN without a solution."""
        X = as_rows(self._estimator, X, reset=False)
        values = np.empty((len(X), sum(len(members) for members, _ in self.parts)))
        for members, functions in self.parts:
            columns, finite = functions.values(X), functions.finite
            if not np.isfinite(columns[:, finite]).all():
                check_finite(X)
            values[:, members] = np.where(finite, columns, np.nan)
        return values

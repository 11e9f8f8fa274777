"""Trained functions as estimators store them, and as grids evaluate them."""

from __future__ import annotations

from typing import Any, ClassVar

from dsgkit.linalg import Array
from dsgkit.trainers.training import Function


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

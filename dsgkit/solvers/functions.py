"""Base of the estimators whose fit ends with a function of a trainer."""

from __future__ import annotations

from typing import Any, ClassVar

from dsgkit.solvers.base import Estimator
from dsgkit.solvers.declared import fitted
from dsgkit.trainers.training import Array, Function


class FunctionEstimator(Estimator):
    """Base of the estimators that keep a trained function.

    A subclass names this base before the one of its family.
    """

    _solution: ClassVar[str] = "_function"

    _function: Function = fitted()

    def _keep(self, function: Function) -> None:
        """Set the attributes of a fitted function."""
        self._function = function
        for name, value in function.attributes.items():
            setattr(self, name, value)

    def _values(self, X: Any) -> Array:
        return self._function.values(X)

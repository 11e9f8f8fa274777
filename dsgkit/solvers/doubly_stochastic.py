"""Base of the estimators whose model is one of the engine's, trained without `dsgkit.trainers`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.features import FeatureBlocks
from dsgkit.solvers.base import Points
from dsgkit.solvers.block_functions import BlockFunctionEstimator
from dsgkit.solvers.parameters import parameters
from dsgkit.text.errors import DataError
from dsgkit.trainers.blocks import BlockFunction


class DoublyStochasticEstimator(BlockFunctionEstimator):
    """Base of the estimators that hand a problem of their own to the engine.

    A subclass names this base before the one of its family.
    """

    _solution: ClassVar[str] = "model_"

    def _values(self, X: Any) -> NDArray[np.float64]:
        return BlockFunction(self.model_, mean_of_kernels=False).values(X)

    def _squared_norm(self) -> float:
        """Return a bound of the squared norm of the fitted function."""
        return BlockFunction(self.model_, mean_of_kernels=False).squared_norm()

    def _features(self) -> FeatureBlocks:
        """Return the random features."""
        return self._random_features().blocks()

    def _settings(self, points: Points) -> list[Self]:
        """Return an estimator for each point, its parameters checked.

        The points of one pass may differ only in parameters that are declared per model.
        """
        settings = [clone(self).set_params(**point) for point in points]
        for setting in settings:
            setting._check_params()
        values = [setting._in_common() for setting in settings]
        if any(other != values[0] for other in values):
            raise DataError(f"points of one pass must agree in {', '.join(values[0])}")
        return settings

    def _in_common(self) -> dict[str, Any]:
        """Return the parameters that models of one pass must agree in."""
        solver: Any = type(self)
        return {n: getattr(self, n) for n, p in parameters(solver).items() if not p.per_model}

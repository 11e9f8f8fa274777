"""Protocol of the trainers for labelled rows of ordered classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.trainers.training import Array, Function, Given


class OrdinalTrainer(Protocol):
    """Trains functions that rank ordered classes, by a weighted loss of labelled rows.

    Trainers that are equal can train their models together.
    """

    def fit(self, given: Given, weight: float) -> Function:
        """Train one model.

        Raises
        ------
        FitError
            If there is no solution, or it cannot be computed.
        """
        ...

    def fold_values(
        self, given: Given, folds: Sequence[NDArray[np.integer]], weights: Sequence[float]
    ) -> Array:
        """Return out-of-fold values of a model for each weight, shape (n_weights, n).

        NaN where a model has no solution, and for rows that no fold holds out.
        """
        ...

    def cost(self, n_inputs: int, n_labeled: int, n_cuts: int, n_models: int) -> Cost:
        """Return the cost of `fit`, or of `fold_values` with ``n_models`` models."""
        ...

"""Functional gradients: what turns function values at drawn rows into coefficients."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class Objective(Protocol):
    """The loss part of an objective, for G models that are trained together."""

    def coefficients(self, values: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Return the derivative of the batch loss with respect to each drawn row's value.

        Parameters
        ----------
        values : list of ndarray of shape (batch_size, G)
            Function values at the rows drawn from each source.

        Returns
        -------
        list of ndarray of shape (batch_size, G)
        """
        ...

    def take(self, models: slice) -> Objective:
        """Return the objective of some of the models."""
        ...


@runtime_checkable
class ChangingObjective(Objective, Protocol):
    """An objective that changes from iteration to iteration."""

    def at(self, t: int) -> Objective:
        """Return the objective of the 1-based iteration t."""
        ...


def objective_at(objective: Objective, t: int) -> Objective:
    """Return the objective of the 1-based iteration t: itself, unless it changes."""
    return objective.at(t) if isinstance(objective, ChangingObjective) else objective

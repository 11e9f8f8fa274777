"""Objectives: they map function values at drawn rows to the coefficients of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dsgkit.linalg import Single


class Objective(Protocol):
    """The loss part of an objective, for G models that are trained together."""

    def coefficients(self, values: list[Single]) -> list[Single]:
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


def objective_at(objective: Objective, t: int) -> Objective:
    """Return the objective of the 1-based iteration t, from its method ``at`` if it has one."""
    at: Callable[[int], Objective] | None = getattr(objective, "at", None)
    return objective if at is None else at(t)

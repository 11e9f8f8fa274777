"""The coefficients of the blocks that a run has made, and which of them it has forgotten."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import FORGOTTEN


class Blocks:
    """Coefficients of one block per iteration for G models, up to one scale per model.

    Where steps do not decrease, the weight of early blocks decays geometrically: blocks that
    cannot change a float32 value any more are dropped (`forget`).

    Parameters
    ----------
    n_iterations, n_features, n_models : int
        Sizes T, 2m and G.

    Attributes
    ----------
    first : int
        Number of the oldest block that is kept.
    """

    def __init__(self, n_iterations: int, n_features: int, n_models: int) -> None:
        # Memory that is never written to is never taken from the system
        self._coefficients = np.empty((n_iterations, n_features, n_models), np.float32)
        self._magnitudes = np.empty((n_iterations, n_models))
        self.first = 0
        self._last = 0

    @property
    def kept(self) -> NDArray[np.float32]:
        """The coefficients of blocks ``first`` and later, shape (n_kept, 2m, G); a view."""
        return self._coefficients[: self._last - self.first]

    def append(self, coefficients: NDArray[np.float32]) -> None:
        """Add the block of the next iteration, shape (2m, G)."""
        self._magnitudes[self._last] = np.abs(coefficients).sum(axis=0, dtype=np.float64)
        self._last += 1
        self.kept[-1] = coefficients

    def multiply(self, models: NDArray[np.int64], factor: NDArray[np.float32]) -> None:
        """Multiply all blocks of some models by a factor each; 0 erases even what overflowed."""
        for array, by in ((self.kept, factor), (self._magnitudes[: self._last], np.abs(factor))):
            array[..., models] = np.where(by == 0, 0, array[..., models] * by)

    def forget(self) -> None:
        """Drop the oldest blocks, as far as all that is dropped stays below `FORGOTTEN`.

        The share of a model's sum of absolute coefficients that dropped blocks make up can only
        shrink later: decay acts on all blocks alike, and new blocks add to the sum.
        """
        total = np.cumsum(self._magnitudes[: self._last], axis=0)
        needed = (total > FORGOTTEN * total[-1:]).any(axis=1)
        first = int(needed.argmax()) if needed.any() else self.first
        n_kept = self._last - first
        if first > self.first:
            for i in range(n_kept):
                self._coefficients[i] = self._coefficients[i + first - self.first]
            self.first = first

"""Coefficients of the blocks of a run, without those that have decayed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import MAX_FORGOTTEN_SHARE
from dsgkit.linalg import Array, Single

PART_BLOCKS = 32
"""Blocks that are allocated and freed together."""


def magnitude(coefficients: Single) -> Array:
    """Return the sums of absolute coefficients of blocks of shape (..., width, G)."""
    total: Array = np.abs(coefficients).sum(axis=-2, dtype=np.float64)
    return total


def first_needed(magnitudes: Array) -> int:
    """Return how many of the oldest blocks are within `MAX_FORGOTTEN_SHARE` in every model.

    Parameters
    ----------
    magnitudes : ndarray of shape (n_blocks, G)
        Sums of absolute coefficients of the blocks.
    """
    total = np.cumsum(magnitudes, axis=0)
    needed = (total > MAX_FORGOTTEN_SHARE * total[-1:]).any(axis=1)
    return int(needed.argmax()) if needed.any() else 0


class Coefficients:
    """Coefficients of one block per iteration for G models, up to one scale per model.

    If steps do not decrease, the weights of early blocks decay geometrically: negligible ones are
    dropped (`forget`).

    Parameters
    ----------
    width, n_models : int
        Number of features of a block, and G.

    Attributes
    ----------
    first : int
        Number of the oldest block that is kept.
    last : int
        Number of the next block.
    """

    def __init__(self, width: int, n_models: int) -> None:
        self.first = 0
        self.last = 0
        self._shape = (PART_BLOCKS, width, n_models)
        self._parts: list[Single] = []
        self._dropped = 0  # blocks of freed parts
        self._magnitudes = np.empty((0, n_models))

    def append(self, coefficients: Single) -> None:
        """Add the block of the next iteration, shape (width, G)."""
        if self.last == self._dropped + PART_BLOCKS * len(self._parts):
            self._parts.append(np.empty(self._shape, np.float32))
            self._magnitudes = np.vstack(
                [self._magnitudes, np.zeros((PART_BLOCKS, self._shape[2]))]
            )
        self._parts[-1][self.last % PART_BLOCKS] = coefficients
        self._magnitudes[self.last] = magnitude(coefficients)
        self.last += 1

    def kept(self) -> Iterator[tuple[int, Single]]:
        """Yield runs of kept blocks: the first's number and a view of shape (n, width, G)."""
        for k, part in enumerate(self._parts):
            start = self._dropped + k * PART_BLOCKS
            first, last = max(self.first, start), min(self.last, start + PART_BLOCKS)
            yield first, part[first - start : last - start]

    def multiply(self, models: NDArray[np.int64], factor: Single) -> None:
        """Multiply all blocks of some models by a factor each; 0 also erases infinite ones."""
        for _, part in self.kept():
            part[..., models] = np.where(factor == 0, 0, part[..., models] * factor)
        past = self._magnitudes[: self.last]
        past[:, models] = np.where(factor == 0, 0, past[:, models] * np.abs(factor))

    def first_needed(self) -> int:
        """Return the number of the oldest block that cannot be dropped.

        All blocks before it are together within `MAX_FORGOTTEN_SHARE`. Their share of a model's sum
        of absolute coefficients can only shrink: decay acts on all blocks alike, and new blocks add
        to the sum.
        """
        return max(self.first, first_needed(self._magnitudes[: self.last]))

    def forget(self) -> None:
        """Drop the oldest blocks, as far as `first_needed` allows."""
        self.first = self.first_needed()
        while self._dropped + PART_BLOCKS <= self.first:
            del self._parts[0]
            self._dropped += PART_BLOCKS

    def needed(self) -> tuple[int, Single]:
        """Return the number of the oldest block that is needed, and a copy from it on."""
        first = self.first_needed()
        parts = [part[max(0, first - start) :] for start, part in self.kept()]
        return first, np.concatenate(parts)

"""Coefficients of the blocks of a run, without those that have decayed, and their averages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsgkit.engine.problem import Rows, Steps
from dsgkit.engine.sizes import MAX_FORGOTTEN_SHARE
from dsgkit.linalg import Array, Single

PART_BLOCKS = 32  # blocks that are allocated and freed together


class Coefficients:
    """Coefficients of one block per iteration for G models, up to one scale per model."""

    def __init__(self, width: int, G: int) -> None:
        self.first = self.last = 0  # the oldest block that is kept, and the next one
        self._shape = (PART_BLOCKS, width, G)
        self._parts: list[Single] = []
        self._dropped = 0  # blocks of freed parts
        self._magnitudes = np.empty((0, G))

    def append(self, coef: Single) -> None:
        if self.last == self._dropped + PART_BLOCKS * len(self._parts):
            self._parts.append(np.empty(self._shape, np.float32))
            more = np.zeros((PART_BLOCKS, self._shape[2]))
            self._magnitudes = np.vstack([self._magnitudes, more])
        self._parts[-1][self.last % PART_BLOCKS] = coef
        self._magnitudes[self.last] = magnitude(coef)
        self.last += 1

    def kept(self) -> Iterator[tuple[int, Single]]:
        """Yield runs of kept blocks: the first's number, and a view of shape (n, width, G)."""
        for k, blocks in enumerate(self._parts):
            start = self._dropped + k * PART_BLOCKS
            first, last = max(self.first, start), min(self.last, start + PART_BLOCKS)
            yield first, blocks[first - start : last - start]

    def multiply(self, models: Rows, factor: Single) -> None:
        """Multiply all blocks of some models by a factor each; 0 also erases infinite ones."""
        for _, blocks in self.kept():
            blocks[..., models] = np.where(factor == 0, 0, blocks[..., models] * factor)
        past = self._magnitudes[: self.last]
        past[:, models] = np.where(factor == 0, 0, past[:, models] * np.abs(factor))

    def forget(self) -> None:
        """Drop the oldest blocks, as far as they are negligible in every model.

        Their share of a model's absolute coefficients can only shrink: decay acts on all blocks
        alike, and new blocks add to the sum.
        """
        self.first = max(self.first, first_needed(self._magnitudes[: self.last]))
        while self._dropped + PART_BLOCKS <= self.first:
            del self._parts[0]
            self._dropped += PART_BLOCKS

    def needed(self) -> tuple[int, Single]:
        """Return the number of the oldest block that is needed, and a copy from it on."""
        first = max(self.first, first_needed(self._magnitudes[: self.last]))
        return first, np.concatenate([coef[max(0, first - start) :] for start, coef in self.kept()])


def magnitude(coef: Single) -> Array:
    """Return the sums of absolute coefficients of blocks of shape (..., width, G)."""
    return np.abs(coef).sum(axis=-2, dtype=np.float64)


def first_needed(magnitudes: Array) -> int:
    """Return how many of the oldest blocks are within `MAX_FORGOTTEN_SHARE` in every model."""
    total = np.cumsum(magnitudes, axis=0)
    needed = (total > MAX_FORGOTTEN_SHARE * total[-1:]).any(axis=1)
    return int(needed.argmax()) if needed.any() else 0


def averaged(t: int) -> int:
    """Return the number of functions in the mean after t iterations."""
    return t - t // 2


def block_weights(steps: Steps, t: int) -> Array:
    """Return the weight of each added block in the mean after t iterations, shape (t, G).

    A block is part of all functions since its own iteration, shrunk by the decays in between.
    """
    weights = np.empty((t, len(steps.lam)))
    weight, decay = np.zeros(len(steps.lam)), np.zeros(len(steps.lam))
    for i in range(t, 0, -1):
        weight = decay * weight + (i > t // 2) / averaged(t)
        weights[i - 1] = weight
        decay = steps(i)[1]
    return weights

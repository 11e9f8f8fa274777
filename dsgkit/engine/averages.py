"""Iterate averaging: the mean of the functions over the second half of the iterations.

With a constant step the iterates move around the minimum; their mean is nearer to it. Of t
iterations, the last ``t - t // 2`` are averaged.
"""

from __future__ import annotations

import numpy as np

from dsgkit.engine.coefficients import first_needed, magnitude
from dsgkit.engine.steps import StepRule
from dsgkit.linalg import Array, Single
from dsgkit.system.jit import fast


def averaged(t: int) -> int:
    """Return the number of functions averaged after t iterations."""
    return t - t // 2


def block_weights(step: StepRule, t: int) -> Array:
    """Return the weight of each block, as it was added, in the mean after t iterations.

    A block is part of all functions since its own iteration, shrunk by the decays in between: the
    weights follow from the step rule alone, shape (t, G).
    """
    weights = np.empty((t, len(step.lam)))
    weight = np.zeros(len(step.lam))
    decay = np.zeros(len(step.lam))
    for i in range(t, 0, -1):
        weight = decay * weight + (i > t // 2) / averaged(t)
        weights[i - 1] = weight
        decay = step(i)[1]
    return weights


class AddedBlocks:
    """The coefficients of all blocks as they were added, before any decay."""

    def __init__(self) -> None:
        self._blocks: list[Single] = []

    def append(self, coefficients: Single, scale: Array) -> None:
        """Keep the block of the next iteration, shape (width, G), given up to its scale."""
        self._blocks.append(coefficients * scale.astype(np.float32))

    def mean(self, step: StepRule) -> tuple[int, Single]:
        """Return the mean function: the number of its first block, and coefficients.

        Blocks with a negligible weight are dropped, as by `Coefficients.needed`.
        """
        weights = block_weights(step, len(self._blocks)).astype(np.float32)
        blocks = np.stack(self._blocks)
        blocks *= weights[:, None]
        first = first_needed(magnitude(blocks))
        return first, blocks[first:].copy() if first else blocks


@fast
def add_scaled(values: Single, scale: Single, total: Single) -> None:
    """Add ``scale[g] * values[:, g]`` to the total, in place."""
    for i in range(values.shape[0]):
        for g in range(values.shape[1]):
            total[i, g] += scale[g] * values[i, g]

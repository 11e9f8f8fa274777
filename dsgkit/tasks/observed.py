"""When a model is looked at along its training."""

from __future__ import annotations

import math

import numpy as np

N_CHECKPOINTS = 14
"""About how often a model is looked at along training."""


def checkpoints(n_iterations: int) -> list[int]:
    """Return iterations at which a model is looked at: about evenly on a log axis, and the last."""
    powers = np.geomspace(1, n_iterations, min(N_CHECKPOINTS, n_iterations))
    return sorted({math.ceil(round(power, 6)) for power in powers})

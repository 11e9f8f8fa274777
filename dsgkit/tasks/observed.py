"""Training with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dsgkit.tasks.base import Clock

N_CHECKPOINTS = 14
"""Approximate number of checkpoints of a training."""

Along = list[tuple[int, float, Any]]
"""Iteration, seconds and function at each checkpoint."""


def checkpoints(n_iterations: int) -> list[int]:
    """Return the iterations of checkpoints: roughly even on a log axis, including the last."""
    powers = np.geomspace(1, n_iterations, min(N_CHECKPOINTS, n_iterations))
    return sorted({math.ceil(round(power, 6)) for power in powers})


def fit_watched(
    estimator: Any, training: Mapping[str, Any], n_iterations: int, clock: Clock
) -> Along:
    """Train an `Observable` in the phase ``fit``, and return its functions at checkpoints."""
    along: Along = []
    at = checkpoints(n_iterations)
    with clock.phase("fit"):
        estimator.fit_observed(**training, at=at, observe=lambda *entry: along.append(entry))
    return along

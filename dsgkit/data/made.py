"""Generated datasets that scikit-learn does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.arrays import Array


def make_nested_rings(
    n_samples: int, *, noise: float, width: float, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return a Gaussian in the plane within two rings of radius 1 and 2, a third of the rows each.

    The standard deviation of every coordinate is ``width`` in the Gaussian, and ``noise`` around
    the rings.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * 3 // n_samples
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    spread = np.where(y == 0, width, noise)[:, None]
    ring = np.column_stack([y * np.cos(angle), y * np.sin(angle)])
    return ring + spread * rng.standard_normal((n_samples, 2)), y


def make_layers(
    n_samples: int, *, n_layers: int, n_features: int, gap: float, width: float, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return parallel layers, one per class, at a distance ``gap`` along a random direction.

    A few labels do not show the direction. Unlabelled rows do: across a layer their standard
    deviation is ``width``, along it 1.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * n_layers // n_samples
    rows = rng.standard_normal((n_samples, n_features))
    rows[:, 0] = gap * (y - (n_layers - 1) / 2) + width * rows[:, 0]
    directions, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    return rows @ directions, y

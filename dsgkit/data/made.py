"""Generated datasets that scikit-learn does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.numerics.arrays import Array


def make_nested_rings(
    n_samples: int, *, noise: float, width: float, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return a Gaussian within two rings of radius 1 and 2.

    Parameters
    ----------
    n_samples : int
        A third of them in each of the three classes: Gaussian, inner ring, outer ring.
    noise : float
        Standard deviation of every coordinate of a row from its place on a ring.
    width : float
        Standard deviation of every coordinate of the Gaussian.
    random_state : int

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of int64, shape (n_samples,)
        Classes 0 to 2, from the middle outwards.
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
    """Return parallel layers, one per class, along a random direction of small variance.

    A few labels do not show the direction. Unlabelled rows do: their variance along all others is
    1.

    Parameters
    ----------
    n_samples : int
    n_layers : int
        Classes of about equal size.
    n_features : int
    gap : float
        Distance of neighbouring layers.
    width : float
        Standard deviation within a layer, across it.
    random_state : int

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int64, shape (n_samples,)
        Classes 0 to ``n_layers - 1``, in the order of the layers.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * n_layers // n_samples
    rows = rng.standard_normal((n_samples, n_features))
    rows[:, 0] = gap * (y - (n_layers - 1) / 2) + width * rows[:, 0]
    directions, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    return rows @ directions, y

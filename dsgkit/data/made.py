"""Datasets that are generated from fixed random numbers and that scikit-learn does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def make_nested_rings(
    n_samples: int, *, noise: float, width: float, random_state: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
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

"""Features of a kernel that are exact on some rows, the landmarks (Williams & Seeger 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import FitError
from dsgkit.kernels.base import Kernel
from dsgkit.linear_systems import eigh, eigh_memory

Array = NDArray[np.float64]

CUTOFF = 1e-12
"""Eigenvalues of the landmarks' Gram matrix below this share of the largest are left out.

The rounding of a kernel value, some 2^-50, is divided by the square root of an eigenvalue: with
this share the features stay exact to some 10^-9.
"""


class NystromFeatures:
    """The features ``K_zz^(-1/2) k_z(x)``, up to a rotation, of landmarks z.

    Their products are the kernel of the functions spanned by ``k(z_j, .)``: exact where one of the
    two rows is a landmark, below it elsewhere.

    Parameters
    ----------
    kernel : Kernel
    landmarks : ndarray of float64, shape (n_landmarks, n_inputs)
        Equal rows do no harm.
    sigma : float

    Attributes
    ----------
    landmarks : ndarray of float64, shape (n_landmarks, n_inputs)
    width : int
        Features: the eigenvalues of the landmarks' Gram matrix that `CUTOFF` leaves.

    Raises
    ------
    FitError
        If the kernel is 0 at all landmarks, as that of products is at rows of zeros.
    """

    def __init__(self, kernel: Kernel, landmarks: Array, sigma: float) -> None:
        self.landmarks = landmarks
        self._kernel, self._sigma = kernel, sigma
        spectrum, vectors = eigh(kernel.gram(landmarks, landmarks, sigma).T)  # ascending
        if spectrum[-1] <= 0:
            raise FitError("the kernel is 0 at all landmarks: there is no function but 0 on them")
        first = int(np.searchsorted(spectrum, CUTOFF * spectrum[-1], side="right"))
        self._projection = vectors[:, first:]
        self._projection /= np.sqrt(spectrum[first:])

    @property
    def width(self) -> int:
        """How many features there are."""
        return int(self._projection.shape[1])

    def transform(self, X: Any) -> Array:
        """Return the features of rows, shape (n, width).

        Raises
        ------
        DataError
            If a row holds NaN or infinite values.
        """
        values: Array = self._kernel.gram(X, self.landmarks, self._sigma) @ self._projection
        return values

    def expansion(self, coefficients: Array) -> Array:
        """Return the a of ``sum_j a_j k(z_j, .)``, the function with these coefficients."""
        return self._projection @ coefficients


def nystrom_memory(n_landmarks: int, n_inputs: int) -> int:
    """Return the bytes that making `NystromFeatures` allocates; a third of them is kept."""
    return eigh_memory(n_landmarks) + 8 * 3 * n_landmarks * n_inputs

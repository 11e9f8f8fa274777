"""Features of a kernel that are exact on some rows, the landmarks (Williams & Seeger 2001)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg import blas

from dsgkit.kernels.base import Kernel
from dsgkit.numerics.arrays import Array
from dsgkit.numerics.linear_systems import eigh, eigh_memory
from dsgkit.text.errors import FitError

EIGENVALUE_CUTOFF = 1e-12
"""Eigenvalues of the landmarks' Gram matrix below this share of the largest are left out.

The rounding of a kernel value, some 2^-50, is divided by the square root of an eigenvalue: with
this share the features stay exact to some 10^-9.
"""

MOMENT_ROUNDING = 1e-12
"""Largest rounding error that `NystromFeatures.moments` takes on in a mean squared feature."""


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
        Features: the eigenvalues of the landmarks' Gram matrix that `EIGENVALUE_CUTOFF` leaves.

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
        first = int(np.searchsorted(spectrum, EIGENVALUE_CUTOFF * spectrum[-1], side="right"))
        self._spectrum = spectrum[first:]
        self._projection = vectors[:, first:]
        self._projection /= np.sqrt(self._spectrum)

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

    def moments(self, blocks: Iterable[Any]) -> tuple[Array, Array]:
        """Return sums over rows, which come in blocks: of the features' products and the features.

        To project the kernel values of every block takes twice the time of their products. These
        are summed instead, and projected once, but for the leading directions: next to the products
        of those, small ones would round to nothing, and a small eigenvalue's feature is a small
        product with a large factor. Each block is therefore freed of the leading directions first.

        Parameters
        ----------
        blocks : iterable of rows

        Returns
        -------
        gram : ndarray of shape (width, width)
            Lower triangle of ``Phi'Phi``, Fortran-contiguous.
        total : ndarray of shape (width,)

        Raises
        ------
        DataError
            If a row holds NaN or infinite values.
        """
        n, width, n_leading = len(self.landmarks), self.width, self._n_leading()
        if n * (n + 6 * n_leading) < width * (2 * n + width):  # operations of either way
            return self._moments_of_values(blocks, width - n_leading)
        gram, total = np.zeros((width, width), order="F"), np.zeros(width)
        for X in blocks:
            Phi = self.transform(X)
            gram = blas.dsyrk(1.0, Phi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            total += Phi.sum(axis=0)
        return gram, total

    def _n_leading(self) -> int:
        """Return how many directions would hide those of small eigenvalues by rounding."""
        scale = len(self.landmarks) * self._spectrum[0]
        rounding = np.finfo(np.float64).eps * self._spectrum**2 / scale
        return int(np.count_nonzero(rounding > MOMENT_ROUNDING))

    def _moments_of_values(self, blocks: Iterable[Any], n_rest: int) -> tuple[Array, Array]:
        """Return the moments from products of kernel values, of which the first are ``n_rest``."""
        n, width = self._projection.shape
        rest, lead = self._projection[:, :n_rest], self._projection[:, n_rest:]
        norms = np.sqrt(self._spectrum[n_rest:])
        products, values = np.zeros((n, n), order="F"), np.zeros(n)
        across, total = np.zeros((width - n_rest, n)), np.zeros(width)
        gram = np.zeros((width, width), order="F")
        for X in blocks:
            K = self._kernel.gram(X, self.landmarks, self._sigma)
            Phi = K @ lead
            K -= (Phi * norms) @ (lead * norms).T
            products = blas.dsyrk(1.0, K.T, beta=1.0, c=products, lower=1, overwrite_c=1)
            across += Phi.T @ K
            gram[n_rest:, n_rest:] += Phi.T @ Phi
            values += K.sum(axis=0)
            total[n_rest:] += Phi.sum(axis=0)
        gram[n_rest:, :n_rest] = across @ rest
        gram[:n_rest, :n_rest] = rest.T @ blas.dsymm(1.0, products, rest, lower=1)
        total[:n_rest] = values @ rest
        return gram, total

    def expansion(self, coefficients: Array) -> Array:
        """Return the a of ``sum_j a_j k(z_j, .)``, the function with these coefficients."""
        return self._projection @ coefficients


def nystrom_memory(n_landmarks: int, n_inputs: int) -> int:
    """Return the bytes that making `NystromFeatures` allocates; a third of them is kept."""
    return eigh_memory(n_landmarks) + 8 * 3 * n_landmarks * n_inputs

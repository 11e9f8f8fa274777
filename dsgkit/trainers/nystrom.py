"""Nystrom features of a kernel, exact on some rows, the landmarks (Williams & Seeger 2001)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg import blas

from dsgkit.errors import FitError
from dsgkit.kernels import Kernel
from dsgkit.linalg import Array, eigh, eigh_memory

EIGENVALUE_CUTOFF = 1e-12
"""Eigenvalues of the landmarks' Gram matrix below this share of the largest are dropped.

The rounding of a kernel value, some 2^-50, is divided by the square root of an eigenvalue: with
this cutoff, features are accurate to some 10^-9.
"""

MOMENT_ROUNDING = 1e-12
"""Largest rounding error of a mean squared feature that `NystromFeatures.moments` accepts."""


class NystromFeatures:
    """The features ``K_zz^(-1/2) k_z(x)``, up to a rotation, of landmarks z.

    Their products are the kernel of the functions spanned by ``k(z_j, .)``: exact if one of the two
    rows is a landmark, and at most k(x, x) on the diagonal.

    Parameters
    ----------
    kernel : Kernel
    landmarks : ndarray of float64, shape (n_landmarks, n_inputs)
        Equal rows are allowed.
    sigma : float

    Attributes
    ----------
    landmarks : ndarray of float64, shape (n_landmarks, n_inputs)
    width : int
        Number of features: the eigenvalues of the landmarks' Gram matrix above the cutoff.

    Raises
    ------
    FitError
        If the kernel is 0 at all landmarks, as dot-product kernels are at rows of zeros.
    """

    def __init__(self, kernel: Kernel, landmarks: Array, sigma: float) -> None:
        self.landmarks = landmarks
        self._kernel, self._sigma = kernel, sigma
        spectrum, vectors = eigh(kernel.gram(landmarks, landmarks, sigma).T)  # ascending
        if spectrum[-1] <= 0:
            raise FitError("the kernel is 0 at all landmarks: every function on them is 0")
        first = int(np.searchsorted(spectrum, EIGENVALUE_CUTOFF * spectrum[-1], side="right"))
        self._spectrum = spectrum[first:]
        self._projection = vectors[:, first:]
        self._projection /= np.sqrt(self._spectrum)

    @property
    def width(self) -> int:
        """Number of features."""
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
        """Return sums over blocks of rows of the features' products and of the features.

        Projecting the kernel values of every block takes twice the time of their products. So the
        products are summed, and projected once, except for the leading directions. Those would
        cancel the small products of the features of small eigenvalues, which are multiplied by a
        large factor; they are removed from every block first.

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
        if n * (n + 6 * n_leading) < width * (2 * n + width):  # compare operations
            return self._moments_of_values(blocks, width - n_leading)
        gram, total = np.zeros((width, width), order="F"), np.zeros(width)
        for X in blocks:
            Phi = self.transform(X)
            gram = blas.dsyrk(1.0, Phi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            total += Phi.sum(axis=0)
        return gram, total

    def _n_leading(self) -> int:
        """Return the number of directions whose rounding would hide small eigenvalues."""
        scale = len(self.landmarks) * self._spectrum[0]
        rounding = np.finfo(np.float64).eps * self._spectrum**2 / scale
        return int(np.count_nonzero(rounding > MOMENT_ROUNDING))

    def _moments_of_values(self, blocks: Iterable[Any], n_rest: int) -> tuple[Array, Array]:
        """Return the moments from products of kernel values for the first ``n_rest`` directions."""
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
        """Return a of ``sum_j a_j k(z_j, .)``, the function with these feature coefficients."""
        return self._projection @ coefficients


def nystrom_memory(n_landmarks: int, n_inputs: int) -> int:
    """Return the bytes that making `NystromFeatures` allocates; a third of them is kept."""
    return eigh_memory(n_landmarks) + 8 * 3 * n_landmarks * n_inputs

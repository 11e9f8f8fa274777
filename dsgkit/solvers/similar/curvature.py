"""The curvature of the uncorrected similar-unlabelled risk with the squared loss.

Its second derivative is half the covariance operator of the unlabelled rows, whatever the prior: a
step of gradient descent may be as long as ``1/(lam + L/2)``, where L is the largest eigenvalue of
their kernel matrix over their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import eigsh

from dsgkit.kernels import kernel_named
from dsgkit.numerics.rows import spaced
from dsgkit.system.threads import single_blas_thread

SAMPLE_ROWS = 800
"""Unlabelled rows that stand for all."""

FEW_ROWS = 32
"""Rows up to which all eigenvalues are computed."""


def largest_eigenvalue(X_unlabeled: Any, sigma: float, kernel: str) -> float:
    """Return the largest eigenvalue of the kernel matrix of unlabelled rows over their number.

    Parameters
    ----------
    X_unlabeled : rows
        At most `SAMPLE_ROWS` of them are read, evenly spaced.
    sigma : float
        Parameter of the kernel.
    kernel : str
    """
    sample = np.asarray(spaced(X_unlabeled, SAMPLE_ROWS))
    with single_blas_thread():  # under numba's threads BLAS's are slow
        K = kernel_named(kernel).gram(sample, sample, sigma)
        return largest_of(K) / len(K)


def largest_of(K: NDArray[np.float64]) -> float:
    """Return the largest eigenvalue of a symmetric matrix by Lanczos' method."""
    if len(K) <= FEW_ROWS:
        return float(linalg.eigvalsh(K)[-1])
    if not K.any():
        return 0.0
    start = np.cos(np.arange(len(K)))  # a given one, so that the bits are the same every time
    return float(eigsh(K, k=1, which="LA", v0=start, tol=1e-7, return_eigenvectors=False)[0])

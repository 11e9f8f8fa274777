"""The curvature of the uncorrected similar-unlabelled risk with the squared loss.

Its second derivative is half the covariance operator of the unlabelled rows, whatever the prior: a
step of gradient descent may be as long as ``1/(lam + L/2)``, where L is the largest eigenvalue of
their kernel matrix over their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from dsgkit.kernels import kernel_named
from dsgkit.solvers.inputs import spaced

SAMPLE_ROWS = 800
"""Unlabelled rows that stand for all."""


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
    K = kernel_named(kernel).gram(sample, sample, sigma)
    last = len(K) - 1
    return float(linalg.eigvalsh(K, subset_by_index=(last, last))[0] / len(K))

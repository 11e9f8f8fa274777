"""The curvature of a pairwise quadratic risk, measured on some of the rows.

A step of functional gradient descent may be as long as the inverse of the largest eigenvalue of the
risk's second derivative, which on real rows is a fifth to a fortieth of what holds for any rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels.gaussian import gaussian_gram
from dsgkit.solvers.auc.pairwise_quadratic import PairwiseRisk, label_weights
from dsgkit.solvers.inputs import spaced
from dsgkit.threads import single_blas_thread

SAMPLE_ROWS = 1000
"""Unlabelled rows that stand for all."""

MARGIN = 1.25
"""What is measured times this is taken: other rows may have a larger curvature."""

_STEPS = 30
"""Of the power iteration, whose error is then far below the margin."""


class SampledCurvature:
    """Measures risks on the exact kernel of the labelled and some unlabelled rows.

    Parameters
    ----------
    X : rows of shape (n_labeled, n_inputs)
    codes : ndarray of int, shape (n_labeled,)
        Their classes, as `label_weights` takes them.
    X_unlabeled : rows
        At most `SAMPLE_ROWS` of them are read, evenly spaced.
    n_classes : int
    sigma : float
        Parameter of the Gaussian kernel.
    """

    def __init__(
        self, X: Any, codes: NDArray[np.integer], X_unlabeled: Any, n_classes: int, sigma: float
    ) -> None:
        sample = np.asarray(spaced(X_unlabeled, SAMPLE_ROWS))
        rows = np.concatenate([np.asarray(X[:]), sample])
        self._gram = gaussian_gram(rows, rows, sigma)
        self._weights = np.zeros((len(rows), n_classes + 1))
        self._weights[: len(codes), :-1] = label_weights(codes, n_classes)
        self._weights[len(codes) :, -1] = 1 / len(sample)

    def of(self, risk: PairwiseRisk) -> float:
        """Return the largest eigenvalue of ``2 M K``, measured by power iteration, and a margin.

        ``M K`` is symmetric in the inner product of the kernel, so that its Rayleigh quotients
        rise to the largest eigenvalue.
        """
        K, W = self._gram, self._weights
        diagonal = W @ risk.diagonal
        v = diagonal * np.sin(np.arange(len(K)))  # of no direction in particular
        quotient = 0.0
        with single_blas_thread():
            for _ in range(_STEPS):
                z = K @ v
                image = diagonal * z + W @ (risk.cross @ (W.T @ z))
                quotient = float(image @ z) / max(float(v @ z), np.finfo(np.float64).tiny)
                v = image / np.linalg.norm(image)
        return 2 * MARGIN * quotient

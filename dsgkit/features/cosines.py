"""Base class of features that are a cosine and a sine for each frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.linalg import Single, read_rows
from dsgkit.system.machine import single_blas_thread


class CosinesAndSines:
    """Features ``phi(x) = sqrt(1/m) psi(x)``, where ``psi(x)`` are plain cosines and sines.

    A subclass has ``n_frequencies``, the m of a block; ``draw(block, n_inputs)``, which returns the
    random numbers of a block; and ``cos_sin(X, drawn)``, its ``psi`` at rows, of shape (n, 2m).
    """

    n_frequencies: int
    draw: Any
    cos_sin: Any

    @property
    def width(self) -> int:
        """Number of features of a block: a cosine and a sine for each frequency."""
        return 2 * self.n_frequencies

    @property
    def scale(self) -> float:
        """The factor of ``phi = scale psi``."""
        return float(np.sqrt(1 / self.n_frequencies))

    def transform(self, X: Any, block: int) -> Single:
        """Return the features of a block at the rows of ``X``, shape (n, 2 * n_frequencies)."""
        X = read_rows(X, slice(None))
        with single_blas_thread():
            features: Single = self.cos_sin(X, self.draw(block, X.shape[1]))
        features *= np.float32(self.scale)
        return features


def frequencies_of(width: int) -> int:
    """Return the number of frequencies of a block with ``width`` features.

    Raises
    ------
    ValueError
        If ``width`` is odd.
    """
    if width % 2:
        raise ValueError(f"{width} features: must be even, a cosine and a sine per frequency")
    return width // 2

"""Hessians of models that weight the rows of a batch by their own values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from dsgkit.engine import sizes
from dsgkit.engine.block_problem import BlockProblem
from dsgkit.engine.hessians import solve
from dsgkit.linalg import Array, Single


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of a batch, with derivatives of the bound on each model's loss.

    Attributes
    ----------
    models : slice
        The models of the batch.
    features : callable
        Maps a slice of the rows to the block's features there, in float32.
    coefficients, weights : ndarray of float32, shape (n_rows, n_models)
        First and second derivatives with respect to the values; a row with weight 0 has coefficient
        0.
    """

    models: slice
    features: Callable[[slice], Single]
    coefficients: Single
    weights: Single


class WeightedHessians:
    """The Hessians ``Phi' diag(w) Phi + mu I`` of a run, with weights w for every model.

    Features are computed once for `sizes.hessians_at_once` models.

    Parameters
    ----------
    problem : BlockProblem
    mu : ndarray of shape (G,)
        Added to the diagonal.
    """

    def __init__(self, problem: BlockProblem, mu: Array) -> None:
        self._width, self._mu = problem.features.width, mu

    def solve(self, parts: Sequence[WeightedRows], penalty: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding.

        Parameters
        ----------
        parts : sequence of WeightedRows
            Together they cover all models.
        penalty : ndarray of shape (width, G)
            Gradient of the penalty.
        """
        solution = np.empty_like(penalty)
        length = sizes.hessians_at_once(self._width)
        for part in parts:
            for first in range(part.models.start, part.models.stop, length):
                models = range(first, min(first + length, part.models.stop))
                hessians, gradient = self._derivatives(part, models)
                for hessian, slope, model in zip(hessians, gradient.T, models, strict=True):
                    right = penalty[:, model] + slope
                    solution[:, model] = solve(hessian.T, float(self._mu[model]), right)
        return solution

    def _derivatives(self, part: WeightedRows, models: range) -> tuple[Array, Array]:
        """Return Hessians (upper triangles) and gradients of the models' losses."""
        hessians = np.zeros((len(models), self._width, self._width))
        gradient = np.zeros((self._width, len(models)))
        columns = slice(models.start - part.models.start, models.stop - part.models.start)
        length = sizes.feature_rows(self._width)
        for start in range(0, len(part.weights), length):
            chunk = slice(start, start + length)
            Phi = part.features(chunk)
            gradient += Phi.astype(np.float64).T @ part.coefficients[chunk, columns]
            for hessian, weights in zip(hessians, part.weights[chunk, columns].T, strict=True):
                rows = np.flatnonzero(weights)  # includes NaN: a diverged model stays diverged
                if len(rows):
                    scaled = Phi[rows]
                    scaled *= np.sqrt(weights[rows])[:, None]
                    hessian.T[:] += blas.ssyrk(1.0, scaled.T, lower=1)
        return hessians, gradient

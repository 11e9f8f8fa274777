"""Hessians of models that weigh the rows of a batch by their own values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from dsgkit.engine import sizes
from dsgkit.engine.block_problem import BlockProblem
from dsgkit.engine.hessians import solved
from dsgkit.numerics.arrays import Array, Single


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of a batch, and what each counts in the bound of a model's loss.

    Attributes
    ----------
    models : slice
        The models of the batch.
    features : callable
        Takes a slice of the rows, returns the block's features at them in float32.
    coefficients, weights : ndarray of float32, shape (n_rows, n_models)
        First and second derivatives by the values; a row of weight 0 has the coefficient 0.
    """

    models: slice
    features: Callable[[slice], Single]
    coefficients: Single
    weights: Single


class WeightedHessians:
    """The Hessians ``Phi' diag(w) Phi + mu I`` of a run, every model with weights w of its own.

    Features are made once for as many models as `sizes.hessians_at_once` lets share them.

    Parameters
    ----------
    problem : BlockProblem
    mu : ndarray of shape (G,)
        What is added to the diagonal.
    """

    def __init__(self, problem: BlockProblem, mu: Array) -> None:
        self._width, self._mu = problem.features.width, mu

    def solve(self, parts: Sequence[WeightedRows], penalty: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding.

        Parameters
        ----------
        parts : sequence of WeightedRows
            Together of all models.
        penalty : ndarray of shape (width, G)
            Gradient of the penalty, which that of the loss is added to.
        """
        solution = np.empty_like(penalty)
        length = sizes.hessians_at_once(self._width)
        for part in parts:
            for first in range(part.models.start, part.models.stop, length):
                models = range(first, min(first + length, part.models.stop))
                hessians, gradient = self._derivatives(part, models)
                for hessian, of_loss, model in zip(hessians, gradient.T, models, strict=True):
                    right = penalty[:, model] + of_loss
                    solution[:, model] = solved(hessian.T, float(self._mu[model]), right)
        return solution

    def _derivatives(self, part: WeightedRows, models: range) -> tuple[Array, Array]:
        """Return the upper triangles of the models' Hessians, and gradients, of the loss."""
        hessians = np.zeros((len(models), self._width, self._width))
        gradient = np.zeros((self._width, len(models)))
        columns = slice(models.start - part.models.start, models.stop - part.models.start)
        length = sizes.feature_rows(self._width)
        for start in range(0, len(part.weights), length):
            chunk = slice(start, start + length)
            Phi = part.features(chunk)
            gradient += Phi.astype(np.float64).T @ part.coefficients[chunk, columns]
            for hessian, weights in zip(hessians, part.weights[chunk, columns].T, strict=True):
                rows = np.flatnonzero(weights)  # NaN among them: a lost model is to stay lost
                if len(rows):
                    scaled = Phi[rows]
                    scaled *= np.sqrt(weights[rows])[:, None]
                    hessian.T[:] += blas.ssyrk(1.0, scaled.T, lower=1)
        return hessians, gradient

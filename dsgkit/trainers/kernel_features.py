"""Kernel expansions at labelled rows, trained in features whose products are kernel values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.kernels import expansion_flops, kernel_named
from dsgkit.linalg import EIGH_FLOPS, eigh_memory, training_rows
from dsgkit.system.machine import single_blas_thread
from dsgkit.trainers.kernel_machines import KernelMachine
from dsgkit.trainers.training import Array, Codes, Given

USUAL_FOLDS = 5
"""Eigendecompositions that a grid at one sigma is assumed to need."""


class KernelFeatures:
    """Features of some rows whose products are exactly the kernel's values.

    By the eigendecomposition ``K = V S V'`` they are ``V S^1/2``: orthogonal columns with squared
    norms S. Eigenvalues below rounding are dropped.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        K, symmetric; overwritten.

    Attributes
    ----------
    spectrum : ndarray of shape (n_features,)
        S.
    rows : ndarray of shape (n, n_features)
    """

    def __init__(self, gram: Array) -> None:
        with single_blas_thread():  # at hundreds of rows, a second thread does not pay
            spectrum, vectors = linalg.eigh(
                gram.T, overwrite_a=True, check_finite=False, driver="evd"
            )
        kept = spectrum > len(gram) * np.finfo(float).eps * spectrum[-1]
        self.spectrum = spectrum[kept]
        self._vectors = vectors[:, kept]
        self.rows = self._vectors * np.sqrt(self.spectrum)

    def coefficients(self, weights: Array) -> Array:
        """Return the coefficients of the kernel expansion for weights of the features."""
        return (self._vectors / np.sqrt(self.spectrum)) @ weights


class Solution(NamedTuple):
    """A minimiser of a loss of ordered classes.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    intercept : float
    thresholds : ndarray of shape (n_classes - 1,), optional
        Only of losses with thresholds.
    """

    weights: Array
    intercept: float
    thresholds: Array | None = None


class OrdinalLoss(Protocol):
    """A mean loss of labelled rows that can be minimised in features of a kernel."""

    def solve(
        self, features: KernelFeatures, codes: Codes, n_classes: int, lams: Sequence[float]
    ) -> list[Solution]:
        """Return the minimiser for each weight of the regulariser."""
        ...

    def flops(self, n_labeled: int, n_cuts: int) -> float:
        """Return the double-precision operations of `solve` for one weight."""
        ...


@dataclass(frozen=True)
class OnKernelFeatures:
    """Minimiser of a loss over kernel expansions at the training rows.

    Models that differ only in the weight of the regulariser share one eigendecomposition.

    Attributes
    ----------
    kernel : str
    sigma : float
    loss : OrdinalLoss
    """

    kernel: str
    sigma: float
    loss: OrdinalLoss

    def fit(self, given: Given, weight: float) -> KernelMachine:
        """Minimise the loss of all rows; see `OrdinalTrainer`."""
        centers = np.asarray(given.X[:], np.float64)
        features = KernelFeatures(kernel_named(self.kernel).gram(centers, centers, self.sigma))
        (best,) = self.loss.solve(features, given.codes, given.n_sources, [weight])
        coef = features.coefficients(best.weights)
        return KernelMachine(
            self.kernel,
            self.sigma,
            centers,
            coef,
            intercept=best.intercept,
            extra_attributes={"own_thresholds_": best.thresholds},
        )

    def fold_values(
        self, given: Given, folds: Sequence[NDArray[np.integer]], weights: Sequence[float]
    ) -> Array:
        """Return out-of-fold values, from one kernel matrix; see `OrdinalTrainer`."""
        X = np.asarray(given.X[:], np.float64)
        gram = kernel_named(self.kernel).gram(X, X, self.sigma)
        values = np.full((len(weights), len(X)), np.nan)
        for held_out in folds:
            values[:, held_out] = self._held_out(gram, given, held_out, weights)
        return values

    def _held_out(
        self, gram: Array, given: Given, held_out: NDArray[np.integer], weights: Sequence[float]
    ) -> list[Array]:
        """Return the values at held-out rows of a model for each weight, trained on the others."""
        train = training_rows(held_out, len(given.codes))
        features = KernelFeatures(gram[np.ix_(train, train)])
        cross = gram[np.ix_(held_out, train)]
        solutions = self.loss.solve(features, given.codes[train], given.n_sources, weights)
        return [cross @ features.coefficients(s.weights) + s.intercept for s in solutions]

    def cost(self, n_inputs: int, n_labeled: int, n_cuts: int, n_models: int) -> Cost:
        """Return the cost of a fit, or of a grid on folds."""
        n, double = n_labeled, 2
        decomposing = EIGH_FLOPS * n**3 * min(n_models, USUAL_FOLDS)
        building = n**2 * (n_inputs + FUNCTION_FLOPS / 2)
        predicting = kernel_named(self.kernel).memory(n, n_inputs)
        return Cost(
            flops=double * (building + decomposing + n_models * self.loss.flops(n, n_cuts)),
            memory=max(eigh_memory(n) + 24 * n * n_inputs, predicting),
            flops_per_row=expansion_flops(n, n_inputs),
        )

"""Least squares on the classes of labelled rows, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.kernels import expansion_flops, expansion_memory, kernel_named
from dsgkit.linalg import EIGH_FLOPS, Array, eigh, eigh_memory, solve_penalised
from dsgkit.objectives.pairwise_risk import POSITIVE
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.linear import Inputs, LinearFunction, with_constant
from dsgkit.trainers.responses import SINGULAR_SYSTEM
from dsgkit.trainers.training import Folds, Sizes, Trainer, Training


@dataclass(frozen=True)
class LeastSquares(Trainer):
    """The minimiser of `SquaredLoss` over the functions of a kernel, or linear ones with a bias.

    It has two sources, positive and negative rows; unlabelled rows are not used. O(n^3) time and
    8 n^2 bytes for a kernel.

    Attributes
    ----------
    kernel : str
        "linear" uses the inputs and a constant 1.
    """

    kernel: str
    sigma: float

    def fit(self, training: Training) -> Expansion | LinearFunction:
        """Solve the system of the one model of a training; see `Trainer`."""
        t = training
        X = np.asarray(t.X[:], np.float64)
        matrix, right = self._system(X, t.codes)
        penalty = 2 * len(X) * t.lam[0]
        coef = solve_penalised(matrix, penalty, right, singular=SINGULAR_SYSTEM)
        return self._function(X, coef)

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, one factorisation a fold; see `Trainer`."""
        t = training
        t.check_pools()
        at_labeled, nothing = t.nan_values()
        lams = t.lam[: len(t.penalties)]
        for fold, pool in zip(folds, t.pools, strict=True):
            X = np.asarray(t.X[pool], np.float64)
            function = self._function(X, self._solve_all(X, t.codes[pool], lams))
            at_labeled[:, fold.labeled] = function.values(t.X[fold.labeled]).T
        return at_labeled, nothing

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a fit, or of a grid of models on folds."""
        n_rows, n_inputs = sizes.n_labeled, sizes.n_inputs
        double, linear = 2, self.kernel == "linear"
        size = n_inputs + 1 if linear else n_rows
        solving = size**3 / 3
        if n_models > 1:
            solving = EIGH_FLOPS * size**3 + n_models * size**2
        if linear:
            building = float(n_rows * size**2)
            memory = 2 * 8 * n_rows * size
        else:
            building = n_rows**2 * (n_inputs + FUNCTION_FLOPS / 2)
            memory = expansion_memory(n_rows, n_inputs) + 24 * n_rows * n_inputs
        matrix = 8 * size**2 if n_models == 1 else eigh_memory(size)
        return Cost(
            flops=double * (building + solving),
            memory=memory + matrix + 8 * size * n_models,
            flops_per_row=2.0 * double * size if linear else expansion_flops(size, n_inputs),
        )

    def _function(self, X: Array, coef: Array) -> Expansion | LinearFunction:
        """Return the function of coefficients; a 2-D array has a function per column."""
        if self.kernel == "linear":
            return LinearFunction(Inputs(), coef)
        return Expansion(self.kernel, self.sigma, X, coef)

    def _solve_all(self, X: Array, codes: NDArray[np.integer], lams: Array) -> Array:
        """Return the coefficients of every lam, a column each."""
        matrix, right = self._system(X, codes)
        spectrum, vectors = eigh(matrix)
        penalties = 2 * len(X) * lams
        rotated = vectors.T @ right
        return vectors @ (rotated[:, None] / (spectrum[:, None] + penalties))

    def _system(self, X: Array, codes: NDArray[np.integer]) -> tuple[Array, Array]:
        """Return A and b: the coefficients w solve ``(A + 2 n lam I) w = b``."""
        signs = np.where(codes == POSITIVE, 1.0, -1.0)
        if self.kernel == "linear":
            Phi = with_constant(X)
            return np.asfortranarray(Phi.T @ Phi), Phi.T @ signs
        return kernel_named(self.kernel).gram(X, X, self.sigma).T, signs

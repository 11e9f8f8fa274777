"""Losses of ordered classes, minimised over the functions of a kernel on the labelled rows."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data, Sizes
from dsgkit.kernels import expansion_flops, expansion_memory, kernel_named
from dsgkit.linalg import EIGH_FLOPS, Array, eigh, eigh_memory
from dsgkit.risks.pairwise import above_cuts
from dsgkit.system.machine import single_blas_thread


class KernelFeatures:
    """Features of rows whose products are exactly the kernel's values.

    By the eigendecomposition ``K = V S V'`` they are ``V S^1/2``: orthogonal columns with squared
    norms S. Eigenvalues below rounding are dropped.
    """

    def __init__(self, data: Data, kernel: str, sigma: float) -> None:
        self.codes, self.n_classes = data.codes, data.n_sources
        self._kernel, self._sigma = kernel, sigma
        self._X = np.asarray(data.X[:], np.float64)
        gram = kernel_named(kernel).gram(self._X, self._X, sigma)
        with single_blas_thread():  # at hundreds of rows, a second thread does not pay
            spectrum, vectors = eigh(gram.T)
        kept = spectrum > len(gram) * np.finfo(float).eps * spectrum[-1]
        self.spectrum, self._vectors = spectrum[kept], vectors[:, kept]
        self.rows = self._vectors * np.sqrt(self.spectrum)

    def function(self, weights: Array, offset: float = 0.0) -> Expansion:
        """Return the function with these weights of the features."""
        coef = (self._vectors / np.sqrt(self.spectrum)) @ weights
        return Expansion(self._kernel, self._sigma, self._X, coef[:, None], offset)


def ridge_on_numbers(features: KernelFeatures, lam: float) -> Expansion:
    """Return the minimiser of the mean of ``(y - m - f(x))^2`` plus ``lam ||f||^2``.

    The y are the numbers 1..k of the classes, and m is their mean.
    """
    numbers = features.codes + 1.0
    mean = float(numbers.mean())
    moments = features.rows.T @ (numbers - mean)
    return features.function(moments / (features.spectrum + len(numbers) * lam), mean)


class AllThresholds:
    """Minimises ``mean_i sum_j log(1 + exp(-z_ij (f(x_i) - b_j))) + lam/2 ||f||^2``.

    z_ij is 1 above cut j, else -1. Every solution is the start of the next one.
    """

    def __init__(self, features: KernelFeatures) -> None:
        self._features = features
        above = above_cuts(features.codes, features.n_classes)
        share = above.mean(axis=0)
        self._open = (share > 0) & (share < 1)
        self._closed = np.where(share > 0.5, -np.inf, np.inf)
        self._sign = np.where(above[:, self._open], 1.0, -1.0)
        self._weights = np.zeros(len(features.spectrum))
        self._cuts = -special.logit(share[self._open])

    def solve(self, lam: float) -> tuple[Expansion, Array]:
        """Return the function and the thresholds, infinite where a cut has an empty side."""
        Phi, sign = self._features.rows, self._sign
        # the curvature is at most 1/4 per cut: precondition by that, as features are orthogonal
        curvature = self._features.spectrum / len(sign) * sign.shape[1] / 4
        scale = 1 / np.sqrt(curvature + lam)

        def objective(x: Array) -> tuple[float, Array]:
            w, b = x[: len(scale)] * scale, x[len(scale) :]
            loss, pull = all_threshold_loss(Phi @ w, b, sign)
            slope = lam * w - Phi.T @ pull.sum(axis=1)
            return loss + lam / 2 * w @ w, np.append(slope * scale, pull.sum(axis=0))

        start = np.append(self._weights / scale, self._cuts)
        with single_blas_thread():  # with few rows, a second thread gains nothing
            x = optimize.minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                options={
                    "gtol": 1e-7, "ftol": 1e-15, "maxiter": 5000, "maxfun": 10000, "maxcor": 20
                },
            ).x  # fmt: skip
        self._weights = x[: len(scale)] * scale
        self._cuts = np.maximum.accumulate(x[len(scale) :])
        thresholds = self._closed.copy()
        thresholds[self._open] = self._cuts
        return self._features.function(self._weights), thresholds


def all_threshold_loss(values: Array, cuts: Array, sign: Array) -> tuple[float, Array]:
    """Return the mean of the loss, and its slopes by each ``b_j - f(x_i)``, as in `sign`."""
    margin = sign * (values[:, None] - cuts)
    return np.logaddexp(0, -margin).sum() / len(values), sign * special.expit(-margin) / len(values)


def features_cost(n: Sizes, n_models: int, flops: float) -> Cost:
    """Return the cost of models that share features, with operations for each of them.

    A grid at one sigma is assumed to need an eigendecomposition for each of 5 folds.
    """
    rows, double = n.labeled, 2
    decomposing = EIGH_FLOPS * rows**3 * min(n_models, 5)
    building = rows**2 * (n.inputs + FUNCTION_FLOPS / 2)
    return Cost(
        flops=double * (building + decomposing + n_models * flops),
        memory=max(eigh_memory(rows) + 24 * rows * n.inputs, expansion_memory(rows, n.inputs)),
        flops_per_row=expansion_flops(rows, n.inputs),
    )

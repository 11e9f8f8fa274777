"""Losses of ordered classes, minimised in features of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dsgkit.objectives.ordinal_risk import above_cuts
from dsgkit.system.machine import single_blas_thread
from dsgkit.trainers.kernel_features import KernelFeatures, Solution
from dsgkit.trainers.training import Array, Codes

USUAL_STEPS = 60
"""Typical number of evaluations of the all-threshold loss in a minimisation."""


@dataclass(frozen=True)
class SquaredNumbers:
    """The mean of ``(y_i - m - f(x_i))^2``, y being the numbers 1..k of the classes, m their mean.

    The regulariser is ``lam ||f||^2``.
    """

    def solve(
        self, features: KernelFeatures, codes: Codes, n_classes: int, lams: Sequence[float]
    ) -> list[Solution]:
        """Return the minimiser for each lam; see `OrdinalLoss`."""
        numbers = codes + 1.0
        mean = float(numbers.mean())
        moments = features.rows.T @ (numbers - mean)
        return [Solution(moments / (features.spectrum + len(codes) * lam), mean) for lam in lams]

    def flops(self, n_labeled: int, n_cuts: int) -> float:
        """Return the operations for one lam; see `OrdinalLoss`."""
        return 4 * n_labeled**2


@dataclass(frozen=True)
class AllThresholds:
    """The mean of ``sum_j log(1 + exp(-z_ij (f(x_i) - b_j)))``, z_ij being 1 above cut j, else -1.

    The regulariser is ``lam/2 ||f||^2``.
    """

    def solve(
        self, features: KernelFeatures, codes: Codes, n_classes: int, lams: Sequence[float]
    ) -> list[Solution]:
        """Return the minimiser for each lam; see `OrdinalLoss`."""
        above = above_cuts(codes, n_classes)
        share = above.mean(axis=0)
        open_cuts = (share > 0) & (share < 1)
        weights = np.zeros(len(features.spectrum))
        cuts = -special.logit(share[open_cuts])
        solutions: list[Any] = [None] * len(lams)
        sides = above[:, open_cuts]
        with single_blas_thread():  # with few rows, a second thread gains nothing
            # the largest lam first: every solution is the start of the next one
            for number in np.argsort(lams)[::-1]:
                weights, cuts = _minimise(features, sides, lams[number], weights, cuts)
                thresholds = np.where(share > 0.5, -np.inf, np.inf)
                thresholds[open_cuts] = cuts
                solutions[number] = Solution(weights, 0.0, thresholds)
        return solutions

    def flops(self, n_labeled: int, n_cuts: int) -> float:
        """Return the operations for one lam; see `OrdinalLoss`."""
        return USUAL_STEPS * n_labeled * (4 * n_labeled + 2 * n_cuts * 20)


def _minimise(
    features: KernelFeatures, above: NDArray[np.bool_], lam: float, weights: Array, cuts: Array
) -> tuple[Array, Array]:
    """Return the weights of the features and the thresholds that minimise the objective."""
    Phi, n = features.rows, len(above)
    sign = np.where(above, 1.0, -1.0)
    # the loss has a curvature of at most 1/4 per cut: precondition by that, features are orthogonal
    scale = 1 / np.sqrt(features.spectrum / n * sign.shape[1] / 4 + lam)

    def loss(x: Array) -> tuple[float, Array]:
        w, b = x[: len(scale)] * scale, x[len(scale) :]
        margin = sign * ((Phi @ w)[:, None] - b)
        pull = sign * special.expit(-margin) / n
        value = np.logaddexp(0, -margin).sum() / n + lam / 2 * w @ w
        slope = lam * w - Phi.T @ pull.sum(axis=1)
        return value, np.append(slope * scale, pull.sum(axis=0))

    x = optimize.minimize(
        loss,
        np.append(weights / scale, cuts),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-7, "ftol": 1e-15, "maxiter": 5000, "maxfun": 10000, "maxcor": 20},
    ).x
    return x[: len(scale)] * scale, np.maximum.accumulate(x[len(scale) :])

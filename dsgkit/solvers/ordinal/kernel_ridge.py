"""Kernel ridge regression on the numbers of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, Sigma, Thresholds, UnlabeledLabel
from dsgkit.solvers.ordinal.base import Codes
from dsgkit.solvers.ordinal.labeled_kernel import KernelFeatures, LabeledKernelEstimator


class KernelRidgeOrdinal(LabeledKernelEstimator):
    """Kernel ridge regression on the classes as the numbers 1..k.

    Minimises the *mean* of ``(y_i - m - f(x_i))^2`` over the labelled rows, plus ``lam ||f||^2``,
    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``; m is the mean of the
    numbers. `sklearn.kernel_ridge.KernelRidge` calls ``n_labeled * lam`` alpha. Unlabelled rows are
    not used for the function. O(n_labeled^3) time.

    References
    ----------
    .. [1] Saunders, Gammerman & Vovk, "Ridge regression learning algorithm in dual variables",
       ICML 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.kernel_ridge import KernelRidgeOrdinal
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = KernelRidgeOrdinal().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    version: ClassVar[int] = 1

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    def _solve(self, features: KernelFeatures, codes: Codes, lams: Sequence[float]) -> list[Any]:
        numbers = codes + 1.0
        mean = float(numbers.mean())
        moments = features.rows.T @ (numbers - mean)
        return [(moments / (features.spectrum + len(codes) * lam), mean, None) for lam in lams]

    def _solve_flops(self, n_labeled: int, n_cuts: int) -> float:
        return 4 * n_labeled**2

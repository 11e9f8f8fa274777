"""Kernel ridge regression on the numbers of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from dsgkit.solvers.ordinal.base import Codes
from dsgkit.solvers.ordinal.labeled_kernel import KernelFeatures, LabeledKernelEstimator


class KernelRidgeOrdinal(LabeledKernelEstimator):
    """Kernel ridge regression on the classes as the numbers 1..k.

    Minimises the *mean* of ``(y_i - m - f(x_i))^2`` over the labelled rows, plus ``lam ||f||^2``,
    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``; m is the mean of the
    numbers. `sklearn.kernel_ridge.KernelRidge` calls ``n_labeled * lam`` alpha. Unlabelled rows are
    not used for the function. O(n_labeled^3) time.

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float or "scale"
        Parameter of the kernel. "scale" fits it to the labelled rows
        (`dsgkit.solvers.sigma.scale_of`).
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p; or "linear", which has no sigma.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule of the thresholds (`dsgkit.solvers.ordinal.thresholds`).
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    centers_ : ndarray of shape (n_labeled, n_inputs)
        The labelled rows.
    coef_ : ndarray of shape (n_labeled,)
        Coefficients of the kernel at them.
    intercept_ : float
        The mean m.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    thresholds_ : ndarray of shape (n_classes - 1,)

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

    def __init__(
        self,
        lam: float = 0.01,
        sigma: float | Literal["scale"] = "scale",
        *,
        kernel: str = "gaussian",
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
        max_memory: float | None = None,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.kernel = kernel
        self.thresholds = thresholds
        self.max_memory = max_memory
        self.unlabeled_label = unlabeled_label

    def _solve(self, features: KernelFeatures, codes: Codes, lams: Sequence[float]) -> list[Any]:
        numbers = codes + 1.0
        mean = float(numbers.mean())
        moments = features.rows.T @ (numbers - mean)
        return [(moments / (features.spectrum + len(codes) * lam), mean, None) for lam in lams]

    def _solve_flops(self, n_labeled: int, n_cuts: int) -> float:
        return 4 * n_labeled**2

"""Exact S2OR: the exact minimiser of the semi-supervised ordinal risk with a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Pace
from dsgkit.solvers.auc.exact_kernel import ExactKernelEstimator
from dsgkit.solvers.auc.pairwise_quadratic import Codes
from dsgkit.solvers.base import Folds
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.closed_form import ClosedFormOrdinal


class ExactS2OR(ExactKernelEstimator, ClosedFormOrdinal):
    """Exact minimiser of the semi-supervised ordinal risk with a kernel.

    Minimises the mean over the cuts between k ordered classes of
    ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f))``, plus ``lam/2 ||f||^2``, over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``. R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs; of a cut, the rows of all classes above are positive
    and those of all below negative.
    This is the problem that QS3ORAO approximates [1]_; with two classes it is that of `SAMULT`.
    One Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float or "scale"
        Parameter of the kernel. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float or tuple of float
        Weight of the supervised risk, in 0..1, of all cuts or of each; with 1 the unlabelled rows
        are not used.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p; or "linear", which has no sigma.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule that places the thresholds between the classes on the function's values.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    centers_ : ndarray of shape (n, n_inputs)
        The rows that the function is expanded on.
    coef_ : ndarray of shape (n,)
        Its coefficients.
    thresholds_ : ndarray of shape (n_classes - 1,)

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import ExactS2OR
    >>> X, y = load_wine(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = ExactS2OR().fit(X[::3], y[::3], X)
    >>> model.score(X, y) > 0.98
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=0.5)

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float | tuple[float, ...] = 0.5,
        *,
        kernel: str = "gaussian",
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
        max_memory: float | None = None,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.thresholds = thresholds
        self.max_memory = max_memory
        self.unlabeled_label = unlabeled_label

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> NDArray[np.float64]:
        if self._semi_supervised:
            return super()._out_of_fold(X, codes, X_unlabeled, folds, reference)
        # without the unlabelled rows, which may be many, every fold is a small system
        return OrdinalEstimator._out_of_fold(self, X, codes, X_unlabeled, folds, reference)

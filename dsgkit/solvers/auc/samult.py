"""SAMULT: semi-supervised AUC maximisation without the class prior, in closed form."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.objectives.pairwise_risk import PairwiseRisk, samult_risk
from dsgkit.solvers.auc.closed_form import ClosedFormRanker
from dsgkit.solvers.auc.exact_kernel import ExactKernelEstimator
from dsgkit.solvers.auc.pairwise_quadratic import Codes
from dsgkit.solvers.parameters import PER_MODEL, SHARE


class SAMULT(ExactKernelEstimator, ClosedFormRanker):
    """Exact minimiser of the semi-supervised AUC risk with a kernel.

    Minimises ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f)) + lam/2 ||f||^2`` over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``, where R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs. This is the problem that QSG-S2AUC approximates. One
    Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float or "scale"
        Parameter of the kernel. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float
        Weight of the supervised risk, in 0..1; with 1 the unlabelled rows are not used.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p; or "linear", which has no sigma.
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
    remark_ : str
        With gamma = 1, that the unlabelled rows were not used: another, cheaper computation.

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import SAMULT
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = SAMULT().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1

    gamma: Annotated[float, SHARE, PER_MODEL]

    remark_: str

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float = 0.5,
        *,
        kernel: str = "gaussian",
        max_memory: float | None = None,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.max_memory = max_memory
        self.unlabeled_label = unlabeled_label

    def uses(self, name: str) -> bool:
        """Tell so of the unlabelled rows if gamma is below 1, or ``sigma`` is that of all rows."""
        return name != "X_unlabeled" or self._semi_supervised or self.sigma == "scale"

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        super()._solve(X, codes, X_unlabeled)
        used = self._semi_supervised
        self.remark_ = "" if used else "gamma = 1: unlabelled rows were not used"

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return samult_risk(self.gamma)

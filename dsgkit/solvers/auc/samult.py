"""SAMULT: semi-supervised AUC maximisation without the class prior, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.objectives.pairwise_risk import PairwiseRisk, samult_risk
from dsgkit.solvers.auc.closed_form import ClosedFormRanker
from dsgkit.solvers.auc.exact_kernel import ExactKernelEstimator
from dsgkit.solvers.auc.pairwise_quadratic import Codes
from dsgkit.solvers.common import Gamma, GramKernelName, Lam, MaxMemory, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted


class SAMULT(ExactKernelEstimator, ClosedFormRanker):
    """Exact minimiser of the semi-supervised AUC risk with a kernel.

    Minimises ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f)) + lam/2 ||f||^2`` over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``, where R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs. This is the problem that QSG-S2AUC approximates. One
    Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

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

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    remark_: str = fitted(
        "With gamma = 1, that the unlabelled rows were not used: another, cheaper computation."
    )

    def uses(self, name: str) -> bool:
        """Tell so of the unlabelled rows if gamma is below 1, or ``sigma`` is that of all rows."""
        return name != "X_unlabeled" or self._semi_supervised or self.sigma == "scale"

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        super()._solve(X, codes, X_unlabeled)
        used = self._semi_supervised
        self.remark_ = "" if used else "gamma = 1: unlabelled rows were not used"

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return samult_risk(self.gamma)
